// SPDX-License-Identifier: Apache-2.0
// What follows from the kind of program for its job: whether its processes may have several PEs, whether
// hosts may have different numbers of processes, and which of our options are words for the program, too.
// What cannot be found out is taken from the options. Numbers and texts only; nobody's file is read here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/placement.hpp"
#include "tree/base/result.hpp"
#include "tree/clients/program_kind.hpp"
#include "tree/job/program_traits.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/recovery.hpp"

namespace charmtree {

/// True for `python`, `python3.11`, `/usr/bin/python3`, ...
bool is_python(std::string_view program);

/// Returns true for a launcher of parallel programs, by its name: it gets no service of ours, as it would
/// take itself for a process of the job.
bool is_launcher(std::string_view program);

/// As far as it shows; what it is after all it shows when it speaks.
proto::ProgramKind kind_of(const Options& options, const wire::ProgramTraits& traits);
/// What is done about lost processes of such a program; none if that is refused (ProgramRules::check).
wire::Recovery recovery_of(const Options& options, const wire::ProgramTraits& traits);

/// By what an MPI library finds us; where its processes are is not in it.
wire::MpiService mpi_service(const Options& options, const wire::ProgramTraits& traits);

/// Returns whether hosts without processes belong to the job, for what its processes start later: under the
/// name mpiexec, if the program shows that it starts others or ++allow-spawn says so.
bool keeps_idle_hosts(const Options& options, const wire::ProgramTraits& traits);

class ProgramRules {
public:
  /// `read` gives the traits of the program and is called at most once, and only if something depends on
  /// them: a launch without PEs, uneven shares and ++quiet does not. `mpi` says which MPI
  /// it uses, which costs less to find out. `options` outlives the rules.
  ProgramRules(const Options& options, std::function<wire::ProgramTraits()> read,
               std::function<wire::Mpi()> mpi)
      : options_(options), read_(std::move(read)), mpi_(std::move(mpi)) {}

  /// ++smp or ++no-smp; else what the program's text says; else whether the options ask for several PEs.
  bool is_smp();

  /// Error bad_input (phase options) if a program of another build than SMP would get several PEs in a
  /// process, the processes of a PXSHM build are not equally many on all hosts that have any, or the program
  /// cannot do what ++on-failure or ++hang-action says, or is none for ++syncft, or is an MPI program of
  /// which several processes would each be alone (++singletons: they may).
  Result<void> check(const Placement& placement);

  /// What is put behind the program's own arguments: `++ppn N` for a compiled program that does not speak to
  /// us (Charm++ on MPI, OFI, UCX reads it there), `++quiet` for one that may be Charm++.
  std::vector<std::string> further_arguments();

  const wire::ProgramTraits& traits();

private:
  Result<void> check_mpi(const Placement& placement) const;
  Result<void> check_several();
  Result<void> check_policy();
  Result<void> check_syncft();
  Result<void> check_hang_action();
  Result<void> check_kept();
  Result<void> check_pes();
  Result<void> check_shares(const std::vector<HostShare>& shares);
  bool may_be_charm();

  const Options& options_;
  std::function<wire::ProgramTraits()> read_;
  std::function<wire::Mpi()> mpi_;
  std::optional<wire::ProgramTraits> traits_;
};

}  // namespace charmtree
