// SPDX-License-Identifier: Apache-2.0
// The picture, from top to bottom: headline, legend with the median of each part, time axis, then one row per
// launcher in tree order: its name, indented and joined to its parent by lines; a thin line while it waited
// for its parent to have a free login; a bar cut into parts; and the time that it took by itself. Rows become
// thinner as there are more of them; then only inner launchers, failed ones and what still has room are named
// (every bar has a tooltip with the numbers). Beyond kMaxTimelineRows, each row stands for several neighbours
// and shows the slowest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "charmrun/report/report.hpp"
#include "charmrun/report/timeline.hpp"
#include "charmrun/report/xml_text.hpp"
#include "tree/base/visible.hpp"

namespace charmtree {
namespace {

constexpr double kPlotWidth = 780;
constexpr double kTopOfRows = 136;
constexpr double kOwnTimeColumn = 84;
constexpr double kIndent = 14;
constexpr std::uint32_t kMaxIndentLevels = 12;
constexpr double kLabelLine = 12.5;    // height that a label needs
constexpr double kLetter = 6.3;        // mean width of a letter at 11 px
constexpr std::size_t kMaxLabel = 28;  // letters
constexpr std::size_t kMinErrorLetters = 16;
constexpr double kFullRow = 13;  // from this height on, every row has its name and numbers

constexpr std::string_view kStyle =
    "text{font-family:'Inter','Helvetica Neue',Helvetica,Arial,'DejaVu "
    "Sans',sans-serif;font-size:11px;fill:#1f2933}"
    ".h{font-size:19px;font-weight:600}.s{font-size:12px;fill:#616e7c}.m{fill:#7b8794}.e{fill:#c62828}.w{"
    "fill:#fff}"
    ".r{text-anchor:end}.c{text-anchor:middle}"
    ".p0{fill:#3b6ea8}.p1{fill:#45a3b5}.p2{fill:#8cc084}.p3{fill:#f0b840}.p4{fill:#cfd6de}.p5{fill:#d9cfec}."
    "f{fill:#d64545}"
    ".band{fill:#f5f7fa}.grid{stroke:#e4e7eb;fill:none}.tree{stroke:#c3cbd5;fill:none}.turn{stroke:#cbd2d9;"
    "fill:none}"
    ".end{stroke:#1f2933;stroke-dasharray:3 3;fill:none}";

/// At most `letters` bytes; the middle of a long ASCII name is replaced by "..".
std::string shortened(const std::string& text, std::size_t letters) {
  const bool ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (text.size() <= letters || !ascii) return text;
  const std::size_t half = (letters - 2) / 2;
  return text.substr(0, letters - 2 - half) + ".." + text.substr(text.size() - half);
}

/// A step of 1, 2 or 5 times a power of ten that cuts `span` into 5 to 10.
double axis_step(double span) {
  const double rough = span / 8;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

struct Row {
  const LauncherRecord* launcher;
  std::size_t stands_for;  // launchers, itself among them
  double y;                // middle
};

/// One row per launcher, or the slowest (a failed one first) of each group of neighbours.
std::vector<Row> make_rows(const std::vector<const LauncherRecord*>& order) {
  const std::size_t group = (order.size() + kMaxTimelineRows - 1) / kMaxTimelineRows;
  const auto worse = [](const auto* a, const auto* b) {
    if (a->error.empty() != b->error.empty()) return b->error.empty();
    return own_time(*a) > own_time(*b);
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < order.size(); i += group) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(i);
    const std::size_t count = std::min(group, order.size() - i);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    rows.push_back({*std::min_element(begin, end, worse), count, 0});
  }
  return rows;
}

double row_height(std::size_t rows) {
  if (rows <= 40) return 22;
  if (rows <= 110) return 15;
  if (rows <= 260) return 8;
  if (rows <= 600) return 5;
  return 3;
}

class Drawing {
public:
  explicit Drawing(const StartupRecord& record);
  std::string svg();

private:
  void head();
  void legend();
  void axis();
  void bands();
  void tree_lines();
  void labels();
  void row(const Row& row);
  void turn_line(const Row& row);
  void failure(const Row& row);

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }
  double x_of(Duration time) const { return left_ + seconds(time) * scale_; }
  double indent_of(const LauncherRecord& launcher) const {
    return 16 + kIndent * static_cast<double>(std::min(launcher.level, kMaxIndentLevels));
  }
  bool full_rows() const { return height_ >= kFullRow; }
  double bottom() const { return kTopOfRows + height_ * static_cast<double>(rows_.size()); }
  double right() const { return left_ + kPlotWidth; }

