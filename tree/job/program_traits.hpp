// SPDX-License-Identifier: Apache-2.0
// What kind of program a file is, told by texts in it that survive strip: Charm++'s machine layers each print
// some that no other has, and so do MPI libraries. Who reads the file is tree/io/host/program_reader; what
// follows for the job is for charmrun/plan/program_rules to say.
#pragma once

#include <string>
#include <string_view>

#include "tree/wire/mpi_service.hpp"

namespace charmtree::wire {

struct ProgramTraits {
  bool elf = false;       // a compiled program; false: a script, or a file that cannot be read here
  bool netstart = false;  // Charm++ on netlrts or verbs: it speaks to its launcher
  bool smp = false;       // a Charm++ program of an SMP build, on any machine layer
  bool non_smp = false;   // of another build
  bool pxshm = false;     // shares memory between the processes of a host
  bool restarts = false;  // built to survive the crash of processes (syncft)
  bool resizes = false;   // built to shrink and expand
  bool charm4py = false;  // names charm4py, whose Charm++ is loaded only when it runs
  bool mpi = false;       // imports mpi4py
  bool mpich = false;     // contains or needs MPICH's library, or one of its kin
  bool open_mpi = false;  // ... Open MPI's
  bool spawns = false;    // calls MPI_Comm_spawn, as far as its names show

  /// A Charm++ program, by its own text.
  bool charm() const { return netstart || smp || non_smp; }
  /// Its processes find each other by MPI alone.
  Mpi by_mpi() const {
    if (netstart || charm4py) return Mpi::none;
    return mpich && !open_mpi ? Mpi::mpich : open_mpi ? Mpi::open_mpi : mpi ? Mpi::unknown : Mpi::none;
  }
  friend bool operator==(const ProgramTraits&, const ProgramTraits&) = default;
};

/// What any of two is.
ProgramTraits& operator|=(ProgramTraits& traits, const ProgramTraits& other);

/// By the name of a library, without folder.
Mpi mpi_of_library(std::string_view name);

/// The text of a Python script imports mpi4py somewhere.
bool imports_mpi4py(std::string_view script);

/// Returns whether a Python script that imports mpi4py starts others: by Spawn, or by a pool of workers.
bool script_spawns(std::string_view script);

/// Returns whether a program or library with this table of names calls MPI_Comm_spawn. False where the names
/// are those of MPI's C++ bindings, which call all of MPI.
bool names_spawn(std::string_view names);

/// Looks for the texts in a file that comes in pieces.
class TraitSearch {
public:
  /// The next piece of a run of bytes; a text may lie across pieces.
  void feed(std::string_view bytes);
  /// What follows does not join what came before.
  void interrupt() { tail_.clear(); }
  /// What has been found so far; `elf` is not for a search to say.
  const ProgramTraits& found() const { return found_; }

private:
  ProgramTraits found_;
  std::string tail_;  // of the last piece, shorter than the longest text
};

}  // namespace charmtree::wire
