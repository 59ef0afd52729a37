// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/launch_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace charmtree::proto {

namespace {

bool says(const StreamEnd& end, std::string_view words) {
  return end.said.find(words) != std::string::npos;
}

/// The last line that is not blank, bounded, without control characters.
std::string last_line(const std::string& text) {
  constexpr std::size_t kMost = 200;
  std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t newline = text.find_last_of('\n', end);
  std::string line = text.substr(newline == std::string::npos ? 0 : newline + 1, kMost);
  line.resize(std::min(line.size(), end - (newline == std::string::npos ? 0 : newline + 1) + 1));
  std::erase_if(line, [](unsigned char c) { return c < ' '; });
  return line;
}

struct Pattern {
  std::string_view words;
  Errc code;
  Phase phase;
  std::string_view what, fix;
};

/// What OpenSSH prints before it exits with 255. The first that is found counts: "changed" comes together
/// with "verification failed" and says more, a reset together with "kex_exchange_identification".
constexpr std::array<Pattern, 12> kSshSays = {{
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", Errc::host_key_changed, Phase::host_key,
     "the host key has changed", "if that is right, remove the old one with ssh-keygen -R"},
    {"Host key verification failed", Errc::host_key_unknown, Phase::host_key,
     "ssh could not verify the host key", "log in once by hand, or use ++accept-new-host-keys"},
    {"Permission denied", Errc::not_authorised, Phase::authenticate, "no key or method was accepted",
     "set up a key (ssh-copy-id) or check the login name"},
    {"Too many authentication failures", Errc::not_authorised, Phase::authenticate,
     "too many keys were refused", "name one key with IdentityFile and IdentitiesOnly in ~/.ssh/config"},
    {"Temporary failure in name resolution", Errc::timed_out, Phase::resolve,
     "the name service gave no answer", "check /etc/resolv.conf there"},
    {"Could not resolve hostname", Errc::no_such_host, Phase::resolve, "no such host", "check the nodelist"},
    {"Connection refused", Errc::refused, Phase::connect, "connection refused", "is sshd running there?"},
    {"Connection timed out", Errc::timed_out, Phase::connect, "timed out", "is the host up?"},
    {"No route to host", Errc::unreachable, Phase::connect, "no route to host", "is the host up?"},
    {"Network is unreachable", Errc::unreachable, Phase::connect, "network is unreachable",
     "check the network and routes of the host that logs in"},
    {"kex_exchange_identification", Errc::busy, Phase::handshake, "sshd closed the connection",
     "see MaxStartups in its sshd_config"},
    {"Connection reset", Errc::dropped, Phase::handshake, "connection reset",
     "see MaxStartups in its sshd_config"},
}};

std::string ended(const StreamEnd& end) {
  if (!end.exit_signal.empty()) return "killed by signal " + end.exit_signal;
  if (end.exit_status >= 0) return fmt::format("exited with status {}", end.exit_status);
  return end.what.empty() ? "connection closed" : end.what;
}

/// Returns what stands in "Permission denied (publickey,password).", or nothing.
std::string refused_methods(const std::string& said) {
  constexpr std::string_view kDenied = "Permission denied (";
  const std::size_t at = said.rfind(kDenied);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kDenied.size(), end = said.find(')', begin);
  return end == std::string::npos ? std::string{} : said.substr(begin, end - begin);
}

}  // namespace

bool takes_keys(std::string_view methods) {
  const auto has = [methods](std::string_view one) { return methods.find(one) != std::string_view::npos; };
  return has("publickey") || has("gssapi") || has("hostbased");
}

Error takes_no_key(Errc code, std::string_view methods) {
  return {code, Phase::authenticate, fmt::format("the server takes only: {}", methods),
          "ask its administrator to allow keys, or open a connection that ssh shares (ControlMaster)"};
}

