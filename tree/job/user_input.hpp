// SPDX-License-Identifier: Apache-2.0
// The user's stdin, at the root: it flows to its reader (one process, or a copy to each), no more than fits
// into pipes; from the first scanf on it is kept here, and what a format takes of it goes to who scanned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tree/turn/events.hpp"

namespace charmtree::proto {

class UserInput {
public:
  /// What is under way to the reader at most.
  static constexpr std::uint32_t kWindow = 64U << 10;
  /// What one scanf can consume at most: if it is not satisfied by so much, it is answered as at the end of
  /// the input.
  static constexpr std::size_t kMostScanned = 1U << 20;
  /// Of one process, that wait for input.
  static constexpr std::size_t kMostScans = 4;
  /// What a pipe and a launcher hold of the input at most, and some more, as it is taken back.
  static constexpr std::size_t kMostTakenBack = 4 * kWindow;

  using Ranges = std::vector<wire::ProcessSet::Range>;

  struct Orders {
    std::vector<wire::Message>& readers;                              // Input and RecallInput
    std::vector<std::pair<std::uint32_t, wire::Message>>& processes;  // ScanReply, by process
  };

  explicit UserInput(std::shared_ptr<const wire::JobSpec> job);
  /// Of the next run of the program: what was read and nobody has had is for this one.
  void take_over(UserInput& before);
  /// There is no more of it, though nobody has read to its end.
  void end() { ended_ = true; }

  /// `has_reader`: it would come to somebody, now. Else it is kept until turn() says so.
  void on(const InputRead& event, bool has_reader, const Orders& orders);
  void on(const wire::ScanUp& request, Actions& out, const Orders& orders);
  void on(const wire::InputTaken& taken);
  void on(const wire::InputReturned& returned, Actions& out);
  /// So many bytes of it may come back.
  bool can_take_back(std::size_t bytes) const {
    return bytes <= kMostTakenBack && buffer_.size() <= 2 * kMostScanned;
  }
  /// Serves who waits, and asks for more if that is wanted; of a job that is over nobody wants any.
  void turn(bool has_reader, bool is_over, Actions& out, const Orders& orders);

  /// This process is gone, and is started again: what was under way to it is lost.
  void restarts(std::uint32_t process);
  /// These are gone for good: if the reader is one of them, nobody reads it any more, but who scans. Copies
  /// go on to the others.
  void lost(const Ranges& processes, Actions& out);
  /// The way to these was cut, and is there again: the rest is read on, and the end is said again.
  void cut_off(const Ranges& processes, const Orders& orders);
  /// A process whose stdin it is, and that begins now, has none.
  bool has_ended_for(std::uint32_t process) const;

private:
  bool is_of_one(std::uint32_t process) const;
  bool has_reader_in(const Ranges& processes) const;
  void scan_from_now_on(Actions& out);
  void keep(const wire::ScanUp& scan);
  void serve_scans(const Orders& orders);
  void want(Actions& out);

  std::shared_ptr<const wire::JobSpec> job_;
  bool scanning_ = false;
  bool recalled_ = true;  // no answer to RecallInput outstanding
  bool ended_;
  bool reading_ = false;                        // a ReadInput is under way
  std::uint32_t in_pipe_ = 0;                   // bytes sent and not yet taken
  std::string buffer_;                          // scanning_: not yet consumed
  std::deque<wire::ScanUp> scans_;              // in order of arrival
  std::map<std::uint32_t, unsigned> scans_of_;  // so many of them, by process
  bool look_at_scans_ = false;                  // the first of them may be complete now
  std::optional<InputRead> early_;              // while there is nobody to read it
};

}  // namespace charmtree::proto
