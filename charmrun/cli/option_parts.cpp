// SPDX-License-Identifier: Apache-2.0
// Which options mean something with which mode: an option that could only be ignored is refused.
#include <algorithm>
#include <array>
#include <string>

#include "charmrun/cli/option_table.hpp"

namespace charmtree {
namespace {

using Topic = OptionTopic;

/// Those that are not as their topic is.
struct Exception {
  std::string_view name;
  SessionPart part;
};
constexpr std::array kExceptions = {
    Exception{"keep-alive", SessionPart::neither},
    Exception{"numHosts", SessionPart::tree},
    Exception{"scalable-start", SessionPart::run},
    Exception{"spare-hosts", SessionPart::neither},
    Exception{"start-early", SessionPart::neither},
    Exception{"mpiexec", SessionPart::neither},
    Exception{"mpiexec-no-n", SessionPart::neither},
    Exception{"interactive", SessionPart::neither},
    Exception{"restart-args", SessionPart::neither},
    Exception{"max-restarts", SessionPart::neither},
    Exception{"shrink-ok", SessionPart::neither},
    Exception{"fast-failover", SessionPart::neither},
    Exception{"timeout", SessionPart::both},
    Exception{"heartbeat", SessionPart::tree},
    Exception{"detect-within", SessionPart::tree},
    Exception{"orphan-after", SessionPart::tree},
    Exception{"verbose", SessionPart::both},
    Exception{"quiet", SessionPart::both},
    Exception{"help", SessionPart::both},
    Exception{"version", SessionPart::both},
    Exception{"json", SessionPart::neither},
    Exception{"dashboard", SessionPart::neither},
    Exception{"report", SessionPart::tree},
    Exception{"timeline", SessionPart::tree},
};

constexpr std::array<std::string_view, 4> kAlways = {"verbose", "quiet", "help", "version"};
/// Of ++stack-trees alone.
constexpr std::array<std::string_view, 2> kOfStackTrees = {"draw", "all-frames"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const ModeRow* row_of(Mode mode) {
  const auto modes = mode_table();
  const auto row =
      std::find_if(modes.begin(), modes.end(), [&](const ModeRow& each) { return each.mode == mode; });
  return row == modes.end() ? nullptr : &*row;
}

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  const std::size_t at = (' ' + std::string{words} + ' ').find(' ' + std::string{word} + ' ');
  return at != std::string::npos;
}

SessionPart session_part(const OptionRow& row) {
  const auto exception = std::find_if(kExceptions.begin(), kExceptions.end(),
                                      [&](const Exception& each) { return each.name == row.name; });
  if (exception != kExceptions.end()) return exception->part;
  switch (row.topic) {
    case Topic::hosts:
    case Topic::launch:
      return SessionPart::tree;
    case Topic::counts:
    case Topic::program:
    case Topic::time:
    case Topic::talk:
      return SessionPart::run;
    case Topic::ccs:
    case Topic::debug:
    case Topic::resize:
      break;
  }
  return SessionPart::neither;
}

bool is_about_running_jobs(Mode mode) {
  const ModeRow* row = row_of(mode);
  return row != nullptr && row->of_running;
}

/// ++plan and ++doctor stand in front of the command of a job, whatever its options are; but what ++plan says
/// is for people alone.
bool has_meaning(const OptionRow& row, Mode mode) {
  if (is_among(kAlways, row.name)) return true;
  if (const ModeRow* of = row_of(mode); of != nullptr && of->of_running)
    return has_word(*of->of_running, row.name);
  if (is_among(kOfStackTrees, row.name)) return false;
  if (mode == Mode::ccs) return row.topic == Topic::ccs;
  return mode != Mode::plan || row.name != "json";
}

std::string_view name(Mode mode) {
  const ModeRow* row = row_of(mode);
  return row == nullptr ? "run" : row->name;
}

}  // namespace charmtree
