// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/shared_tables.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "tree/io/sealed_file.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/shared_table.hpp"

namespace charmtree::io {

Result<std::shared_ptr<const UniqueFd>> SharedTables::of(const wire::Blob& coded) {
  std::shared_ptr<const UniqueFd> file = coded_.lock() == coded ? file_.lock() : nullptr;
  if (file) return file;
  const auto table = wire::decode_table(*coded);
  if (!table || !wire::is_complete(table->blocks, table->processes()))
    return Error{Errc::bad_peer, Phase::table, "the node table is damaged"};
  file = std::make_shared<const UniqueFd>(sealed_file("charmtree-table", wire::shared_form(*table)));
  if (!*file) {
    return Error{
        Errc::spawn_failed, Phase::table,
        fmt::format("no memory that processes could share for the node table: {}", std::strerror(errno))};
  }
  coded_ = coded;
  file_ = file;
  return file;
}

}  // namespace charmtree::io
