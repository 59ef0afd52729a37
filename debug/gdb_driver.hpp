// SPDX-License-Identifier: Apache-2.0
// One gdb that holds the processes of a host, as its inferiors: what it is told by its machine interface, and
// what its words mean for each of them. Processes stop and run by themselves ("non-stop"), each with all of
// its threads. Pure: it is fed lines, and gives lines.
//
// Facts about gdb 13 that are relied on: results come in the order of the commands; console text comes before
// the record that it belongs to; with --thread a command begins in that thread's innermost frame.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "debug/answer_set.hpp"
#include "debug/messages.hpp"
#include "debug/mi_record.hpp"

namespace charmtree::debug {

class GdbDriver {
public:
  struct Subject {
    std::uint32_t process;
    std::int64_t pid;
  };
  /// What comes of an order, or of a line.
  struct Out {
    std::string to_gdb;
    AnswerSet said;
    std::uint32_t done = 0;  // that order has been answered by all of its processes
  };

  explicit GdbDriver(const std::vector<Subject>& subjects);
  /// The words by which gdb is started.
  static std::vector<std::string> command();

  /// Begin, command or interrupt: of those of its processes that are held here.
  void order(const DebugOrder& order, Out& out);
  /// A line of gdb's.
  void heard(std::string_view line, Out& out);
  /// gdb is no more, and why.
  void ended(std::string_view why, Out& out);

private:
  enum class State : std::uint8_t { new_one, attaching, stopped, running, gone };
  struct Inferior {
    std::uint32_t process;
    std::int64_t pid;
    std::string group;  // what gdb calls it
    State state = State::new_one;
    std::set<std::uint32_t> threads = {};  // their numbers in gdb
    std::uint32_t thread = 0, frame = 0;   // that are looked at, while it is stopped
  };
  /// A command whose result has yet to come.
  struct Sent {
    enum class What : std::uint8_t { attach, command, beside } what = What::beside;
    std::uint32_t token = 0;
    std::vector<std::size_t> of = {};  // inferiors
    bool moves_frame = false, in_background = false;
  };
  using Which = std::vector<std::size_t>;

  void begin(const Which& which, Out& out);
  void command(const DebugOrder& order, const Which& which, Out& out);
  void command_once(const std::string& line, const Which& which, Out& out);
  void command_of(std::size_t index, const std::string& line, Out& out);
  void interrupt(const Inferior& inferior, Out& out);
  void send(Sent sent, std::string_view words, Out& out);
  void say_to(Sent sent, const std::string& options, std::string_view line, Out& out);
  void result(const MiRecord& record, Out& out);
  void stopped(const MiRecord& record, Out& out);
  void notified(const MiRecord& record, Out& out);
  void answer(std::size_t index, AnswerSet::Kind kind, std::string_view text, Out& out);
  void gone(std::size_t index, std::string_view why, Out& out);
  void settle(Out& out);
  Which those_of(const DebugOrder& order) const;
  std::string only_these(const std::string& line, const Which& which) const;
  Inferior* of_thread(const MiRecord& record, std::string_view key);

  std::vector<Inferior> inferiors_;
  std::deque<Sent> sent_;
  std::uint32_t last_token_ = 0;
  bool apart_ = false;             // its answers that differ in numbers are not to be put together
  std::uint32_t number_ = 0;       // of the order that is open; 0: none
  std::set<std::uint32_t> owing_;  // processes that have yet to answer it
  std::string console_, log_;      // what gdb has said since its last record
};

}  // namespace charmtree::debug
