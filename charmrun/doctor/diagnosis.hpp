// SPDX-License-Identifier: Apache-2.0
// What ++doctor says: one line for each finding, equal ones of many hosts folded into one, with what puts it
// right; and for each thing that was checked one line on the hosts where it is well. Pure text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "charmrun/doctor/checkup_record.hpp"

namespace charmtree {

/// From the login to the launcher's answer; what is above it (and above what the other hosts need) is worth a
/// look at the shell's start-up files.
inline constexpr Duration kSlowShell = 100ms;
/// Clocks that differ more are worth a warning.
inline constexpr std::int64_t kClockToleranceMs = 1000;
/// Open files that programs expect to be allowed.
inline constexpr std::uint64_t kUsualOpenFiles = 1024;

/// `error`: a launch would fail of it. `warning`: it would work, but not well.
enum class Severity : std::uint8_t { good, warning, error };
/// What a line begins with: "ok", "warning", "error".
std::string_view name(Severity severity);

struct DiagnosisLine {
  Severity severity = Severity::good;
  std::string text;
  std::vector<std::string> hosts = {};  // those of a finding
  std::string fix = {};                 // what puts it right; it is in the text as well
};

struct Diagnosis {
  std::vector<DiagnosisLine> lines;  // in the order in which a launch would come to the things
  bool would_work = true;
  std::size_t hosts = 0;
};

Diagnosis diagnose(const CheckupRecord& record);

/// A line for each; `quiet`: without the good news.
std::string diagnosis_text(const Diagnosis& diagnosis, bool quiet);
/// One object (docs/manual/status.md), with a newline.
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace charmtree
