// SPDX-License-Identifier: Apache-2.0
// How many false verdicts a run lets expect. One needs several things at once, each of which was seen often
// enough, or so often that its tail can be drawn on; they are different packets' fates, and so independent:
//
//   gone       R(gone) q u v: the silences that get so long, of which a share q is of hosts whose port does
//   not
//              answer in time; at a share u no acknowledgement had come for long when they were suspected,
//              and at a share v none came since then
//   half open  R(half_open) u v, which is more than there will be: nothing must be acknowledged for seconds
//   frozen     R(frozen)
//
// R(t) are the silences of t and more. Those that lost packets make fall by one factor with each loss more;
// those of launchers that did not run fall exponentially with time. v falls exponentially with the time for
// which acknowledgements are awaited, which is a beat at least. All three are fitted.
#pragma once

#include <string>

#include "tests/sim/silence_record.hpp"
#include "tests/sim/silence_settings.hpp"

namespace charmtree::silence {

/// Of false verdicts.
struct Expectation {
  std::string text;  // how it was got, in several lines
  double in_run = 0;
  double per_day = 0;  // of a million hosts
  double at_most = 0;  // likewise, with two standard errors of each fit more
};

/// A run without silences that are long enough to draw a tail on has no `text`.
Expectation expect(const Settings& settings, const Record& record);

}  // namespace charmtree::silence
