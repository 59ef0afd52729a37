// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/recoveries.hpp"

#include <fmt/format.h>

namespace charmtree::proto {

std::string_view name(ProgramKind kind) {
  static constexpr std::array<std::string_view, kProgramKinds> kNames = {
      "plain", "MPI", "client library", "Charm++, AMPI, charm4py", "fault-tolerant", "shrink/expand"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name(Policy policy) {
  static constexpr std::array<std::string_view, kPolicyCount> kNames = {"abort", "continue", "restart",
                                                                        "restart, ++restart-args"};
  return kNames.at(static_cast<std::size_t>(policy));
}

namespace {

std::string_view words(const Ruling& ruling) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "ends", "goes on", "all again", "one by one", "by the program", "by the program, else all again"};
  return ruling.recovery ? kWords.at(static_cast<std::size_t>(*ruling.recovery)) : "refused";
}

}  // namespace

std::vector<std::string> recovery_table() {
  std::vector<std::string> lines{"| program |", "|---|"};
  for (std::size_t policy = 0; policy < kPolicyCount; ++policy) {
    lines[0] += fmt::format(" `{}` |", name(static_cast<Policy>(policy)));
    lines[1] += "---|";
  }
  for (std::size_t kind = 0; kind < kProgramKinds; ++kind) {
    std::string& line = lines.emplace_back(fmt::format("| {} |", name(static_cast<ProgramKind>(kind))));
    for (const Ruling& each : kRecoveries.at(kind)) line += fmt::format(" {} |", words(each));
  }
  return lines;
}

}  // namespace charmtree::proto