  const StartupRecord& record_;
  std::vector<Row> rows_;
  std::map<std::int32_t, const Row*> row_of_;
  std::map<std::int32_t, std::size_t> children_;
  double height_ = 0;
  double left_ = 0;
  double span_ = 0;   // seconds on the axis
  double scale_ = 0;  // pixels per second
  std::string out_;
};

Drawing::Drawing(const StartupRecord& record) : record_(record), rows_(make_rows(in_tree_order(record))) {
  height_ = row_height(rows_.size());
  double widest = 60;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.y = kTopOfRows + height_ * (static_cast<double>(i) + 0.5);
    row_of_[row.launcher->host] = &row;
    const std::size_t letters = std::min(row.launcher->name.size() + (full_rows() ? 0 : 12), kMaxLabel + 2);
    widest = std::max(widest, indent_of(*row.launcher) + kLetter * static_cast<double>(letters));
  }
  for (const auto& launcher : record.launchers) {
    if (launcher.host != kRootLauncher) ++children_[launcher.parent];
  }
  left_ = std::ceil(widest) + 22;
  span_ = std::max(seconds(startup_time(record)), 1e-3);
  scale_ = kPlotWidth / span_;
}

std::string Drawing::svg() {
  const double width = right() + kOwnTimeColumn + 16;
  const double height = bottom() + 34;
  put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\">\n",
      width, height);
  put("<title>{}</title>\n<style>{}</style>\n", xml_text(headline(record_)), kStyle);
  put("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  head();
  legend();
  bands();
  axis();
  tree_lines();
  labels();
  for (const auto& entry : rows_) row(entry);
  put("</svg>\n");
  return std::move(out_);
}

void Drawing::head() {
  put("<text class=\"h\" x=\"16\" y=\"32\">{}</text>\n", xml_text(headline(record_)));
  put("<text class=\"s\" x=\"16\" y=\"52\">{}</text>\n", xml_text(subline(record_)));
}

void Drawing::legend() {
  const auto times = part_times(record_);
  double x = 16;
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const std::string label{description(static_cast<Part>(i))};
    const std::string median = times[i].sorted.empty() ? "" : human_time(times[i].median());
    put("<rect class=\"p{}\" x=\"{:.1f}\" y=\"70\" width=\"12\" height=\"12\" rx=\"2\"/>", i, x);
    put("<text x=\"{:.1f}\" y=\"80\">{} <tspan class=\"m\">{}</tspan></text>\n", x + 17, label, median);
    x += 17 + 6.0 * static_cast<double>(label.size() + median.size() + 1) + 14;
  }
  put("<text class=\"m\" x=\"{:.1f}\" y=\"52\" text-anchor=\"end\">times in the legend are medians</text>\n",
      right() + kOwnTimeColumn);
}

