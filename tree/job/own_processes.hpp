// SPDX-License-Identifier: Apache-2.0
// The processes of a launcher's own host, one after the other: how far each has come, and what the parts of
// HostProcesses know of it. Their ranks among them are those of LocalProcesses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tree/clients/program_kind.hpp"
#include "tree/job/output_capture.hpp"
#include "tree/job/process_deadlines.hpp"
#include "tree/job/process_names.hpp"
#include "tree/job/successor.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

/// What is known of how a process ends, before it is told (HostEnds).
struct KnownEnd {
  bool said = false;                   // its protocol did
  int code = 0;                        // ... with this, if that decides
  std::optional<std::uint32_t> peers;  // ... and so many that it has used, if it counts them
  bool told = false;                   // no more is to be told of it
  bool cut_off = false;                // its connection is lost
  std::string why;                     // because
  bool is_cause = false;               // of its end
  Instant explain_by = kNever;         // its lost connection
  std::optional<ProcessExited> exit;   // to be told when the connection has been read to its end,
  Instant report_by = kNever;          // or then
  Duration hung{0};                    // it was killed for having been silent for so long
  Instant next_deadline() const { return earlier(explain_by, report_by); }
};

struct OwnProcess {
  enum class State : std::uint8_t { unborn, starting, running, gone };

  Instant next_deadline() const { return earlier(end.next_deadline(), output.next_deadline()); }
  bool is_alive() const { return state == State::starting || state == State::running; }
  const Abilities& can() const { return abilities(program); }
  /// With the server of that kind, for programs of that kind.
  void register_with(ClientKind its, ProgramKind with) {
    kind = its;
    program = with;
  }
  void unregister() {
    kind.reset();
    program = ProgramKind::plain;
  }

  State state = State::unborn;
  std::optional<ClientKind> kind;  // registered with that server
  ProgramKind program = ProgramKind::plain;
  wire::Tuple tuple;
  std::uint32_t id = 0;                       // what the kernel calls it, once it is started
  std::uint32_t restarts = 0;                 // it is not the first of its number
  bool awaited = false;                       // ... and others have one of that number in their table
  std::array<bool, kBarrierKinds> entered{};  // barriers that have not opened
  std::string request;                        // CCS: the pieces of one so far
  OutputCapture output;
  KnownEnd end;
  Successor successor;
};

class OwnProcesses {
public:
  /// `total`: of the job.
  OwnProcesses(const Host& self, std::uint32_t total);

  OwnProcess& at(std::uint32_t process) {
    const std::uint32_t rank = local_.rank_of(process);
    deadlines_.touch(rank);
    return processes_[rank];
  }
  const OwnProcess& at(std::uint32_t process) const { return processes_[local_.rank_of(process)]; }
  /// Returns all by rank. After the first of these the next question for a deadline asks each of them.
  std::vector<OwnProcess>& all() {
    deadlines_.touch_all(local_.size());
    return processes_;
  }
  const std::vector<OwnProcess>& all() const { return processes_; }
  const LocalProcesses& local() const { return local_; }
  /// Returns the earliest deadline of a process.
  Instant next_deadline() const {
    return deadlines_.earliest([this](std::uint32_t rank) { return processes_[rank].next_deadline(); });
  }
  /// Returns the processes whose deadline has come, by rank.
  std::vector<std::uint32_t> due(Instant now) const;
  /// Started, or being started, and not yet gone.
  std::vector<std::uint32_t> living() const;
  /// So many are, those included that left a job that was resized.
  std::uint32_t alive() const { return alive_; }

  /// The shell is told to start it; it is gone.
  void starts(std::uint32_t process);
  void is_gone(std::uint32_t process);
  /// It is on this host from now on. False: it was before.
  bool join(std::uint32_t process);
  /// The job is resized: those that have registered again stay, in their order, and new ones come behind
  /// them. Returns how many stay.
  std::uint32_t reshape(const wire::Share& share, std::uint32_t total);

  std::uint32_t name_of(std::uint32_t process) const { return names_.name_of(process); }
  /// Turns the name of a process into its number; false: there is none (any more).
  bool translate(std::uint32_t& process) const;
  const ProcessNames& names() const { return names_; }

  /// What goes for all of them: the first process forks the others; who registers is one that stays in a job
  /// that is resized; the job ends.
  struct Phase {
    bool forking = false, regrouping = false, ending = false;
  };
  Phase& phase() { return phase_; }
  const Phase& phase() const { return phase_; }

private:
  LocalProcesses local_;
  ProcessNames names_;
  std::vector<OwnProcess> processes_;
  mutable ProcessDeadlines deadlines_;  // what processes_ says, in order
  std::uint32_t alive_ = 0;
  Phase phase_;
};

}  // namespace charmtree::proto
