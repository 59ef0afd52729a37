// SPDX-License-Identifier: Apache-2.0
// What is done when processes or hosts of a job are lost: the one table of which ways there are, by the kind
// of program and by what the user wants. What refuses a combination, and the table in
// docs/manual/failures.md, are made from it. That a program can be resized, or that its tree is kept alive,
// changes nothing of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/clients/program_kind.hpp"
#include "tree/wire/recovery.hpp"

namespace charmtree::proto {

/// What the user wants.
enum class Policy : std::uint8_t {
  abort,
  go_on,
  restart,        // single processes where that can be done
  restart_whole,  // never: with ++restart-args
};
inline constexpr std::size_t kPolicyCount = 4;
std::string_view name(Policy policy);

/// What it comes to with a program of that kind.
struct Ruling {
  std::optional<wire::Recovery> recovery;  // nothing: it is refused
  std::string_view why_not = {}, fix = {};
};

namespace rulings {

using wire::Recovery;
inline constexpr Ruling kEnds{Recovery::none}, kGoesOn{Recovery::go_on}, kWhole{Recovery::whole},
    kInPlace{Recovery::in_place}, kByProgram{Recovery::by_program},
    kByProgramOrWhole{Recovery::by_program_or_whole};
inline constexpr Ruling kCannotGoOn{
    {},
    "a Charm++ program cannot go on without a lost process (++on-failure continue)",
    "leave it out; fault-tolerant builds restart lost processes by themselves"};
inline constexpr Ruling kCannotRestart{
    {}, "a shrink/expand build cannot be restarted by us (++on-failure restart)", "leave it out"};

}  // namespace rulings

/// By ProgramKind, then by Policy.
// clang-format off
inline constexpr std::array<std::array<Ruling, kPolicyCount>, kProgramKinds> kRecoveries = {{
    // abort               continue              restart                     ++restart-args
    {{rulings::kEnds,      rulings::kGoesOn,     rulings::kInPlace,          rulings::kWhole}},          // plain
    {{rulings::kEnds,      rulings::kGoesOn,     rulings::kWhole,            rulings::kWhole}},          // mpi
    {{rulings::kEnds,      rulings::kGoesOn,     rulings::kInPlace,          rulings::kWhole}},          // native
    {{rulings::kEnds,      rulings::kCannotGoOn, rulings::kWhole,            rulings::kWhole}},          // charm
    {{rulings::kByProgram, rulings::kByProgram,  rulings::kByProgramOrWhole, rulings::kWhole}},          // charm_restarting
    {{rulings::kEnds,      rulings::kCannotGoOn, rulings::kCannotRestart,    rulings::kCannotRestart}},  // charm_resizing
}};
// clang-format on

constexpr const Ruling& ruling(ProgramKind kind, Policy policy) {
  return kRecoveries.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(policy));
}

/// Why a program that turns out to be of that kind cannot be in a job whose recovery has been settled; empty:
/// it can.
constexpr std::string_view why_not(ProgramKind kind, wire::Recovery recovery) {
  return recovery == wire::Recovery::go_on ? ruling(kind, Policy::go_on).why_not : std::string_view{};
}

/// The table as users read it, in lines of Markdown.
std::vector<std::string> recovery_table();

}  // namespace charmtree::proto
