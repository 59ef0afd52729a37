// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/stack_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/visible.hpp"

namespace charmtree {

namespace {

void count(StackNode& node, const stacks::StackGroup& group) {
  node.processes += group.processes;
  node.which.add_all(group.which);
}

StackNode& child_of(StackNode& node, const std::string& name) {
  for (StackNode& child : node.children) {
    if (child.name == name) return child;
  }
  return node.children.emplace_back(StackNode{name, 0, {}, {}, {}});
}

void sort(StackNode& node) {
  std::stable_sort(node.children.begin(), node.children.end(),
                   [](const auto& a, const auto& b) { return a.processes > b.processes; });
  for (StackNode& child : node.children) sort(child);
}

}  // namespace

StackReport stack_report(const std::string& job, const proto::JobStatus& status,
                         const std::vector<Host>& hosts, stacks::Stacks stacks) {
  StackReport report{job, status.processes, std::move(stacks), {}, false};
  for (const stacks::StackGroup& group : report.stacks.groups) {
    std::vector<std::uint32_t> which;
    for (const auto& [first, last] : group.which) {
      for (std::uint64_t process = first; process <= last && group.processes <= kFewProcessesShown;
           ++process) {
        const auto number = static_cast<std::uint32_t>(process);
        auto host = status.moved.host_of(number);
        for (const Host& each : hosts) {
          if (!host && number >= each.first_process && number - each.first_process < each.processes)
            host = each.index;
        }
        if (host && (which.empty() || which.back() != *host)) which.push_back(*host);
      }
    }
    report.hosts.push_back(which.empty() ? "" : proto::names_of(which, hosts));
  }
  return report;
}

StackNode stack_tree(const stacks::Stacks& stacks) {
  StackNode root;
  for (const stacks::StackGroup& group : stacks.groups) {
    StackNode* node = &root;
    count(root, group);
    for (const std::uint32_t frame : group.frames) {
      node = &child_of(*node, stacks.names[frame]);
      count(*node, group);
    }
    node->ends.push_back(&group);
  }
  sort(root);
  return root;
}

std::string_view word_for(stacks::Motion motion) {
  using stacks::Motion;
  switch (motion) {
    case Motion::waits:
      return "waits";
    case Motion::computes:
      return "computes";
    case Motion::stopped:
      return "stopped by a signal";
    case Motion::moves:
      return "moves";
    case Motion::crashed:
      return "crashed";
    case Motion::unread:
      return "unread";
  }
  return "unread";
}

std::string ranges_text(const wire::ProcessSet& which, std::uint32_t processes, std::size_t most) {
  std::string text;
  const auto& ranges = which.ranges();
  for (std::size_t i = 0; i < std::min(ranges.size(), most); ++i) {
    text += fmt::format("{}{}", i > 0 ? "," : "", ranges[i].first);
    if (ranges[i].last > ranges[i].first) text += fmt::format("-{}", ranges[i].last);
  }
  return ranges.size() > most || which.size() < processes ? text + ",..." : text;
}

namespace {

constexpr std::size_t kMostRanges = 8, kWidth = 100;

class Lines {
public:
  /// `deepest`: branches that are shown below one another.
  Lines(const StackReport& report, std::size_t deepest) : report_(report), deepest_(deepest) {}

  void add(const StackNode& node, std::size_t level) {
    const StackNode* last = &node;
    std::string path = visible(node.name);
    while (last->ends.empty() && last->children.size() == 1) {
      last = &last->children.front();
      path += " > " + visible(last->name);
    }
    const bool is_end = last->children.empty() && last->ends.size() == 1;
    if (!is_end && level >= deepest_) {
      put(level, node, path + fmt::format(" > ... ({} ways on)", last->ends.size() + last->children.size()));
      return;
    }
    put(level, node, path + (is_end ? ending(*last->ends.front()) : ""));
    if (is_end) return;
    for (const stacks::StackGroup* group : last->ends) {
      StackNode here;
      here.processes = group->processes;
      here.which.add_all(group->which);
      put(level + 1, here, "(here)" + ending(*group));
    }
    for (const StackNode& child : last->children) add(child, level + 1);
  }
  std::vector<std::string> take() { return std::move(lines_); }

private:
  std::string ending(const stacks::StackGroup& group) const {
    const bool is_known = group.motion != stacks::Motion::unread;
    std::string text = is_known ? fmt::format("  [{}]", word_for(group.motion)) : " (its stack is not known)";
    const auto number = static_cast<std::size_t>(&group - report_.stacks.groups.data());
    if (const std::string& hosts = report_.hosts[number]; !hosts.empty()) text += " on " + hosts;
    const bool goes_on = is_known && !report_.is_last;
    return goes_on ? text + fmt::format(" (++gdb :{})", group.which.front().first) : text;
  }

  /// A long path goes on in further lines.
  void put(std::size_t level, const StackNode& node, const std::string& path) {
    std::string line = fmt::format("{:{}}{}:[{}] ", "", 2 * level, node.processes,
                                   ranges_text(node.which, node.processes, kMostRanges));
    const std::string indent(2 * level + 4, ' ');
    for (std::size_t at = 0; at < path.size();) {
      std::size_t end = std::min(path.find(" > ", at + 1), path.size());
      if (line.size() + (end - at) > kWidth && line.size() > indent.size() && at > 0) {
        lines_.push_back(std::move(line));
        line = indent;
        at += 1;  // the space before it
      }
      line += path.substr(at, end - at);
      at = end;
    }
    lines_.push_back(std::move(line));
  }

  const StackReport& report_;
  std::size_t deepest_;
  std::vector<std::string> lines_;
};

std::string headline(const StackReport& report, const StackNode& tree) {
  const std::string of = tree.processes == report.processes
                             ? fmt::format("{}", report.processes)
                             : fmt::format("{} of {}", tree.processes, report.processes);
  const std::size_t groups = report.stacks.groups.size();
  const std::string_view deed = report.is_last ? "did then" : report.processes == 1 ? "does" : "do";
  return fmt::format("what {} process{} of job {} {}, in {} group{}:", of, report.processes == 1 ? "" : "es",
                     report.job, deed, groups, groups == 1 ? "" : "s");
}

}  // namespace

/// The deepest tree that fits; of one that is too wide, the largest groups and the smallest.
std::vector<std::string> stack_lines(const StackReport& report) {
  const StackNode tree = stack_tree(report.stacks);
  if (tree.processes == 0) return {fmt::format("no process of job {} runs", report.job)};
  std::vector<std::string> lines;
  // Each branch below another takes two lines at least.
  for (std::size_t deepest = kMostStackLines / 2 + 1; deepest-- > 0;) {
    Lines all{report, deepest};
    for (const StackNode& child : tree.children) all.add(child, 0);
    lines = all.take();
    if (lines.size() < kMostStackLines) break;
  }
  if (const std::size_t most = kMostStackLines - 1; lines.size() > most) {
    const std::size_t left_out = lines.size() - most + 1;
    const auto from = lines.begin() + static_cast<std::ptrdiff_t>(most / 2);
    lines.erase(from, from + static_cast<std::ptrdiff_t>(left_out));
    lines.insert(
        lines.begin() + static_cast<std::ptrdiff_t>(most / 2),
        fmt::format("... {} lines left out (charmrun ++stack-trees JOB ++json FILE has them)", left_out));
  }
  lines.insert(lines.begin(), headline(report, tree));
  return lines;
}

}  // namespace charmtree
