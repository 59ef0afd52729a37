// SPDX-License-Identifier: Apache-2.0
// bash reads the file that BASH_ENV names before any of this text. Therefore nothing here relies on stdout,
// and the name of each part is written when the part begins: if the shell is left, the last name is the
// cause.
#include "tree/io/host/setup_shell.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/job/environment.hpp"

namespace charmtree::io {

namespace {

constexpr std::string_view kRc = "~/.charmrunrc";
constexpr std::string_view kSetup = "the setup command";
constexpr std::string_view kEnd = "CHARMTREE_SETUP=done";  // env puts it after all other variables

std::vector<std::string_view> split_at_nul(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t end = 0; (end = text.find('\0')) != std::string_view::npos; text.remove_prefix(end + 1))
    all.push_back(text.substr(0, end));
  return all;
}

constexpr std::string_view kPutOff = "CHARMTREE_";  // before the names of loader variables

bool is_variable(std::string_view entry) {
  return entry.find('=') != std::string_view::npos;
}

}  // namespace

std::vector<std::string> setup_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> changed = proto::without_loader_variables(environment);
  for (const std::string_view name : proto::kLoaderNames)
    if (const std::string_view value = proto::value_of(environment, name); !value.empty())
      changed.push_back(fmt::format("{}{}={}", kPutOff, name, value));
  return changed;
}

std::string setup_script(bool has_rc, const std::string& setup, int fd) {
  const auto begins = [fd](std::string_view part) {
    return fmt::format("printf '%s\\0' '{}' >&{}\n", part, fd);
  };
  // What the file of BASH_ENV has set of them stands in front.
  std::string script, report;
  for (const std::string_view name : proto::kLoaderNames) {
    script += fmt::format(
        "if [ \"${{{0}{1}+x}}\" ]; then export {1}=\"${{{1}:+${1}:}}${0}{1}\"; unset {0}{1}; fi\n", kPutOff,
        name);
    report += fmt::format("if [ \"${{{0}+x}}\" ]; then printf '{0}=%s\\0' \"${0}\" >&{1}; unset {0}; fi\n",
                          name, fd);
  }
  if (has_rc) {
    // The status of the file is that of its last command. After a syntax error it is not 0 either, and only a
    // second look tells the two apart. (`. file || ...` would turn off the file's own `set -e`.)
    script += begins(kRc) + fmt::format(". ~/.charmrunrc {}>&-\n", fd);
    script += fmt::format("[ $? -eq 0 ] || BASH_ENV= \"$BASH\" -n ~/.charmrunrc {0}>&- || exit 2\n", fd);
  }
  if (!setup.empty()) {
    script += begins(kSetup) + fmt::format("{{ :\n{}\n}} {}>&-\n", setup, fd);
    script += "ct_status=$?; [ $ct_status -eq 0 ] || exit $ct_status\n";
  }
  script += report + fmt::format("exec env -0 {} >&{} {}>&-", kEnd, fd, fd);
  return script;
}

void SetupText::append(std::string_view bytes) {
  const std::size_t room = kMax - text_.size();
  is_too_long_ = is_too_long_ || bytes.size() > room;
  text_.append(bytes.substr(0, room));
}

std::optional<std::vector<std::string>> SetupText::environment() const {
  const auto entries = split_at_nul(text_);
  if (is_too_long_ || std::find(entries.begin(), entries.end(), kEnd) == entries.end()) return {};
  std::vector<std::string> all;
  for (const std::string_view entry : entries)
    if (is_variable(entry) && entry != kEnd) all.emplace_back(entry);
  return all;
}

std::string SetupText::part() const {
  const auto entries = split_at_nul(text_);
  const auto last = std::find_if_not(entries.rbegin(), entries.rend(), is_variable);
  return last == entries.rend() ? "the file that BASH_ENV names" : std::string{*last};
}

Error SetupText::no_environment() const {
  if (is_too_long_)
    return {Errc::spawn_failed, Phase::spawn,
            fmt::format("{} made an environment of more than {} MiB", part(), kMax >> 20U),
            "set fewer variables there"};
  return {Errc::spawn_failed, Phase::spawn,
          fmt::format("{} ended its shell before the environment could be read", part()),
          "does it call exit or exec? leave that out"};
}

}  // namespace charmtree::io
