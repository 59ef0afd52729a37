// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/program_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tree/clients/recoveries.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

constexpr std::string_view kOverrule = "if it is an SMP build after all, say ++smp";

}  // namespace

bool is_python(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

bool is_launcher(std::string_view program) {
  constexpr std::array<std::string_view, 9> kLaunchers = {"mpirun", "mpiexec", "orterun", "prterun", "prun",
                                                          "srun",   "jsrun",   "aprun",   "charmrun"};
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  const std::string_view stem = name.substr(0, name.find('.'));          // mpirun.openmpi, mpiexec.hydra
  return std::find(kLaunchers.begin(), kLaunchers.end(), stem) != kLaunchers.end();
}

proto::ProgramKind kind_of(const Options& options, const wire::ProgramTraits& traits) {
  using proto::ProgramKind;
  if (traits.resizes) return ProgramKind::charm_resizing;
  if (options.recovery.syncft.value_or(traits.restarts)) return ProgramKind::charm_restarting;
  if (traits.charm() || traits.charm4py) return ProgramKind::charm;
  return traits.by_mpi() != wire::Mpi::none ? ProgramKind::mpi : ProgramKind::plain;
}

namespace {

/// Arguments for a restart are those of a program that is started again as a whole.
proto::Policy policy_of(const Options& options) {
  using proto::Policy;
  if (options.recovery.on_failure == wire::OnFailure::abort) return Policy::abort;
  if (options.recovery.on_failure == wire::OnFailure::go_on) return Policy::go_on;
  const bool runs = options.mode == Mode::run && !options.recovery.restart_arguments;
  return runs ? Policy::restart : Policy::restart_whole;
}

}  // namespace

wire::Recovery recovery_of(const Options& options, const wire::ProgramTraits& traits) {
  return proto::ruling(kind_of(options, traits), policy_of(options)).recovery.value_or(wire::Recovery::none);
}

namespace {

/// Charm++'s own programs find each other by us already, and inherit nothing. A program whose MPI does not
/// show finds both services: PMI costs a socket, PMIx nothing until a process connects.
wire::MpiService chosen_service(const Options& options, const wire::ProgramTraits& traits) {
  using Service = wire::MpiService;
  using Pmix = Service::Pmix;
  const Options::Process& wish = options.process;
  if (wish.pmi == Pmi::pmi1) return {Service::Pmi::one, Pmix::none};
  if (wish.pmi == Pmi::pmi2) return {Service::Pmi::two, Pmix::none};
  if (wish.pmi == Pmi::port) return {Service::Pmi::port, Pmix::none};
  if (wish.pmi == Pmi::pmix) return {Service::Pmi::none, Pmix::needed};
  if (wish.pmi == Pmi::none || wish.singletons || traits.netstart || traits.charm4py ||
      is_launcher(options.program))
    return {Service::Pmi::none, Pmix::none};
  switch (traits.by_mpi()) {
    case wire::Mpi::open_mpi:
      return {Service::Pmi::none, Pmix::needed};
    case wire::Mpi::mpich:
      return {Service::Pmi::one, Pmix::none};
    default:
      return {Service::Pmi::one, Pmix::offered};
  }
}

/// Returns the error of +ppn: a netlrts process takes the number of its PEs from charmrun, which does not
/// read the words of the program.
Error one_plus(const std::string& count) {
  return bad_input(fmt::format("+ppn {} has no effect in this build of Charm++", quotable(count)),
                   fmt::format("++ppn {} gives each process so many PEs", quotable(count)));
}

}  // namespace

wire::MpiService mpi_service(const Options& options, const wire::ProgramTraits& traits) {
  wire::MpiService service = chosen_service(options, traits);
  service.most_value = options.process.pmi_value;
  service.library = traits.by_mpi();
  service.universe = options.process.universe;
  service.may_spawn = service.is_any() && (options.process.allow_spawn || options.is_mpiexec ||
                                           service.library != wire::Mpi::none);
  return service;
}

bool keeps_idle_hosts(const Options& options, const wire::ProgramTraits& traits) {
  const bool shows = options.process.allow_spawn || traits.spawns;
  return options.is_mpiexec && shows && mpi_service(options, traits).may_spawn;
}

const wire::ProgramTraits& ProgramRules::traits() {
  if (!traits_) traits_ = read_();
  return *traits_;
}

bool ProgramRules::is_smp() {
  if (options_.counts.smp) return *options_.counts.smp;
  if (traits().smp || traits().non_smp) return traits().smp;
  return options_.counts.pes_per_process > 1 || options_.placement.is_by_workers();
}

Result<void> ProgramRules::check(const Placement& placement) {
  const Command& words = options_.arguments;
  const auto plus = std::find(words.begin(), words.end(), "+ppn");
  if (plus != words.end() && options_.counts.pes_per_process == 0 && traits().netstart && is_smp())
    return one_plus(plus + 1 == words.end() ? "N" : *(plus + 1));
  if (auto mpi = check_mpi(placement); !mpi) return mpi;
  if (auto several = check_several(); !several) return several;
  if (auto build = check_syncft(); !build) return build;
  if (auto policy = check_policy(); !policy) return policy;
  if (auto action = check_hang_action(); !action) return action;
  if (auto kept = check_kept(); !kept) return kept;
  if (placement.counts.pes_per_process > 1 || options_.placement.is_by_workers()) {
    if (auto pes = check_pes(); !pes) return pes;
  }
  return check_shares(placement.hosts);
}

/// Where nobody answers what MPI_Init asks its launcher, each process takes itself for the only one.
Result<void> ProgramRules::check_mpi(const Placement& placement) const {
  const bool alone = placement.counts.processes == 1 && !placement.provision.by_topology();
  if (alone || options_.process.singletons || options_.process.pmi != Pmi::none) return {};
  if (mpi_() == wire::Mpi::none) return {};
  return bad_input(
      fmt::format("{} is an MPI program, and ++pmi none serves none: each process would be alone, "
                  "a job of size 1",
                  options_.program),
      "leave that out; ++singletons starts it so all the same");
}

/// They find each other by one library, and a job whose programs change its size has one.
Result<void> ProgramRules::check_several() {
  if (options_.further.empty()) return {};
  if (traits().resizes)
    return bad_input("a shrink/expand build of Charm++ cannot be one of several programs", "start it alone");
  if (traits().mpich && traits().open_mpi)
    return bad_input("one of the programs uses MPICH or its kin, and another one Open MPI",
                     "build them all with one MPI");
  return {};
}

Result<void> ProgramRules::check_policy() {
  if (options_.recovery.on_failure == wire::OnFailure::abort) return {};
  const proto::Ruling& ruling = proto::ruling(kind_of(options_, traits()), policy_of(options_));
  if (ruling.recovery) return {};
  return bad_input(fmt::format("{}: {}", options_.program, ruling.why_not), std::string{ruling.fix});
}

/// `crashnode`, or a second table, would end another one at the first loss of a process.
Result<void> ProgramRules::check_syncft() {
  if (!options_.recovery.syncft.value_or(false)) return {};
  const wire::ProgramTraits& found = traits();
  const bool is_other = found.elf && !is_python(options_.program) && !found.restarts;
  if (!is_other && !found.resizes) return {};
  return bad_input(
      fmt::format("{}: nothing in it says that it is a fault-tolerant build of Charm++ (++syncft)",
                  options_.program),
      "leave it out; a script may start one");
}

/// A script may start a Charm++ program, and shows what it is when it speaks.
Result<void> ProgramRules::check_hang_action() {
  if (options_.time.hang_action != HangAction::kill) return {};
  const bool may_speak = traits().charm() ? traits().netstart : may_be_charm();
  if (may_speak) return {};
  return bad_input(fmt::format("{}: {}", options_.program, proto::kSaysNothing), "leave it out");
}

/// What such a build does when one of its processes is lost, its root alone knows.
Result<void> ProgramRules::check_kept() {
  if (!options_.time.keep_alive) return {};
  const proto::ProgramKind kind = kind_of(options_, traits());
  if (abilities(kind).may_be_kept) return {};
  return bad_input(
      fmt::format("{}: ++keep-alive cannot be with a {} build of Charm++", options_.program, name(kind)),
      "leave it out");
}

Result<void> ProgramRules::check_pes() {
  if (is_smp()) return {};
  const std::string reason = options_.counts.smp ? "++no-smp says that it is none"
                             : traits().non_smp
                                 ? fmt::format("{} says that it is none", options_.program)
                                 : fmt::format("nothing in {} says that it is one", options_.program);
  if (options_.counts.pes_per_process > 1)
    return bad_input(fmt::format("++ppn {} needs an SMP build of Charm++, and {}",
                                 options_.counts.pes_per_process, reason),
                     fmt::format("give the number of processes by +p or ++n alone; {}", kOverrule));
  if (options_.placement.is_by_workers())
    return bad_input(fmt::format("++oneWthPer* needs an SMP build of Charm++, and {}", reason),
                     fmt::format("leave it out; {}", kOverrule));
  return bad_input(
      fmt::format("+p{} and ++n {} do not agree: each process has one PE, but in an SMP build of "
                  "Charm++, and {}",
                  options_.counts.pes, options_.counts.processes, reason),
      fmt::format("leave one of them out; {}", kOverrule));
}

/// Such a process takes its number modulo the count of its own host for its place there.
Result<void> ProgramRules::check_shares(const std::vector<HostShare>& shares) {
  std::uint32_t most = 0, least = UINT32_MAX;
  for (const HostShare& share : shares) {
    if (share.processes == 0) continue;
    most = std::max(most, share.processes);
    least = std::min(least, share.processes);
  }
  const bool may_change = options_.host_failure.policy == wire::OnHostFailure::drop && shares.size() > 1;
  if ((most <= least && !may_change) || !traits().pxshm) return {};
  if (most <= least)
    return bad_input(fmt::format("{} is a PXSHM build, which needs equally many processes on every host: "
                                 "++on-host-failure drop could change that",
                                 options_.program),
                     "use ++on-host-failure spare");
  return bad_input(
      fmt::format("{} is a PXSHM build, which needs equally many processes on every host: here it is {} "
                  "to {}",
                  options_.program, least, most),
      fmt::format("start {} times as many processes as there are hosts, or choose by ++numHosts", most));
}

/// A wrapper may pass its words on to a Charm++ program. Python loads its Charm++ at run time, and only
/// charm4py takes the words away again.
bool ProgramRules::may_be_charm() {
  const wire::ProgramTraits& found = traits();
  const auto& words = options_.arguments;
  if (found.charm() || found.charm4py) return true;
  if (std::any_of(words.begin(), words.end(),
                  [](const std::string& word) { return word.starts_with("charm4py"); }))
    return true;
  return !found.elf && !is_python(options_.program) && !options_.program.ends_with(".py");
}

std::vector<std::string> ProgramRules::further_arguments() {
  std::vector<std::string> words;
  if (options_.program.empty()) return words;
  if (options_.counts.pes_per_process > 0 && traits().elf && !traits().netstart &&
      !is_python(options_.program)) {
    words.emplace_back("++ppn");
    words.push_back(std::to_string(options_.counts.pes_per_process));
  }
  if (options_.view.quiet && may_be_charm()) words.emplace_back("++quiet");
  return words;
}

}  // namespace charmtree
