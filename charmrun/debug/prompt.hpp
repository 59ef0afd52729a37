// SPDX-License-Identifier: Apache-2.0
// The prompt of `charmrun ++gdb`: what is typed becomes orders for the debuggers of all hosts, and what these
// say becomes text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "debug/answer_set.hpp"
#include "debug/messages.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

/// "0-3,7", of a job with so many processes; empty or "all": all. Error bad_input.
Result<wire::ProcessSet> read_processes(std::string_view text, std::uint32_t processes);

class Prompt {
public:
  explicit Prompt(wire::ProcessSet held) : held_(held), focus_(std::move(held)) {}

  struct Deed {
    std::string text = {};  // to be shown
    std::optional<debug::DebugOrder> order = {};
    bool leaves = false;
  };
  /// The first order. `debugger`: that of the hosts; empty: gdb.
  debug::DebugOrder begin(const std::string& debugger = {});
  /// A line, without its end. Precondition: nothing is awaited.
  Deed typed(std::string_view line);
  /// Ctrl-C: those that run are stopped; a second time nobody is waited for any longer.
  Deed interrupted();
  /// What has come; text as soon as all have answered, and at once what nobody has asked for.
  std::string heard(const debug::DebugUp& up);
  /// What has come so far, and who is awaited.
  std::string so_far();

  /// An order is not answered by all of its processes yet.
  bool is_waiting() const { return awaited_ != 0; }
  bool has_news() const { return !said_.empty(); }
  /// No process is in the session any more.
  bool is_over() const { return held_.empty(); }
  std::string text() const { return "(gdb " + focus_.print() + ") "; }

private:
  Deed focus(std::string_view which);
  Deed tell(std::string_view line, bool each);
  std::string take();

  wire::ProcessSet held_, focus_;
  debug::AnswerSet said_;
  std::string last_line_;
  std::uint32_t number_ = 0, awaited_ = 0;
  std::uint64_t answered_ = 0;
  bool each_ = false, interrupted_ = false;
};

}  // namespace charmtree