void Drawing::axis() {
  const double step = axis_step(span_);
  const bool in_ms = span_ < 1.5;
  const double shown = in_ms ? step * 1e3 : step;
  const int decimals = shown >= 0.999 ? 0 : static_cast<int>(std::ceil(-std::log10(shown) - 1e-9));
  std::string grid;
  for (int i = 0; i * step <= span_ * (1 + 1e-9); ++i) {
    const double x = left_ + i * step * scale_;
    grid += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, kTopOfRows - 4, bottom() + 4);
    const std::string label = fmt::format("{:.{}f}{}", i * shown, decimals,
                                          i == 0  ? ""
                                          : in_ms ? " ms"
                                                  : " s");
    if (x > right() - 20) continue;  // would touch the heading of the last column
    put("<text class=\"m c\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x, kTopOfRows - 10, label);
    if (bottom() > 700)
      put("<text class=\"m c\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x, bottom() + 18, label);
  }
  put("\n<path class=\"grid\" d=\"{}\"/>\n", grid);
  const double end = x_of(startup_time(record_));
  put("<path class=\"end\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", end, kTopOfRows - 24, bottom() + 4);
  put("<text class=\"r\" x=\"{:.1f}\" y=\"{:.1f}\">done at {}</text>\n", end - 5, kTopOfRows - 26,
      human_time(startup_time(record_)));
  if (full_rows())
    put("<text class=\"m r\" x=\"{:.1f}\" y=\"{:.1f}\">own time</text>\n", right() + kOwnTimeColumn,
        kTopOfRows - 10);
}

/// Every second subtree of the first level on a faint ground, so that the eye finds them among thin rows.
void Drawing::bands() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].launcher->level != 1) continue;
    std::size_t end = i + 1;
    while (end < rows_.size() && rows_[end].launcher->level > 1) ++end;
    if (++count % 2 == 0 || end - i < 2) continue;
    put("<rect class=\"band\" x=\"8\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\"/>\n",
        rows_[i].y - height_ / 2, right() + kOwnTimeColumn, height_ * static_cast<double>(end - i));
  }
}

void Drawing::tree_lines() {
  std::string path;
  for (const auto& row : rows_) {
    if (row.launcher->host == kRootLauncher) continue;
    const auto parent = row_of_.find(row.launcher->parent);
    if (parent == row_of_.end() || parent->second->y >= row.y) continue;
    const double x = indent_of(*parent->second->launcher) + 3;
    const double to = std::max(x, indent_of(*row.launcher) - 3);
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}", x, parent->second->y + std::min(7.0, height_ / 2),
                        row.y, to);
  }
  put("<path class=\"tree\" stroke-width=\"{}\" d=\"{}\"/>\n", full_rows() ? 1 : 0.5, path);
}

/// Inner launchers first, then failed ones, then whoever still has room.
void Drawing::labels() {
  std::set<double> taken;
  const auto has_room = [&](double y) {
    const auto next = taken.lower_bound(y);
    const bool above = next == taken.begin() || y - *std::prev(next) >= kLabelLine;
    return above && (next == taken.end() || *next - y >= kLabelLine);
  };
  for (int pass = 0; pass < 3; ++pass) {
    for (const auto& row : rows_) {
      const auto& launcher = *row.launcher;
      const auto found = children_.find(launcher.host);
      const std::size_t below =
          launcher.host == kRootLauncher || found == children_.end() ? 0 : found->second;
      const bool root = launcher.host == kRootLauncher;
      const bool wanted = pass == 2 || (pass == 0 ? root || below > 0 : !launcher.error.empty());
      const double y =
          root && !full_rows() ? row.y - kLabelLine + height_ : row.y;  // clear of the first host's
      if (!wanted || (full_rows() ? taken.contains(y) : !has_room(y))) continue;
      taken.insert(y);
      std::string text = root ? "root" : xml_text(shortened(visible(launcher.name), kMaxLabel));
      if (row.stands_for > 1) text += fmt::format(" <tspan class=\"m\">of {}</tspan>", row.stands_for);
      if (!full_rows() && below > 0) text += fmt::format(" <tspan class=\"m\">+{}</tspan>", below);
      put("<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", launcher.error.empty() ? "" : " class=\"e\"",
          indent_of(launcher), y + 3.8, text);
    }
  }
}

