// SPDX-License-Identifier: Apache-2.0
// What can be set about a world in which launchers watch each other: NAME=VALUE, a number each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "health/detector.hpp"
#include "tree/base/result.hpp"

namespace charmtree::silence {

/// Times in milliseconds but where it says seconds.
struct Settings {
  double hosts = 1000, time = 60;  // simulated seconds
  double branching = 0;            // of the tree; 0: the one that a launch would make (trees.hpp)
  double beat = 250,
         gone = 1000;  // health::Timing; 0.625 to 0.7 of `gone` are silence, the rest is for finding out
  double half_open = 8000, frozen = 30'000;
  // The network.
  double loss = 0.01;                // of packets, each by itself
  double rto = 200, syn_rto = 1000;  // until they are sent again, doubling
  double link = 0.25;                // one way at least; at most four times that
  double delayed_ack = 40;           // until bytes that came in order are acknowledged
  // Launchers that do not run for a while: every so many seconds each, for so long; exponential means.
  double starve = 120, starved = 300;
  // What really befalls hosts, so many of them.
  double die = 0;       // unplugged: nobody is told
  double freeze = 0;    // their launchers stop for good
  double cut = 0;       // links on which nothing arrives any more
  double repair = 500;  // until who has lost its parent has another
  // The observer.
  double within = 2000;  // dead hosts are noticed within
  double per_day = 0;    // at most so many false verdicts a day of a million hosts; 0: is not checked
  double counts = 0;     // false verdicts are counted, and no offences
  double walled = 0;     // nobody's port answers
  double blind = 0;      // sabotage: nothing is found out about who is silent
  double log = 0;        // prints verdicts
};

/// Error if a name or a value makes no sense.
Result<Settings> settings_of(const std::vector<std::string>& words);
health::Timing timing_of(const Settings& settings);
/// Names and defaults, for people.
std::string describe(const Settings& settings);

}  // namespace charmtree::silence
