// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/silence_expectation.hpp"

#include <fmt/format.h>

#include "tests/sim/settings.hpp"
#include "tests/sim/silence_fit.hpp"

namespace charmtree::silence {

namespace {

/// The bin of a tail in which fewer are, and all behind it, are not fitted: they are there by chance.
constexpr std::uint64_t kFewest = 5;

/// An expected figure, and one that is higher by two standard errors.
struct Estimate {
  double value = 0, at_most = 0;

  Estimate operator*(const Estimate& other) const { return {value * other.value, at_most * other.at_most}; }
  Estimate operator+(const Estimate& other) const { return {value + other.value, at_most + other.at_most}; }
};

/// A share that was counted.
Estimate share(std::uint64_t count, std::uint64_t all) {
  if (all == 0) return {1, 1};
  const auto n = static_cast<double>(count), of = static_cast<double>(all);
  return {n / of, std::min(1.0, (n + 2 * std::sqrt(n) + 3) / of)};
}

/// R(t), of the whole run.
class Silences {
public:
  Silences(const Settings& settings, const Record& record) : settings_(settings) {
    for (std::size_t losses = 2; losses < record.losses.size() && record.losses[losses] > 0; ++losses)
      lost_.add(static_cast<double>(losses), record.losses[losses]);
    has_lost_ = lost_.make();
    const Histogram& late = record.late;
    width_ = seconds(late.width());
    for (std::size_t bin = kFirst; bin < late.counts().size() && late.counts()[bin] >= kFewest; ++bin)
      late_.add((static_cast<double>(bin) + 0.5) * width_, late.counts()[bin]);
    has_late_ = late_.make();
  }

  bool is_known() const { return has_lost_; }

  Estimate at_least(double ms) const {
    Estimate sum;
    unsigned losses = 1;
    while (settings_.rto * static_cast<double>((1U << losses) - 1) + settings_.beat < ms) ++losses;
    for (unsigned more = losses; more < losses + kLossesMore; ++more)
      sum = sum + Estimate{lost_.at(more), lost_.at(more, 2)};
    if (!has_late_) return sum;
    const double first = ms * 1e-3 + width_ / 2;
    for (double at = first; at < first + kTail; at += width_)
      sum = sum + Estimate{late_.at(at), late_.at(at, 2)};
    return sum;
  }

  std::string text() const {
    std::string text = fmt::format("  losses in a row k: {}; ln {:g} is {:.2f}\n", lost_.text("k"),
                                   settings_.loss, std::log(settings_.loss));
    if (has_late_)
      text += fmt::format("  launchers that did not run, in bins of {:g} s: {}\n", width_, late_.text("t/s"));
    return text;
  }

private:
  static constexpr std::size_t kFirst = 3;  // bin: from 0.75 s on all of that length are noted
  static constexpr unsigned kLossesMore = 8;
  static constexpr double kTail = 20;  // seconds
  const Settings& settings_;
  ExponentialFit lost_, late_;
  bool has_lost_ = false, has_late_ = false;
  double width_ = 0;
};

/// v: of all whose port did not answer, those who have acknowledged nothing for a beat.
class Acknowledgements {
public:
  Acknowledgements(const Settings& settings, const Record& record) : beat_(settings.beat * 1e-3) {
    const Histogram& ages = record.at_verdict;
    all_ = static_cast<double>(ages.total());
    // In steps of what is sent to a suspect: within the first nothing need have been lost.
    const Duration step = sim::ms(settings.beat / kCloser);
    for (Duration from{0};; from += step) {
      const std::uint64_t count = ages.at_least(from);
      if (count < kFewest) break;
      older_.add(seconds(from), count);
    }
    is_known_ = older_.make();
  }
  bool is_known() const { return is_known_; }
  Estimate quiet() const {
    return {std::min(1.0, older_.at(beat_) / all_), std::min(1.0, older_.at(beat_, 2) / all_)};
  }
  std::string text() const {
    return fmt::format("  of {} silences those whose last acknowledgement is older than t: {}\n", all_,
                       older_.text("t/s"));
  }

private:
  static constexpr double kCloser = 5;  // as the detector
  double beat_, all_ = 0;
  ExponentialFit older_;
  bool is_known_ = false;
};

}  // namespace

Expectation expect(const Settings& settings, const Record& record) {
  const Silences silences{settings, record};
  const Acknowledgements acknowledgements{settings, record};
  if (!silences.is_known() || !acknowledgements.is_known()) return {};
  const Estimate q = share(record.unanswered, record.probes), u = share(record.quiet, record.suspected);
  const Estimate v = acknowledgements.quiet();
  const Estimate long_enough = silences.at_least(settings.gone);
  const Estimate gone = long_enough * q * u * v, half_open = silences.at_least(settings.half_open) * u * v;
  const Estimate frozen = silences.at_least(settings.frozen);
  const double a_day = 86400 / settings.time * 1e6 / settings.hosts;
  const Estimate all = gone + half_open + frozen;
  Expectation expectation{{}, all.value, all.value * a_day, all.at_most * a_day};
  std::string& text = expectation.text;
  text = "false verdicts to be expected = R(gone) q u v + R(half open) u v + R(frozen), with these fits:\n";
  text += silences.text() + acknowledgements.text();
  text += fmt::format("  R({:g} s) = {:.3g}, q = {:.3g}, u = {:.3g}, v = {:.3g}\n", settings.gone * 1e-3,
                      long_enough.value, q.value, u.value, v.value);
  text += fmt::format("  in this run {:.2g} = {:.2g} + {:.2g} + {:.2g}; were: {} + {} + {}\n", all.value,
                      gone.value, half_open.value, frozen.value, record.false_verdicts[0],
                      record.false_verdicts[1], record.false_verdicts[2]);
  text += fmt::format("  in a day of 1,000,000 hosts {:.2g}, at most {:.2g} (two standard errors of each)\n",
                      expectation.per_day, expectation.at_most);
  return expectation;
}

}  // namespace charmtree::silence