std::string tooltip(const LauncherRecord& launcher) {
  std::string text = launcher.host == kRootLauncher ? "root launcher" : xml_text(launcher.name);
  text += fmt::format(" - level {}, {} process{}", launcher.level, launcher.processes,
                      launcher.processes == 1 ? "" : "es");
  if (launcher.attempts > 1) text += fmt::format(", {} logins tried", launcher.attempts);
  for (const auto& segment : segments(launcher)) {
    text += fmt::format("\n{}: {}", description(segment.part), human_time(segment.end - segment.begin));
  }
  if (!launcher.error.empty()) text += "\n" + xml_text(launcher.error);
  return text;
}

void Drawing::row(const Row& row) {
  const auto& launcher = *row.launcher;
  const double bar = height_ >= 20         ? 14
                     : height_ >= kFullRow ? 10
                     : height_ >= 5        ? height_ - 1
                                           : height_ - 0.4;
  turn_line(row);
  put("<g><title>{}</title>", tooltip(launcher));
  for (const auto& segment : segments(launcher)) {
    const double width = seconds(segment.end - segment.begin) * scale_;
    if (width < 0.05) continue;
    put("<rect class=\"p{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>",
        static_cast<int>(segment.part), x_of(segment.begin), row.y - bar / 2, width, bar);
  }
  if (!launcher.error.empty()) failure(row);
  put("</g>\n");
  if (!full_rows()) return;
  std::string own = launcher.host == kRootLauncher ? "" : human_time(own_time(launcher));
  if (!launcher.error.empty()) own = "failed";
  put("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", launcher.error.empty() ? "m r" : "e r",
      right() + kOwnTimeColumn, row.y + 3.8, own);
}

/// From the parent's hello until this login began: it waited for its turn.
void Drawing::turn_line(const Row& row) {
  const auto parent = row_of_.find(row.launcher->parent);
  const bool drawn =
      row.launcher->host != kRootLauncher && row.launcher->reached(Mark::begun) && parent != row_of_.end();
  if (!drawn) return;
  const auto& above = *parent->second->launcher;
  const Duration since = above.reached(Mark::hello) ? above.at(Mark::hello) : Duration{0};
  if (row.launcher->at(Mark::begun) <= since) return;
  put("<path class=\"turn\" stroke-width=\"{}\" d=\"M{:.2f} {:.1f}H{:.2f}\"/>", full_rows() ? 1.5 : 0.6,
      x_of(since), row.y, x_of(row.launcher->at(Mark::begun)));
}

/// A red bar from the last thing that worked until it was given up, and why, where there is room for it.
void Drawing::failure(const Row& row) {
  const auto& launcher = *row.launcher;
  const auto parts = segments(launcher);
  const Duration begun = launcher.reached(Mark::begun) ? launcher.at(Mark::begun) : Duration{0};
  const double from = x_of(parts.empty() ? begun : parts.back().end);
  const double to = std::max(x_of(last_mark(launcher)), from + 2.5);
  const double bar = height_ >= 20 ? 14 : height_ >= kFullRow ? 10 : std::max(height_ - 1, 1.5);
  put("<rect class=\"f\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>", from,
      row.y - bar / 2, to - from, bar);
  if (!full_rows()) return;
  const bool inside = to - from > right() - to;
  const double room = (inside ? to - from : right() - to) - 12;
  const auto letters = static_cast<std::size_t>(std::max(room / kLetter, 0.0));
  if (letters < kMinErrorLetters) return;
  std::string text = visible(launcher.error);
  if (text.size() > letters) text = visible(text.substr(0, letters - 2)) + "..";
  put("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", inside ? "w" : "e", (inside ? from : to) + 6,
      row.y + 3.8, xml_text(text));
}

}  // namespace

std::string timeline_svg(const StartupRecord& record) {
  return Drawing(record).svg();
}

}  // namespace charmtree
