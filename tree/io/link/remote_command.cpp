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

/// In it, NAME, SIZE and the words of our lines stand for themselves. Each line is a command, so that
/// all can be joined by blanks. In a folder that others could write into nothing is looked for. `test -x`
/// also sees a file system without exec; a file is whole when it has its name, and who was cut off leaves one
/// that goes after a day. `.used` says when the launcher beside it was last run.
constexpr std::string_view kScript = R"sh(
umask 077; n=NAME; s=SIZE;
own() { [ -d "$1" ] && [ -O "$1" ] && [ ! -L "$1" ]; };
size() { [ "$(wc -c <"$1")" -eq $s ]; };
run() { : >"$1/$n.used"; exec "$1/$n" ++launcher; };
find_in() { own "$1" && [ -O "$1/$n" ] && [ -x "$1/$n" ] && size "$1/$n" && run "$1"; };
same() { command -v sha256sum >/dev/null || return 0; [ "$(sha256sum <"$1" | cut -c1-64)" = "$2" ]; };
tidy() { find "$1" -name '.new.*' -mtime +0 -exec rm -f {} +;
for u in $(cd "$1" && { ls -t | grep '\.used$' | tail -n +8; find . -name '*.used' -mtime +30; });
do rm -f "$1/$u" "$1/${u%.used}"; done; };
fail() { rm -f "$t"; echo "SAYS$1" >&2; exit 1; };
put_in() { mkdir -p "$1" 2>/dev/null; own "$1" && chmod 700 "$1" && t=$(mktemp "$1/.new.XXXXXX" 2>/dev/null) || return 0;
chmod 700 "$t"; [ -x "$t" ] || { rm -f "$t"; return 0; };
trap 'rm -f "$t"; exit 1' HUP INT TERM; tidy "$1"; echo "SEND"; IFS= read -r sum; head -c $s >"$t";
size "$t" || fail "no room in $1 for its $s bytes"; same "$t" "$sum" || fail "it was changed on its way";
mv -f "$t" "$1/$n" && run "$1"; fail "it could not be kept in $1"; };
h="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/charmtree"; find_in "$h";
f="/tmp/charmtree-cache-$(id -u)"; find_in "$f"; put_in "$h"; put_in "$f";
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
  const auto ask = wire::stage_line(wire::StageWord::ask);
  return fmt::format(R"sh(exec /bin/sh -c 'echo "{} $(uname -m)"; IFS= read -r script && eval "$script"')sh",
                     ask);
}

std::string staging_command(const std::string& launcher) {
  return fmt::format("test -x {} && {}; {}", quoted(launcher), remote_command(launcher), staging_command());
}

std::string staging_script(const StagedLauncher& launcher) {
  std::string script{kScript.substr(1)};  // without the first newline
  std::replace(script.begin(), script.end() - 1, '\n', ' ');
  replace(script, "NAME", launcher.name);
  replace(script, "SIZE", std::to_string(launcher.size));
  replace(script, "SEND", wire::stage_line(wire::StageWord::send));
  replace(script, "SAYS", proto::kStageSays);
  return script;
}

}  // namespace charmtree::io
