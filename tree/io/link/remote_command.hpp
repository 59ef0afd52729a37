// SPDX-License-Identifier: Apache-2.0
// What the shell of another host is told to run. It is a constant for every host and job (DESIGN D3); what is
// done where charmrun is not installed is a second text, which goes over the link when that host asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace charmtree::io {

/// `exec '<path>/charmrun' ++launcher`. Another `mode` makes it another of charmrun's inner modes.
std::string remote_command(const std::string& launcher, std::string_view mode = "++launcher");

/// The launcher as another host is to have it.
struct StagedLauncher {
  std::string name;    // of its file, letters, digits and '-'; other contents have other names
  std::uint64_t size;  // bytes
};

/// The same where that is an executable file, else what is in the user's cache there under that name, else a
/// shell that asks its parent (wire::StageRequest) what to run, and reads that as one line. For any login
/// shell (csh, fish); it costs nothing where either is found.
std::string staging_command(const std::string& launcher, const StagedLauncher& staged);
/// Asks at once.
std::string staging_command();

/// The answer to `ask`, a line for a POSIX shell: runs the launcher of that name from the cache if it is
/// whole. If it is not, says `send`, and reads a line with the SHA-256 of what follows, in hexadecimal
/// digits, and then `size` bytes, which it keeps and runs. The cache is ~/.cache/charmtree, or where nothing
/// can be executed in that /tmp/charmtree-cache-UID (or one with a random end, as SharedPlace has it): a
/// folder of the user's own, in which no other user can write. It keeps the 8 launchers that were run last,
/// none for more than 30 days. What fails is said in a line that begins with proto::kStageSays.
std::string staging_script(const StagedLauncher& staged);

}  // namespace charmtree::io
