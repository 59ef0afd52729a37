// SPDX-License-Identifier: Apache-2.0
// The stacks of a job's processes as a tree: what they have in common comes first (a call-graph prefix tree,
// as that of LLNL's STAT). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stacks/messages.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/wire/host.hpp"

namespace charmtree {

/// Processes that are in the same function, called by the same ones.
struct StackNode {
  std::string name;
  std::uint32_t processes = 0;
  wire::ProcessSet which;                       // the lowest of them
  std::vector<const stacks::StackGroup*> ends;  // of which it is the innermost
  std::vector<StackNode> children;              // the one with most processes first
};

/// The root has no name. `stacks` must outlive the tree.
StackNode stack_tree(const stacks::Stacks& stacks);

/// What is told of a job.
struct StackReport {
  std::string job;
  std::uint32_t processes = 0;  // of the job
  stacks::Stacks stacks;
  std::vector<std::string> hosts;  // of each group, as text; empty for those of more than kFewProcessesShown
  bool is_last = false;            // a crash ends the job: nobody goes on from there
};
inline constexpr std::uint32_t kFewProcessesShown = 3;
StackReport stack_report(const std::string& job, const proto::JobStatus& status,
                         const std::vector<Host>& hosts, stacks::Stacks stacks);

/// "waits", "computes", "stopped by a signal", "moves", "crashed", "unread".
std::string_view word_for(stacks::Motion motion);

/// "0-3,7"; of many ranges the first ones, and "...".
std::string ranges_text(const wire::ProcessSet& which, std::uint32_t processes, std::size_t most);

/// For people: at most kMostStackLines lines, without newlines.
inline constexpr std::size_t kMostStackLines = 25;
std::vector<std::string> stack_lines(const StackReport& report);

/// How ++stack-trees shows it.
enum class StackFormat : std::uint8_t { text, json, dot, svg };
/// With a newline at its end. dot: as STATview opens it.
std::string show_stacks(const StackReport& report, StackFormat format);

}  // namespace charmtree
