// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/silence_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace charmtree::silence {

namespace {

/// The bins that are not empty.
std::string rows(const Histogram& histogram) {
  std::string text;
  const std::vector<std::uint64_t>& counts = histogram.counts();
  for (std::size_t bin = 0; bin < counts.size(); ++bin)
    if (counts[bin] > 0)
      text += fmt::format("  {:7.4f} s {:12}\n", seconds(histogram.width() * bin), counts[bin]);
  return text;
}

std::string times(const char* what, std::vector<Duration> durations) {
  if (durations.empty()) return {};
  std::sort(durations.begin(), durations.end());
  const auto share = [&](std::size_t percent) {
    return seconds(durations[std::min(durations.size() - 1, durations.size() * percent / 100)]);
  };
  return fmt::format("{}: {} verdicts, after {:.3f} s (median), {:.3f} s (99 %), {:.3f} s (the last)\n", what,
                     durations.size(), share(50), share(99), seconds(durations.back()));
}

std::string margins(const Record& record) {
  static constexpr std::array<const char*, kCauses> kTitles{
      "gone (the worst, while nothing has been found out)", "half open", "frozen"};
  std::string text = "silences of 0.5 s and more that ended, by what was left until a verdict:\n";
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    const Histogram& histogram = record.margins[cause];
    if (histogram.total() == 0) continue;
    text += fmt::format(" {}\n", kTitles[cause]);
    if (histogram.negative() > 0)
      text += fmt::format("  over, but for the answer of a port or a parent {}\n", histogram.negative());
    text += rows(histogram);
  }
  return text;
}

}  // namespace

std::string tables(const Settings& settings, const Record& record) {
  std::string text = margins(record);
  text += "those of launchers that ran, by losses in a row:\n";
  for (std::size_t losses = 2; losses < record.losses.size(); ++losses) {
    if (record.losses[losses] == 0) continue;
    text += fmt::format("  {} (from {:.1f} s) {:12}\n", losses,
                        settings.rto * 1e-3 * static_cast<double>((1U << losses) - 1), record.losses[losses]);
  }
  if (record.late.total() > 0)
    text += fmt::format("those of launchers that did not run, by length:\n{}", rows(record.late));
  text += fmt::format("silences of {:g} s whose port did not answer, by the last acknowledgement's age:\n{}",
                      settings.gone * 1e-3, rows(record.at_verdict));
  text += fmt::format(
      "{} connections to ports of hosts that live, {} not answered in time; {} times not run; {} "
      "questions to parents, {} answered with no\n",
      record.probes, record.unanswered, record.starved, record.asked, record.refused);
  text += times("dead hosts, by their parents", record.by_parent);
  text += times("dead hosts, by their children", record.by_child);
  text += times("frozen launchers", record.frozen);
  text += times("half open links", record.half_open);
  if (record.mistaken > 0) text += fmt::format("half open links taken for dead hosts: {}\n", record.mistaken);
  return text;
}

}  // namespace charmtree::silence
