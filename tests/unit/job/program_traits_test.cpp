// SPDX-License-Identifier: Apache-2.0
#include "tree/job/program_traits.hpp"

#include <catch2/catch.hpp>

namespace charmtree::program_traits_test {

using namespace charmtree::wire;

namespace {

ProgramTraits traits_of(std::string_view text, std::size_t piece) {
  TraitSearch search;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) search.feed(text.substr(0, piece));
  return search.found();
}

}  // namespace

TEST_CASE("each text is found, alone and however the file is cut up") {
  const std::string noise(200, 'E');
  const std::vector<std::pair<std::string, bool ProgramTraits::*>> texts = {
      {"Error parsing NETSTART '%s'\n", &ProgramTraits::netstart},
      {"Charm++> Running in SMP mode: %d processes", &ProgramTraits::smp},
      {"Charm++> Running in non-SMP mode: %d processes (PEs)\n", &ProgramTraits::non_smp},
      {"pxshm must be run with charmrun", &ProgramTraits::pxshm},
      {"+restartaftercrash", &ProgramTraits::restarts},
      {"+shrinkexpand_basedir", &ProgramTraits::resizes},
      {"from charm4py import charm", &ProgramTraits::charm4py},
      {"Attempting to use an MPI routine (%s) before initializing or after finalizing MPICH",
       &ProgramTraits::mpich},
      {"*** The %s() function was called before MPI_INIT was invoked.", &ProgramTraits::open_mpi}};
  for (const auto& [text, trait] : texts) {
    ProgramTraits expected;
    expected.*trait = true;
    for (const std::size_t piece : {1U, 2U, 7U, 20U, 21U, 22U, 23U, 64U, 10'000U}) {
      INFO(text << ", " << piece);
      CHECK(traits_of(noise + text + '\0' + noise, piece) == expected);
      CHECK(traits_of(text, piece) == expected);
    }
  }
}

TEST_CASE("other texts, halves of texts and texts that do not join are nothing") {
  CHECK(traits_of("Running in SMP  mode, NETSTART, pxshm must run", 5) == ProgramTraits{});
  TraitSearch search;
  search.feed("Error parsing ");
  search.interrupt();
  search.feed("NETSTART");
  CHECK(search.found() == ProgramTraits{});
  search.feed("");
  search.feed("Error parsing ");
  search.feed("");
  search.feed("NETSTART");
  CHECK(search.found().netstart);
}

TEST_CASE("a program is Charm++ by any of its machine layers, charm4py only once it runs") {
  CHECK_FALSE(ProgramTraits{}.charm());
  CHECK(traits_of("Error parsing NETSTART", 99).charm());
  CHECK(traits_of("non-SMP mode", 99).charm());
  CHECK(traits_of("Running in SMP mode", 99).charm());
  CHECK_FALSE(traits_of("import charm4py", 99).charm());
}

TEST_CASE("MPI's libraries are known by their names") {
  for (const char* name :
       {"libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpifort.so.12", "libmpicxx.so.12"})
    CHECK(mpi_of_library(name) == Mpi::mpich);
  for (const char* name : {"libmpi.so.40", "libmpi.so.1", "libmpi_mpifh.so.40", "libopen-pal.so.40"})
    CHECK(mpi_of_library(name) == Mpi::open_mpi);
  CHECK(mpi_of_library("libmpt.so") == Mpi::unknown);
  for (const char* name :
       {"libmpir.so.23", "libmpfr.so.6", "libmpc.so.3", "libampi.so", "libm.so.6", "libmp3lame.so"})
    CHECK(mpi_of_library(name) == Mpi::none);
}

TEST_CASE("a script imports mpi4py by a statement, not by a word") {
  for (const char* text :
       {"from mpi4py import MPI", "import mpi4py", "import numpy, mpi4py.MPI as m\n",
        "MPI = importlib.import_module('mpi4py.MPI')",
        "try:\n    from mpi4py import MPI\nexcept ImportError: pass", "x = 1; import mpi4py"})
    CHECK(imports_mpi4py(text));
  for (const char* text : {"", "# import mpi4py", "import os  # not mpi4py", "print('mpi4py')",
                           "import mpi4py_fft", "important = mpi4py", "from a.mpi4pyx import b"})
    CHECK_FALSE(imports_mpi4py(text));
}

TEST_CASE("a program starts others if it calls MPI_Comm_spawn itself, and a script if it names it") {
  using namespace std::string_view_literals;
  for (const auto names : {"\0MPI_Init\0MPI_Comm_spawn\0"sv, "\0MPI_Comm_spawn_multiple\0"sv,
                           "\0mpi_comm_spawn_\0mpi_init_\0"sv, "\0PMPI_Comm_spawn\0"sv})
    CHECK(names_spawn(names));
  for (const auto names : {""sv, "\0MPI_Init\0MPI_Comm_split\0"sv,
                           "\0MPI_Comm_spawn\0MPI_Graph_map\0"sv})  // by MPI's C++ bindings
    CHECK_FALSE(names_spawn(names));
  for (const char* text : {"MPI.COMM_SELF.Spawn('w', maxprocs=2)", "MPI.COMM_WORLD.Spawn_multiple(all)",
                           "from mpi4py.futures import wait", "with MPIPoolExecutor() as pool:"})
    CHECK(script_spawns(text));
  for (const char* text : {"", "from mpi4py import MPI", "from concurrent import futures", "Spawn"})
    CHECK_FALSE(script_spawns(text));
  ProgramTraits traits;
  traits |= ProgramTraits{.spawns = true};
  CHECK(traits.spawns);
}

TEST_CASE("a program that finds its processes by another protocol is not by MPI") {
  ProgramTraits traits{.mpi = true};
  CHECK(traits.by_mpi() == Mpi::unknown);
  traits.mpich = true;
  CHECK(traits.by_mpi() == Mpi::mpich);
  traits.smp = true;  // Charm++ on MPI
  CHECK(traits.by_mpi() == Mpi::mpich);
  traits.open_mpi = true;  // a library of each: PMI-1 alone is not enough
  CHECK(traits.by_mpi() == Mpi::open_mpi);
  traits.netstart = true;
  CHECK(traits.by_mpi() == Mpi::none);
  CHECK(ProgramTraits{.charm4py = true, .mpi = true}.by_mpi() == Mpi::none);
}

}  // namespace charmtree::program_traits_test
