// SPDX-License-Identifier: Apache-2.0
// The messages that carry the user's stdin to the processes that read it.
#pragma once

#include <cstdint>
#include <string>

#include "tree/wire/job_spec.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::input {

/// Bytes of the user's stdin for job.input.process, or for all processes. `end`: no more follow.
struct Input {
  CT_MESSAGE(down, 6);
  std::string bytes;
  bool end = false;
};
/// A process has called scanf: the input process gives back what it has not read, and copies end.
struct RecallInput {
  CT_MESSAGE(down, 7);
};
/// The window of the user's terminal, and so that of job.input.process, has a new size.
struct Resize {
  CT_MESSAGE(down, 16);
  wire::WindowSize size;
};
/// The input process has taken so many more bytes; of copies, all processes below have.
struct InputTaken {
  CT_MESSAGE(to_root, 54);
  std::uint32_t bytes = 0;
};
/// The input process has given these bytes back, or has ended: then there are none.
struct InputReturned {
  CT_MESSAGE(to_root, 55);
  std::string bytes;
};

}  // namespace charmtree::input
