// SPDX-License-Identifier: Apache-2.0
// One event's handling, as the parts of HostProcesses see it. They do not know each other; what several of
// them need to know of a process is in `own`.
#pragma once

#include "tree/job/own_processes.hpp"
#include "tree/turn/upward.hpp"

namespace charmtree::proto {

struct HostTurn {
  const wire::JobSpec& job;
  std::uint32_t host;  // this one's index
  OwnProcesses& own;
  Instant now;
  Actions& out;
  Upward& up;

  OutputCapture::Way way_of(std::uint32_t process) const { return {job, process, up.messages}; }
  void flush(std::uint32_t process, wire::Tail tail) { own.at(process).output.flush(tail, way_of(process)); }
};

}  // namespace charmtree::proto