Error explain_failed_launch(const StreamEnd& end, Via via, const std::string& launcher) {
  const std::string copy{kInstallLauncher};
  if (const std::size_t at = end.said.find(kStageSays); at != std::string::npos) {
    const std::string why = end.said.substr(at + kStageSays.size());
    return {Errc::no_launcher, Phase::exec,
            fmt::format("{} not found, and it cannot be sent there: {}", launcher,
                        last_line(why.substr(0, why.find('\n')))),
            copy};
  }
  if (says(end, "error while loading shared libraries")) {
    return {Errc::library_missing, Phase::exec, last_line(end.said), copy};
  }
  if (via == Via::command && end.exit_status == 255) {
    if (const std::string methods = refused_methods(end.said); !methods.empty() && !takes_keys(methods))
      return takes_no_key(Errc::not_authorised, methods);
    for (const Pattern& p : kSshSays) {
      if (says(end, p.words)) return {p.code, p.phase, std::string{p.what}, std::string{p.fix}};
    }
  }
  if (end.exit_signal == "SEGV" || end.exit_signal == "BUS" || end.exit_signal == "ILL") {
    return {Errc::cannot_execute, Phase::exec, fmt::format("{} was {} at its start", launcher, ended(end)),
            copy};
  }
  if (says(end, "xec format error") || says(end, "annot execute binary file")) {
    return {Errc::cannot_execute, Phase::exec, launcher + " is for another architecture",
            "use pathfix in the nodelist or ++launcher PATH"};
  }
  if (end.exit_status == 126 ||
      (end.exit_status > 0 && end.exit_status != 255 && says(end, "ermission denied"))) {
    return {Errc::cannot_execute, Phase::exec, launcher + " cannot be executed (permission denied)",
            "check its mode and the mount options"};
  }
  if (end.exit_status == 127 || says(end, "ommand not found") || says(end, "No such file or directory")) {
    return {Errc::no_launcher, Phase::exec, launcher + " not found", copy};
  }
  const std::string said = last_line(end.said);
  return {Errc::remote_shell, Phase::exec,
          fmt::format("the {} ended before the launcher greeted ({}){}{}",
                      via == Via::local ? "launcher" : "remote shell", ended(end), said.empty() ? "" : ": ",
                      said),
          via == Via::local ? "" : "does `ssh HOST true` work?"};
}

Error explain_lost_link(const StreamEnd& end) {
  const std::string said = last_line(end.said);
  return {Errc::link_lost, Phase::run,
          fmt::format("lost the launcher there ({}){}{}", ended(end), said.empty() ? "" : ": ", said),
          end.exit_signal == "KILL" ? "was it killed for want of memory? see dmesg there" : ""};
}

bool is_unusable_launcher(Errc code) {
  return code == Errc::wrong_version || code == Errc::cannot_execute || code == Errc::library_missing;
}

bool parent_may_do_better(Errc code) {
  switch (code) {
    case Errc::no_such_host:
    case Errc::no_usable_key:
    case Errc::not_authorised:
    case Errc::remote_shell:
    case Errc::host_key_unknown:
      return true;
    default:
      return false;
  }
}

// glibc: `\tlibx.so => not found`, `/app: error while loading shared libraries: libx.so: cannot open ...` and
// `/app: /lib/libc.so.6: version `GLIBC_2.99' not found (required by /app)`. musl: `Error loading shared
// library libx.so: No such file or directory (needed by /app)`.
std::vector<std::string> missing_libraries(std::string_view listing) {
  constexpr std::string_view kNotFound = " => not found",
                             kLoading = "error while loading shared libraries: ", kVersion = "version `",
                             kVersionEnd = "' not found", kMusl = "Error loading shared library ";
  std::vector<std::string> missing;
  const auto add = [&](std::string_view name) {
    const std::string text = last_line(std::string{name});
    if (text.empty() || missing.size() == kMostMissing) return;
    if (std::find(missing.begin(), missing.end(), text) == missing.end()) missing.push_back(text);
  };
  while (!listing.empty()) {
    std::string_view line = listing.substr(0, listing.find('\n'));
    listing.remove_prefix(std::min(line.size() + 1, listing.size()));
    if (const auto at = line.find(kNotFound); at != std::string_view::npos) {
      line = line.substr(0, at);
      add(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
    } else if (const auto words = line.find(kLoading); words != std::string_view::npos) {
      line.remove_prefix(words + kLoading.size());
      add(line.substr(0, line.find(':')));
    } else if (line.starts_with(kMusl)) {
      line.remove_prefix(kMusl.size());
      add(line.substr(0, line.find(':')));
    } else if (const auto version = line.find(kVersion); version != std::string_view::npos) {
      line.remove_prefix(version + kVersion.size());
      if (const auto end = line.find(kVersionEnd); end != std::string_view::npos) add(line.substr(0, end));
    }
  }
  return missing;
}

}  // namespace charmtree::proto
