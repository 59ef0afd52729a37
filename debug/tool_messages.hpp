// SPDX-License-Identifier: Apache-2.0
// What somebody who runs a tool beside the processes of a job (`charmrun ++exec`, ++dap, a debugger's
// daemons) and the tools on the hosts say to each other: on each host of these processes there is one, and
// what it reads and writes goes over the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/message.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::debug {

/// Of what a tool reads or writes so much is in one message, and not more than that is on its way to it.
inline constexpr std::size_t kMostToolBytes = 32U << 10, kMostToolInput = 64U << 10;
/// Of all the words of a command.
inline constexpr std::size_t kMostToolCommand = 512U << 10;

/// Down: for the tools of a session, on the hosts of these processes.
struct ToolOrder {
  CT_MESSAGE(down, 43);
  enum class What : std::uint8_t {
    begin,  // `words` is run
    input,  // `bytes` are for its stdin; none: that ends
    taken,  // so many bytes of its output have arrived
    end,    // it is over, everywhere
  };
  std::uint32_t session = 0;  // of the job's, from 1
  What what = What::begin;
  bool has_input = false;    // begin: else nothing comes from stdin
  std::uint32_t number = 0;  // taken; begin: so much output may be on its way
  std::vector<std::string> words;
  std::string bytes;
  std::vector<wire::ProcessSet::Range> which;
};

/// Up: of the tool that has these processes' host; its first process names it.
struct ToolSaid {
  CT_MESSAGE(to_root, 87);
  enum class What : std::uint8_t {
    output,  // `bytes` of its stdout
    error,   // of its stderr
    taken,   // `number` bytes of its input
    started,
    ended,   // `number` is what a shell would say that it has exited with
    failed,  // it could not be started, or its launcher is lost: `bytes` say why
  };
  std::uint32_t session = 0;
  What what = What::output;
  std::uint32_t number = 0;
  std::string bytes;
  std::vector<wire::ProcessSet::Range> which;  // one, or, failed, of several hosts
};

}  // namespace charmtree::debug
