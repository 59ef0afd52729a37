// SPDX-License-Identifier: Apache-2.0
// Why no launcher came up: what a remote shell and the loader say when `exec <path>/charmrun ++launcher`
// fails, turned into one of our errors. The words are those of OpenSSH, bash, dash, csh, glibc and busybox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::proto {

/// How the stream to a launcher ended.
struct StreamEnd {
  int exit_status = -1;     // of the remote shell command; -1: unknown
  std::string exit_signal;  // "KILL"; empty: none
  std::string said;         // the end of its stderr
  std::string what;         // "closed by the other side", ...
};

/// With these words a shell begins the line that says why it cannot stage a launcher.
inline constexpr std::string_view kStageSays = "charmtree cannot stage: ";

/// What to do about a launcher that is not there.
inline constexpr std::string_view kInstallLauncher = "install charmrun there or name it with ++launcher PATH";

/// Returns true if a key is among the ways to authenticate that a server offers.
bool takes_keys(std::string_view methods);
/// Returns the error of a server that offers these ways and no key.
Error takes_no_key(Errc code, std::string_view methods);

/// Before the greeting.
Error explain_failed_launch(const StreamEnd& end, Via via, const std::string& launcher);
/// Of a launcher that was up.
Error explain_lost_link(const StreamEnd& end);

/// There is a launcher, but not one that could be ours.
bool is_unusable_launcher(Errc code);

/// Failures that a launcher nearer to the root, and above all the root with the user's keys, agent, ssh
/// configuration and name service, may not have: an inner launcher hands such hosts back.
bool parent_may_do_better(Errc code);

/// What is missing according to the list of a program's libraries that its loader (`ld.so --list`) prints, of
/// glibc or musl; at most so many.
inline constexpr std::size_t kMostMissing = 8;
std::vector<std::string> missing_libraries(std::string_view listing);

}  // namespace charmtree::proto
