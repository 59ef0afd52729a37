// SPDX-License-Identifier: Apache-2.0
// The root's half of the input service. It reads the user's stdin, no more than fits into pipes, and sends it
// to one process, or a copy to each process. From the first scanf on it keeps the input, and answers each
// scanf with what its format takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "input/events.hpp"
#include "input/messages.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::input {

class InputRoot {
public:
  using RootTurn = proto::RootTurn;

  /// Bytes on the way to the reader, at most.
  static constexpr std::uint32_t kWindow = 64U << 10;
  /// Bytes that one scanf can consume. A scanf that so many bytes do not satisfy is answered as at the end of
  /// the input.
  static constexpr std::size_t kMostScanned = 1U << 20;
  /// Calls of scanf of one process that wait for input.
  static constexpr std::size_t kMostScans = 4;
  /// Bytes that a pipe and a launcher can hold of the input, and some more, as they are taken back.
  static constexpr std::size_t kMostTakenBack = 4 * kWindow;

  explicit InputRoot(std::shared_ptr<const wire::JobSpec> job);
  /// Takes over what the last run of the program has left of the input.
  void take_over(InputRoot before);
  /// Ends the input, though its end has not been read.
  void end() { ended_ = true; }
  /// Sends the end of the input: this root has taken the job over.
  void resume(RootTurn& turn) const;

  void on(const InputRead& event, RootTurn& turn);
  void up(const InputTaken& taken, RootTurn& turn);
  void up(const InputReturned& returned, RootTurn& turn);
  void scan(const wire::ScanUp& request, RootTurn& turn);
  /// Sends what has been read, answers scanf, and reads more if that is wanted. `has_reader`: a process could
  /// read the input now; else it is kept.
  void serve(bool has_reader, RootTurn& turn);
  /// The job's end is decided: keys are the user's own again.
  void release_keys(RootTurn& turn) const;

  /// Forgets what was on the way to the process, where single processes are started again.
  void on(const proto::ProcessReplaced& replaced, RootTurn& turn);
  /// If the only reader is lost for good, only scanf reads from now on. Copies still go to the others.
  void on(const proto::ProcessesLost& lost, RootTurn& turn);
  /// Sends the rest, and the end if there was one, to processes whose launcher was cut off.
  void on(const proto::ProcessesReached& reached, RootTurn& turn);
  /// Returns true if a process that begins now gets the end of the input at once.
  bool has_ended_for(std::uint32_t process) const;

private:
  using Ranges = std::vector<wire::ProcessSet::Range>;

  bool has_reader_in(const Ranges& processes) const;
  void send(InputRead read, RootTurn& turn);
  void scan_from_now_on(RootTurn& turn);
  void keep(const wire::ScanUp& scan);
  void serve_scans(RootTurn& turn);
  void read_more(RootTurn& turn);

  std::shared_ptr<const wire::JobSpec> job_;
  bool scanning_ = false;
  bool recalled_ = true;  // no answer to RecallInput is outstanding
  bool ended_;
  bool reading_ = false;                        // a ReadInput has no answer yet
  std::uint32_t in_pipe_ = 0;                   // bytes that have been sent and not taken
  std::string buffer_;                          // while scanning_: not yet consumed
  std::deque<wire::ScanUp> scans_;              // in order of arrival
  std::map<std::uint32_t, unsigned> scans_of_;  // their number, by process
  bool look_at_scans_ = false;                  // the first of them may be complete now
  std::optional<InputRead> read_;               // not sent yet
};

}  // namespace charmtree::input
