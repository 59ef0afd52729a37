// SPDX-License-Identifier: Apache-2.0
// Output of processes on its way up, of this host's own and of those below: held here until the parent (at
// the root: the user's screen) has given credit for it. The output of a process keeps its order, and what
// goes with it: scanf behind its prompt. What this host's processes say beyond their share of memory goes
// into a spool. In a job that repairs itself this host's output is numbered, process by process, and kept
// until the root is known to have it. Pure; control messages do not come here.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "tree/job/spool.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

/// What a process says in order: lines, and scanf's format behind its prompt. All that is named here waits
/// for credit, in memory or in the spool.
using OutputItem = std::variant<wire::Output, wire::ScanUp>;
using OutputMessages = wire::MessageList<wire::Output, wire::ScanUp>;

/// What it counts for credit, in bytes: its text, and what it takes to keep it.
std::size_t output_cost(const wire::Output& output);
std::size_t output_cost(const OutputItem& item);

wire::Message as_message(OutputItem item);

/// Null: it is a scanf.
template <class Item>
auto* lines_of(Item& item) {
  return std::get_if<0>(&item);
}

class OutputQueue {
public:
  /// Of this host's processes, in memory, besides what is on its way into the spool.
  static constexpr std::size_t kShare = 1U << 20;
  /// Longer output is divided where a line ends; a line is not, but for bytes that are no lines (++raw).
  static constexpr std::size_t kPiece = 64U << 10, kLongest = 2 * kPiece;

  struct Passed {
    OutputItem message;
    std::optional<LinkId> from;  // none: this host
    std::size_t cost = 0;
  };

  enum class Keeps : std::uint8_t { nothing, until_taken };

  /// `credit` to begin with; `spool`: most bytes in the file.
  OutputQueue(std::uint64_t credit, std::uint64_t spool, Keeps keeps = Keeps::nothing)
      : credit_(static_cast<std::int64_t>(credit)), keeps_(keeps), spool_(spool) {}

  /// Of this host's processes.
  void add(OutputItem output, Actions& out);
  /// From below.
  void add(LinkId from, OutputItem output);
  void credit(std::uint64_t bytes) { credit_ += static_cast<std::int64_t>(bytes); }
  /// The root has this process's outputs up to that number. It is one of this host.
  void taken(const wire::OutputTaken::Taken& taken);
  /// The root has these: what waits here of them came another way, or a second time, and is not sent on.
  /// Returns what the links had sent of that.
  std::map<LinkId, std::size_t> drop_taken(const std::vector<wire::OutputTaken::Taken>& taken);
  /// What was sent and is not known to have been taken is to be sent again, first.
  void resend();
  /// What waits is lost; these hold for what comes.
  void reset(std::uint64_t credit, std::uint64_t spool, Keeps keeps);
  /// What waits was not sent by links of this run.
  void disown();
  /// Another parent has begun, which gives so much credit.
  void begin_anew(std::uint64_t credit) { credit_ = static_cast<std::int64_t>(credit); }
  void on(const Spooled& event) { spool_.on(event); }
  /// Error: bytes are lost, why.
  Result<void> on(Unspooled event);

  /// What is to be sent next, in turn of this host and those below; one output may exceed the credit.
  std::optional<Passed> next(Actions& out);

  bool empty() const { return own_.empty() && below_.empty() && spool_.empty() && !unspooling_; }
  /// Something waits for credit.
  bool blocked() const { return credit_ <= 0 && !empty(); }
  /// Pipes are to be left alone: this host's share is used up, and has not been half empty since.
  bool pipes_rest();
  /// Who prints over a connection is not to be read any more: too much waits for the spool.
  bool clients_rest();
  const Spool& spool() const { return spool_; }

private:
  struct Waiting {
    OutputItem message;
    std::size_t cost;
    LinkId from = kParentLink;  // of those below
  };
  void keep(OutputItem output, Actions& out);
  std::size_t share() const { return own_cost_ + sent_cost_; }
  void refill(Actions& out);

  std::int64_t credit_;
  std::deque<Waiting> own_, below_;
  std::size_t own_cost_ = 0;
  Keeps keeps_;
  std::deque<Waiting> sent_;  // of own_, and not known to have been taken
  std::size_t sent_cost_ = 0;
  /// Of a process's outputs.
  struct Numbers {
    std::uint64_t last = 0, taken = 0;  // numbered; by the root
  };
  void number(wire::Output& lines);
  std::map<std::uint32_t, Numbers> numbers_;  // by process
  Spool spool_;                               // behind own_
  bool unspooling_ = false;                   // the answer is awaited
  bool own_turn_ = true;
  bool pipes_rest_ = false, clients_rest_ = false;
};

}  // namespace charmtree::proto
