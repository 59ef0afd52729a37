// SPDX-License-Identifier: Apache-2.0
// Stack trees for other tools: JSON, a graph for STATview or dot, a picture for a browser.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "charmrun/report/stack_tree.hpp"
#include "charmrun/report/xml_text.hpp"
#include "tree/base/visible.hpp"

namespace charmtree {

namespace {

std::string all_of(const wire::ProcessSet& which, std::uint32_t processes) {
  return ranges_text(which, processes, wire::kMostGroupRanges);
}

std::string as_json(const StackReport& report) {
  nlohmann::json groups = nlohmann::json::array();
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < report.stacks.groups.size(); ++i) {
    const stacks::StackGroup& group = report.stacks.groups[i];
    nlohmann::json frames = nlohmann::json::array();
    for (const std::uint32_t frame : group.frames) frames.push_back(visible(report.stacks.names[frame]));
    const wire::ProcessSet which{group.which};
    seen += group.processes;
    nlohmann::json one{{"processes", group.processes},
                       {"which", all_of(which, group.processes)},
                       {"motion", word_for(group.motion)}};
    if (group.motion == stacks::Motion::unread)
      one["why"] = frames.empty() ? "" : frames.front();
    else
      one["frames"] = frames;
    if (!report.hosts[i].empty()) one["hosts"] = report.hosts[i];
    groups.push_back(std::move(one));
  }
  const nlohmann::json all{
      {"job", report.job}, {"processes", report.processes}, {"seen", seen}, {"groups", groups}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// One colour for each set of processes, so that equal sets are seen to be equal, and others are not alike.
std::string colour_of(const StackNode& node) {
  std::uint32_t hash = 2166136261U;  // FNV-1a, mixed at its end as that of MurmurHash3
  for (const char c : fmt::format("{}:{}", node.processes, node.which.print()))
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  hash = (hash ^ hash >> 16U) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13U) * 0xC2B2AE35U;
  hash ^= hash >> 16U;
  constexpr std::uint32_t kLight = 0x70, kRange = 0x90;
  return fmt::format("#{:02X}{:02X}{:02X}", kLight + (hash & 0xFF) % kRange,
                     kLight + (hash >> 8 & 0xFF) % kRange, kLight + (hash >> 16 & 0xFF) % kRange);
}

/// A name with these characters escaped. STATview escapes brackets by itself, and braces twice, which nobody
/// understands then.
std::string dot_text(const std::string& name, std::string_view escaped) {
  std::string text;
  for (char c : visible(name)) {
    if (c == '"' || c == '\\') c = '_';
    if (c == '{') c = '(';
    if (c == '}') c = ')';
    if (escaped.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

/// With the attributes of STAT's own graphs; it says "(null)" where it knows nothing.
class Dot {
public:
  std::string draw(const StackNode& root) {
    text_ =
        "digraph G {\n\tnode [shape=record,style=filled,labeljust=c,height=0.2];\n"
        "\t0 [pos=\"0,0\", label=\"/\", fillcolor=\"#808080\", function=\"/\", " +
        std::string{kUnknown} + "];\n";
    for (const StackNode& child : root.children) add(child, 0);
    return std::move(text_) + "}\n";
  }

private:
  /// Of a node.
  static constexpr std::string_view kUnknown =
      "source=\"(null)\", line=\"(null)\", module=\"(null)\", offset=\"(null)\", pc=\"(null)\", "
      "vars=\"(null)\"";

  void add(const StackNode& node, unsigned parent) {
    const unsigned number = ++last_;
    const bool are_all_known = node.which.size() == node.processes;
    text_ += fmt::format("\t{} [pos=\"0,0\", label=\"{}\", fillcolor=\"{}\", function=\"{}\", {}];\n", number,
                         dot_text(node.name, "<>|"), colour_of(node), dot_text(node.name, "|"), kUnknown);
    constexpr std::size_t kFewRanges = 4;
    text_ += fmt::format("\t{} -> {} [label=\"{}:[{}]\", bv=\"{}\", count=\"{}\", rep=\"{}\"]\n", parent,
                         number, node.processes, ranges_text(node.which, node.processes, kFewRanges),
                         are_all_known ? "[" + node.which.print() + "]" : "(null)", node.processes,
                         node.which.lowest());
    for (const StackNode& child : node.children) add(child, number);
  }

  std::string text_;
  unsigned last_ = 0;
};

/// Each function as wide as it has processes, below those that have called it.
class Picture {
public:
  std::string draw(const StackReport& report, const StackNode& root) {
    depth_ = 0;
    for (const StackNode& child : root.children) place(child, 1);
    double x = 0;
    for (const StackNode& child : root.children)
      x = add(child, x, double{kWidth} / std::max(root.processes, 1U), 1);
    const int height = kRow * (depth_ + 2);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"4\" y=\"14\">what {2} of {3} processes of job {4} do, in {5} groups</text>\n{6}</svg>\n",
        int{kWidth}, height, root.processes, report.processes, xml_text(report.job),
        report.stacks.groups.size(), boxes_);
  }

private:
  static constexpr int kWidth = 1200, kRow = 20;

  void place(const StackNode& node, int level) {
    depth_ = std::max(depth_, level);
    for (const StackNode& child : node.children) place(child, level + 1);
  }
  double add(const StackNode& node, double x, double unit, int level) {
    const double width = unit * node.processes;
    constexpr double kLetter = 6.5;
    const auto letters = static_cast<std::size_t>(std::max(0.0, width / kLetter - 1));
    std::string motion;
    for (const stacks::StackGroup* group : node.ends) motion += fmt::format(", {}", word_for(group->motion));
    boxes_ += fmt::format(
        "<g><title>{0}\n{1} processes: {2}{3}</title><rect x=\"{4:.1f}\" y=\"{5}\" width=\"{6:.1f}\" "
        "height=\"{7}\" fill=\"{8}\" stroke=\"white\"/>",
        xml_text(node.name), node.processes, all_of(node.which, node.processes), motion, x, kRow * level,
        width, kRow, colour_of(node));
    constexpr std::size_t kFewest = 3;
    if (letters >= kFewest)
      boxes_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", x + 3, kRow * level + 14,
                            xml_text(node.name.substr(0, letters)));
    boxes_ += "</g>\n";
    double next = x;
    for (const StackNode& child : node.children) next = add(child, next, unit, level + 1);
    return x + width;
  }

  std::string boxes_;
  int depth_ = 0;
};

}  // namespace

std::string show_stacks(const StackReport& report, StackFormat format) {
  switch (format) {
    case StackFormat::json:
      return as_json(report);
    case StackFormat::dot:
      return Dot{}.draw(stack_tree(report.stacks));
    case StackFormat::svg:
      return Picture{}.draw(report, stack_tree(report.stacks));
    case StackFormat::text:
      break;
  }
  std::string text;
  for (const std::string& line : stack_lines(report)) text += line + "\n";
  return text;
}

}  // namespace charmtree
