// SPDX-License-Identifier: Apache-2.0
// Pieces are searched where they lie; only the seam between two is copied.
#include "tree/job/program_traits.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace charmtree::wire {

namespace {

struct Text {
  std::string_view text;
  bool ProgramTraits::*trait;
};

constexpr std::array kTexts = {
    Text{"Error parsing NETSTART", &ProgramTraits::netstart},
    Text{"Running in SMP mode", &ProgramTraits::smp},
    Text{"non-SMP mode", &ProgramTraits::non_smp},
    Text{"pxshm must be run", &ProgramTraits::pxshm},
    Text{"restartaftercrash", &ProgramTraits::restarts},
    Text{"+shrinkexpand_basedir", &ProgramTraits::resizes},
    Text{"charm4py", &ProgramTraits::charm4py},
    Text{"before initializing or after finalizing MPICH", &ProgramTraits::mpich},  // linked statically
    Text{"was called before MPI_INIT was invoked", &ProgramTraits::open_mpi},      // Open MPI
};
constexpr std::size_t kSeam =
    std::max_element(kTexts.begin(), kTexts.end(),
                     [](const Text& a, const Text& b) { return a.text.size() < b.text.size(); })
        ->text.size() -
    1;

// memmem, since string_view::find is several times slower on text.
void search(std::string_view bytes, ProgramTraits& found) {
  for (const Text& each : kTexts) {
    if (!(found.*each.trait))
      found.*each.trait = ::memmem(bytes.data(), bytes.size(), each.text.data(), each.text.size()) != nullptr;
  }
}

/// As a word of its own.
bool names(std::string_view line, std::string_view word) {
  const auto joins = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = 0; (at = line.find(word, at)) != line.npos; at += word.size()) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !joins(line[at - 1])) && (end == line.size() || !joins(line[end]))) return true;
  }
  return false;
}

}  // namespace

/// libmpi.so.12 is the ABI that MPICH, Intel MPI, MVAPICH and Cray's share; Open MPI has counted from 20 on
/// since its version 2, from 1 to 12 before.
Mpi mpi_of_library(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kMpich = {"libmpich", "libmpifort.", "libmpicxx.",
                                                             "libmpi.so.12", "libmpi_abi."};
  static constexpr std::array<std::string_view, 4> kOpenMpi = {"libmpi.so.", "libmpi_", "libopen-pal.",
                                                               "libopen-rte."};
  static constexpr std::array<std::string_view, 4> kOthers = {"libmpi.", "libmpif90.", "libpmpi.", "libmpt."};
  const auto is_one = [&](const auto& names) {
    return std::any_of(names.begin(), names.end(), [&](auto known) { return name.starts_with(known); });
  };
  if (is_one(kMpich)) return Mpi::mpich;
  if (is_one(kOpenMpi)) return Mpi::open_mpi;
  return is_one(kOthers) ? Mpi::unknown : Mpi::none;
}

/// Lines that only tell of it, in a comment or a text, do not begin so. Several statements may be on a line.
bool imports_mpi4py(std::string_view script) {
  while (!script.empty()) {
    const std::string_view statement = script.substr(0, script.find_first_of(";\n"));
    script.remove_prefix(std::min(script.size(), statement.size() + 1));
    const std::size_t begin = std::min(statement.find_first_not_of(" \t\"'"), statement.size());
    std::string_view text = statement.substr(begin);
    text = text.substr(0, text.find('#'));
    const bool imports =
        text.starts_with("import ") || text.starts_with("from ") || text.find("import_module(") != text.npos;
    if (imports && names(text, "mpi4py")) return true;
  }
  return false;
}

bool script_spawns(std::string_view script) {
  static constexpr std::array<std::string_view, 5> kTexts = {".Spawn(", ".Spawn_multiple(", "MPIPoolExecutor",
                                                             "MPICommExecutor", "mpi4py.futures"};
  return std::any_of(kTexts.begin(), kTexts.end(),
                     [&](auto text) { return script.find(text) != script.npos; });
}

bool names_spawn(std::string_view names) {
  const auto has = [&](std::string_view name) { return names.find(name) != names.npos; };
  return (has("MPI_Comm_spawn") || has("mpi_comm_spawn")) && !has("MPI_Graph_map");
}

void TraitSearch::feed(std::string_view bytes) {
  if (!tail_.empty()) search(tail_.append(bytes.substr(0, kSeam)), found_);
  search(bytes, found_);
  if (bytes.size() >= kSeam) {
    tail_ = bytes.substr(bytes.size() - kSeam);
  } else {
    if (tail_.empty()) tail_ = bytes;
    if (tail_.size() > kSeam) tail_.erase(0, tail_.size() - kSeam);
  }
}

ProgramTraits& operator|=(ProgramTraits& traits, const ProgramTraits& other) {
  for (const auto member :
       {&ProgramTraits::elf, &ProgramTraits::netstart, &ProgramTraits::smp, &ProgramTraits::non_smp,
        &ProgramTraits::pxshm, &ProgramTraits::restarts, &ProgramTraits::resizes, &ProgramTraits::charm4py,
        &ProgramTraits::mpi, &ProgramTraits::mpich, &ProgramTraits::open_mpi, &ProgramTraits::spawns})
    traits.*member = traits.*member || other.*member;
  return traits;
}

}  // namespace charmtree::wire
