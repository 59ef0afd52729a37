// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/shared_contents.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tree/io/sealed_file.hpp"
#include "tree/io/write_error.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/shared_table.hpp"
#include "tree/wire/shared_values.hpp"

namespace charmtree::io {

namespace {

/// Nothing: it is damaged.
std::optional<std::string> form_of(const proto::SharedContent& content) {
  if (content.form == proto::SharedContent::Form::values) return wire::shared_pairs(*content.coded);
  if (content.form == proto::SharedContent::Form::text) return *content.coded + '\0';
  const auto table = wire::decode_table(*content.coded);
  if (!table || !wire::is_complete(table->blocks, table->processes())) return {};
  return wire::shared_form(*table);
}

/// For /proc, and for people.
std::pair<const char*, const char*> names_of(proto::SharedContent::Form form) {
  using Form = proto::SharedContent::Form;
  if (form == Form::table) return {"charmtree-table", "the node table"};
  if (form == Form::values) return {"charmtree-values", "what processes have given"};
  return {"charmtree-topology", "the host's topology"};
}

}  // namespace

Result<std::shared_ptr<const UniqueFd>> SharedContents::of(const proto::SharedContent& content) {
  std::erase_if(made_, [](const Made& each) { return each.coded.expired(); });
  for (const Made& each : made_) {
    if (each.coded.lock() == content.coded) return each.file;
  }
  const auto [name, what] = names_of(content.form);
  const auto form = form_of(content);
  if (!form) return Error{Errc::bad_peer, Phase::table, fmt::format("{} is damaged", what)};
  auto file = std::make_shared<const UniqueFd>(sealed_file(name, *form));
  if (!*file) {
    const int error = errno;
    const bool is_refused = error == EPERM || error == EACCES || error == ENOSYS;
    return Error{
        Errc::spawn_failed, Phase::table,
        fmt::format("no memory that processes could share for {}: {}{}", what,
                    is_refused ? "memfd_create: " : "", write_error(error)),
        is_refused ? "does a filter of system calls (seccomp) there refuse it?" : "see ulimit -a there"};
  }
  made_.push_back({content.coded, file});
  return std::shared_ptr<const UniqueFd>{std::move(file)};
}

}  // namespace charmtree::io
