// SPDX-License-Identifier: Apache-2.0
// What a launcher knows of the present run of the program, besides the tree that it is part of. When the
// program is started again, the next run begins with a fresh one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "tree/base/time.hpp"
#include "tree/proto/ccs_part.hpp"
#include "tree/proto/gather.hpp"
#include "tree/proto/host_processes.hpp"
#include "tree/proto/input_part.hpp"
#include "tree/proto/run_progress.hpp"
#include "tree/proto/testimony.hpp"

namespace charmtree {

struct RunState {
  /// How far this host is with the end.
  enum class Ending : std::uint8_t {
    no,
    asked,     // everybody has been told; SIGKILL at kill_at_
    killed,    // SIGKILL sent
    sweeping,  // no own process is alive; looking for what they left behind
    clean,     // nothing left on this host
  };
  /// Whether the children are waited for; until give_up_at_ at most, and for this host itself no longer.
  enum class Over : std::uint8_t {
    no,
    idle,  // staying for the next run; clean-up goes on where it has not been confirmed
    finished,
  };

  std::optional<proto::HostProcesses> processes_;
  proto::Gather gather_;
  proto::InputPart input_;
  proto::CcsPart ccs_;

  Ending ending_ = Ending::no;
  Over over_ = Over::no;
  std::optional<wire::End> end_;  // the last order
  bool stays_ = false;            // the end is one of the run, not of the job
  bool killing_ = false;          // the end has become one without grace
  bool nobody_reads_ = false;     // what processes still print
  bool patient_ = false;  // the end is one of a job that is done: its output is waited for without limit
  Instant kill_at_ = kNever;
  Instant give_up_at_ = kNever;
  std::optional<proto::KillLeftovers> clean_up_;  // ordered last
  std::set<std::uint32_t> unconfirmed_;           // hosts on which something of the job may be left
  std::set<std::uint32_t> unbounded_;  // those where nobody need ever notice that he is alone, if so

  Instant spawn_at_ = kNever;  // the next processes
  proto::RunProgress progress_;
  proto::Testimony testimony_;
};

}  // namespace charmtree
