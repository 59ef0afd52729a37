// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/remote_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/overlay/launch_failure.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::io {

namespace {

/// As one word of any shell.
std::string quoted(const std::string& text) {
  const bool plain =
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-") ==
      std::string::npos;
  if (plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return word + "'";
}

/// In the user's home.
constexpr std::string_view kCache = ".cache/charmtree";

/// In it, NAME, SIZE and the words of our lines stand for themselves. Each line is a command, so that all can
/// be joined by blanks. In a folder that others could write into nothing is looked for. `test -x` also sees a
/// file system without exec. A file gets its name when it is whole and on the disk; who was cut off leaves
/// one that goes after a day. Where another user has the name in /tmp, ours has a random end (SharedPlace).
/// When a launcher was last run its time of access says, and where that is not kept it is sent again once in
/// a month.
constexpr std::string_view kScript = R"sh(
umask 077; n=NAME; s=SIZE;
own() { [ -d "$1" ] && [ -O "$1" ] && [ ! -L "$1" ]; };
size() { [ "$(wc -c <"$1")" -eq $s ]; };
find_in() { own "$1" && [ -O "$1/$n" ] && [ -x "$1/$n" ] && size "$1/$n" && exec "$1/$n" ++launcher; };
same() { command -v sha256sum >/dev/null || return 0; [ "$(sha256sum <"$1" | cut -c1-64)" = "$2" ]; };
tidy() { find "$1" -name '.new.*' -mtime +0 -exec rm -f {} +; find "$1" -type f -atime +30 -exec rm -f {} +;
ls -tu "$1" | tail -n +8 | while IFS= read -r f; do rm -f "$1/$f"; done; };
fail() { rm -f "$t"; echo "SAYS$1" >&2; exit 1; };
put_in() { mkdir -p "$1" 2>/dev/null; own "$1" && chmod 700 "$1" && t=$(mktemp "$1/.new.XXXXXX" 2>/dev/null) || return 0;
chmod 700 "$t"; [ -x "$t" ] || { rm -f "$t"; return 0; };
trap 'rm -f "$t"; exit 1' HUP INT TERM; tidy "$1"; echo "SEND $(uname -m)"; IFS= read -r sum; head -c $s >"$t";
size "$t" || fail "no room in $1 for its $s bytes"; same "$t" "$sum" || fail "it was changed on its way"; sync "$t" 2>/dev/null;
mv -f "$t" "$1/$n" && exec "$1/$n" ++launcher; fail "it could not be kept in $1"; };
h="${HOME:-/nonexistent}/CACHE"; find_in "$h"; f="/tmp/charmtree-cache-$(id -u)"; find_in "$f";
for g in "$f"-*; do find_in "$g"; done; put_in "$h"; put_in "$f"; for g in "$f"-*; do own "$g" && put_in "$g"; done;
g=$(mktemp -d "$f-XXXXXX" 2>/dev/null) && { put_in "$g"; rmdir "$g"; };
fail "no folder of its user's takes programs (tried $h and $f)"
)sh";

void replace(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

}  // namespace

std::string remote_command(const std::string& launcher, std::string_view mode) {
  return fmt::format("exec {} {}", quoted(launcher), mode);
}

std::string staging_command() {
  return fmt::format(R"sh(exec /bin/sh -c 'echo {}; IFS= read -r script && eval "$script"')sh",
                     wire::stage_line(wire::StageWord::ask));
}

std::string staging_command(const std::string& launcher, const StagedLauncher& staged) {
  const std::string installed = quoted(launcher), cached = fmt::format("~/{}/{}", kCache, staged.name);
  return fmt::format("test -x {0} && exec {0} ++launcher; test -x {1} && exec {1} ++launcher; {2}", installed,
                     cached, staging_command());
}

std::string staging_script(const StagedLauncher& staged) {
  std::string script{kScript.substr(1)};  // without the first newline
  std::replace(script.begin(), script.end() - 1, '\n', ' ');
  replace(script, "NAME", staged.name);
  replace(script, "SIZE", std::to_string(staged.size));
  replace(script, "SEND", wire::stage_line(wire::StageWord::send));
  replace(script, "SAYS", proto::kStageSays);
  replace(script, "CACHE", kCache);
  return script;
}

}  // namespace charmtree::io
