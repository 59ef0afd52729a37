// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/program_rules.hpp"

#include <catch2/catch.hpp>

namespace charmtree::program_rules_test {

using Words = std::vector<std::string>;

namespace {

enum class Kind {
  plain,
  mpi,
  mpich,
  mpi4py,
  netlrts,
  netlrts_smp,
  pxshm,
  mpi_smp,
  syncft,
  script,
  charm4py_script
};

wire::ProgramTraits traits_of(Kind kind) {
  wire::ProgramTraits traits;
  traits.elf = kind != Kind::script && kind != Kind::charm4py_script;
  traits.restarts = kind == Kind::syncft;
  traits.non_smp = kind == Kind::netlrts || kind == Kind::pxshm || kind == Kind::syncft;
  traits.netstart = traits.non_smp || kind == Kind::netlrts_smp;
  traits.smp = kind == Kind::netlrts_smp || kind == Kind::mpi_smp;
  traits.pxshm = kind == Kind::pxshm;
  traits.charm4py = kind == Kind::charm4py_script;
  traits.open_mpi = kind == Kind::mpi;
  traits.mpich = kind == Kind::mpich;
  traits.mpi = kind == Kind::mpi4py;
  return traits;
}

/// A job of one program, and how often that was looked into.
struct Fixture {
  Options options;
  int reads = 0;
  ProgramRules rules;

  explicit Fixture(Kind kind, std::string program = "./app")
      : rules(
            options,
            [this, kind] {
              ++reads;
              return traits_of(kind);
            },
            [kind] { return traits_of(kind).by_mpi(); }) {
    options.program = std::move(program);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  /// Empty: all is well.
  std::string complaint(std::vector<std::uint32_t> slots = {1}) {
    auto placement = place(options, slots);
    REQUIRE(placement.ok());
    const auto checked = rules.check(*placement);
    return checked ? std::string{} : to_string(checked.error());
  }
};

}  // namespace

TEST_CASE("several programs use one MPI, and none of them changes their number") {
  wire::ProgramTraits all = traits_of(Kind::mpich);
  CHECK((all |= traits_of(Kind::mpich)) == traits_of(Kind::mpich));
  all |= traits_of(Kind::mpi);
  CHECK((all.mpich && all.open_mpi && all.elf && !all.netstart));
}

TEST_CASE("a launch that depends on nothing reads no file") {
  Fixture fixture{Kind::netlrts};
  fixture.options.counts.pes = 6;
  CHECK(fixture.complaint({1, 1, 1}).empty());
  CHECK(fixture.rules.further_arguments().empty());
  CHECK(fixture.reads == 0);
  fixture.options.counts.pes = 7;
  fixture.options.view.quiet = true;
  CHECK(fixture.complaint({1, 1, 1}).empty());
  CHECK(fixture.rules.further_arguments() == Words{"++quiet"});
  CHECK(fixture.reads == 1);
}

TEST_CASE("+ppn, which only the program reads, is refused where charmrun must know the number") {
  Fixture smp{Kind::netlrts_smp};
  smp.options.counts.pes = 8;
  smp.options.arguments = {"x", "+ppn", "4"};
  CHECK(smp.complaint() ==
        "options: +ppn 4 has no effect in this build of Charm++; ++ppn 4 gives each process so many PEs");
  smp.options.counts.pes_per_process = 4;
  CHECK(smp.complaint().empty());
  for (const Kind kind : {Kind::netlrts, Kind::mpi_smp, Kind::plain}) {
    Fixture other{kind};
    other.options.counts.pes = 8;
    other.options.arguments = {"+ppn", "4"};
    CHECK(other.complaint().empty());
  }
}

TEST_CASE("an MPI program is refused where it would be several jobs of size 1, unless the user wants that") {
  for (const Kind kind : {Kind::mpi, Kind::mpich, Kind::mpi4py}) {
    Fixture fixture{kind};
    fixture.options.counts.pes = 4;
    CHECK(fixture.complaint({1, 1}).empty());
    fixture.options.process.pmi = Pmi::none;
    CHECK(
        fixture.complaint({1, 1}) ==
        "options: ./app is an MPI program, and ++pmi none serves none: each process would be alone, a job of "
        "size 1; leave that out; ++singletons starts it so all the same");
    fixture.options.process.singletons = true;
    CHECK(fixture.complaint({1, 1}).empty());
  }
  Fixture alone{Kind::mpi};
  alone.options.counts.pes = 1;
  alone.options.process.pmi = Pmi::none;
  CHECK(alone.complaint().empty());
  Fixture by_cores{Kind::mpi};
  by_cores.options.process.pmi = Pmi::none;
  by_cores.options.placement.processes_per_core = 1;
  Placement counted;
  counted.counts.processes = 1;  // as far as is known before the hosts have told
  counted.provision.process_unit = CpuUnit::core;
  CHECK_FALSE(by_cores.rules.check(counted).ok());
}

TEST_CASE("PMI and PMIx are on offer to a program whose library does not show, else the one that it speaks") {
  using Pmix = wire::MpiService::Pmix;
  Options options;
  using Service = wire::MpiService;
  const Service pmi{Service::Pmi::one, Pmix::none}, pmix{Service::Pmi::none, Pmix::needed},
      both{Service::Pmi::one, Pmix::offered}, none{Service::Pmi::none, Pmix::none},
      second{Service::Pmi::two, Pmix::none}, port{Service::Pmi::port, Pmix::none};
  const auto offer = [&](Kind kind) {
    Service service = mpi_service(options, traits_of(kind));
    CHECK(service.asks_topology() == (kind == Kind::mpich && service.pmi != Service::Pmi::none));
    CHECK(std::exchange(service.library, wire::Mpi::none) == traits_of(kind).by_mpi());
    service.may_spawn = false;
    return service;
  };
  CHECK(offer(Kind::mpich) == pmi);
  for (const Kind kind : {Kind::netlrts, Kind::charm4py_script}) CHECK(offer(kind) == none);
  CHECK(offer(Kind::mpi) == pmix);
  for (const Kind kind : {Kind::plain, Kind::script, Kind::mpi4py}) CHECK(offer(kind) == both);
  for (const char* launcher : {"mpirun", "/usr/bin/mpiexec.hydra", "prterun", "./charmrun"}) {
    options.program = launcher;
    CHECK(offer(Kind::plain) == none);
  }
  options.program = "./mpirun_wrapper.sh";
  CHECK(offer(Kind::script) == both);
  options.process.pmi = Pmi::pmi1;
  for (const Kind kind : {Kind::netlrts, Kind::mpi}) CHECK(offer(kind) == pmi);
  options.process.pmi = Pmi::pmi2;
  for (const Kind kind : {Kind::mpich, Kind::mpi}) CHECK(offer(kind) == second);
  options.process.pmi = Pmi::pmix;
  CHECK(offer(Kind::mpich) == pmix);
  options.process.pmi = Pmi::port;
  CHECK(offer(Kind::mpi) == port);
  options.process.pmi = Pmi::none;
  CHECK(offer(Kind::mpich) == none);
  options.process.pmi = Pmi::automatic;
  options.process.singletons = true;
  for (const Kind kind : {Kind::mpich, Kind::mpi}) CHECK(offer(kind) == none);
}

TEST_CASE("processes may start others where MPI shows, under the name mpiexec, and by ++allow-spawn") {
  Options options;
  const auto may_spawn = [&](Kind kind) { return mpi_service(options, traits_of(kind)).may_spawn; };
  for (const Kind kind : {Kind::mpi, Kind::mpich, Kind::mpi4py}) CHECK(may_spawn(kind));
  const auto hidden = {Kind::plain, Kind::script};
  for (const Kind kind : {Kind::plain, Kind::script, Kind::netlrts, Kind::charm4py_script})
    CHECK_FALSE(may_spawn(kind));
  for (const Pmi pmi : {Pmi::pmi1, Pmi::pmi2, Pmi::port, Pmi::pmix}) {
    options.process.pmi = pmi;
    for (const Kind kind : hidden) CHECK_FALSE(may_spawn(kind));
  }
  options.process.pmi = Pmi::automatic;
  options.is_mpiexec = true;
  for (const Kind kind : hidden) CHECK(may_spawn(kind));
  CHECK_FALSE(may_spawn(Kind::netlrts));
  options.is_mpiexec = false;
  options.process.allow_spawn = true;
  for (const Kind kind : hidden) CHECK(may_spawn(kind));
  options.process.pmi = Pmi::none;
  for (const Kind kind : {Kind::plain, Kind::mpich}) CHECK_FALSE(may_spawn(kind));
}

TEST_CASE("idle hosts belong to a job of mpiexec whose program shows that it starts others") {
  Options options;
  options.is_mpiexec = true;
  wire::ProgramTraits traits = traits_of(Kind::mpich);
  CHECK_FALSE(keeps_idle_hosts(options, traits));
  traits.spawns = true;
  CHECK(keeps_idle_hosts(options, traits));
  options.process.pmi = Pmi::none;
  CHECK_FALSE(keeps_idle_hosts(options, traits));
  options.process.pmi = Pmi::automatic;
  options.process.allow_spawn = true;
  CHECK(keeps_idle_hosts(options, traits_of(Kind::script)));
  options.is_mpiexec = false;
  CHECK_FALSE(keeps_idle_hosts(options, traits));
}

TEST_CASE("several PEs in a process are for SMP builds") {
  Fixture fixture{Kind::netlrts};
  fixture.options.counts.processes = 2;
  fixture.options.counts.pes_per_process = 4;
  CHECK(fixture.complaint() ==
        "options: ++ppn 4 needs an SMP build of Charm++, and ./app says that it is none; give the number of "
        "processes by +p or ++n alone; if it is an SMP build after all, say ++smp");
  fixture.options.counts.smp = true;
  CHECK(fixture.complaint().empty());
  Fixture smp{Kind::netlrts_smp};
  smp.options.counts.processes = 2;
  smp.options.counts.pes_per_process = 4;
  CHECK(smp.complaint().empty());
  smp.options.counts.smp = false;
  CHECK(smp.complaint().find("++no-smp says that it is none") != std::string::npos);
}

TEST_CASE("+p and ++n agree, but for SMP builds") {
  Fixture fixture{Kind::netlrts};
  fixture.options.counts.pes = 8;
  fixture.options.counts.processes = 2;
  CHECK(fixture.complaint().starts_with("options: +p8 and ++n 2 do not agree: each process has one PE"));
  fixture.options.counts.processes = 8;
  CHECK(fixture.complaint().empty());
  Fixture smp{Kind::netlrts_smp};
  smp.options.counts.pes = 8;
  smp.options.counts.processes = 2;
  CHECK(smp.complaint().empty());
}

TEST_CASE("where nothing is found the options say whether it is SMP") {
  Fixture python{Kind::script, "python3"};
  CHECK_FALSE(python.rules.is_smp());
  python.options.counts.pes = 8;
  python.options.counts.processes = 2;
  CHECK(python.complaint().find("nothing in python3 says that it is one") != std::string::npos);
  python.options.counts.smp = true;
  CHECK(python.complaint().empty());
  Fixture several{Kind::script};
  several.options.counts.pes_per_process = 2;
  CHECK(several.rules.is_smp());
  Fixture one{Kind::script};
  one.options.counts.pes_per_process = 1;
  CHECK_FALSE(one.rules.is_smp());
  Fixture workers{Kind::script};
  workers.options.placement.worker_per_core = true;
  CHECK(workers.rules.is_smp());
  Fixture no_smp{Kind::netlrts};
  no_smp.options.placement.worker_per_core = true;
  CHECK(no_smp.complaint().starts_with("options: ++oneWthPer* needs an SMP build"));
}

TEST_CASE("hosts of a PXSHM build have equally many processes") {
  Fixture fixture{Kind::pxshm};
  fixture.options.counts.pes = 7;
  CHECK(
      fixture.complaint({1, 1, 1}) ==
      "options: ./app is a PXSHM build, which needs equally many processes on every host: here it is 2 to 3; "
      "start 3 times as many processes as there are hosts, or choose by ++numHosts");
  fixture.options.counts.pes = 6;
  CHECK(fixture.complaint({1, 1, 1}).empty());
  fixture.options.counts.pes = 2;
  CHECK(fixture.complaint({1, 1, 1}).empty());
  fixture.options.counts.pes = 6;
  fixture.options.host_failure.policy = wire::OnHostFailure::drop;
  CHECK(fixture.complaint({1, 1, 1}).find("++on-host-failure drop could change that") != std::string::npos);
  CHECK(fixture.complaint({1}).empty());
  Fixture other{Kind::netlrts};
  other.options.counts.pes = 7;
  CHECK(other.complaint({1, 1, 1}).empty());
}

TEST_CASE("++ppn stays with a compiled program that does not speak to us") {
  const auto words = [](Kind kind, const std::string& program = "./app") {
    Fixture fixture{kind, program};
    fixture.options.counts.pes_per_process = 4;
    return fixture.rules.further_arguments();
  };
  CHECK(words(Kind::mpi_smp) == Words{"++ppn", "4"});
  CHECK(words(Kind::plain) == Words{"++ppn", "4"});
  CHECK(words(Kind::netlrts_smp).empty());
  CHECK(words(Kind::script).empty());
  CHECK(words(Kind::plain, "/usr/bin/python3.11").empty());
}

TEST_CASE("++quiet goes on to whatever may be Charm++") {
  const auto passed = [](Kind kind, const std::string& program = "./app", const Words& arguments = {}) {
    Fixture fixture{kind, program};
    fixture.options.view.quiet = true;
    fixture.options.arguments = arguments;
    return !fixture.rules.further_arguments().empty();
  };
  CHECK(passed(Kind::netlrts));
  CHECK(passed(Kind::mpi_smp));
  CHECK(passed(Kind::script));
  CHECK(passed(Kind::charm4py_script, "app.py"));
  CHECK(passed(Kind::charm4py_script, "python3", {"app.py"}));
  CHECK(passed(Kind::script, "python3", {"-m", "charm4py.interactive"}));
  CHECK_FALSE(passed(Kind::plain));
  CHECK_FALSE(passed(Kind::script, "app.py"));
  CHECK_FALSE(passed(Kind::script, "python3", {"app.py"}));
}

TEST_CASE("python is known by its name") {
  for (const auto* name : {"python", "python3", "/usr/bin/python3.11", "./python2"}) CHECK(is_python(name));
  for (const auto* name : {"", "pythonic", "/python3/app", "python3-config", "ipython3"})
    CHECK_FALSE(is_python(name));
}

TEST_CASE("a Charm++ program is refused where it would have to go on without a process") {
  for (const Kind kind : {Kind::netlrts, Kind::netlrts_smp, Kind::mpi_smp, Kind::charm4py_script}) {
    Fixture fixture{kind};
    CHECK(fixture.complaint().empty());
    fixture.options.recovery.on_failure = wire::OnFailure::go_on;
    CHECK(fixture.complaint().find("./app: a Charm++ program cannot go on without a lost process") !=
          std::string::npos);
  }
  for (const Kind kind : {Kind::plain, Kind::script, Kind::syncft}) {
    Fixture fixture{kind};
    fixture.options.recovery.on_failure = wire::OnFailure::go_on;
    CHECK(fixture.complaint().empty());
  }
}

TEST_CASE("what is no fault-tolerant build is not taken for one, whatever the user says") {
  for (const Kind kind : {Kind::plain, Kind::netlrts, Kind::netlrts_smp, Kind::mpi_smp}) {
    Fixture fixture{kind};
    fixture.options.recovery.syncft = false;
    CHECK(fixture.complaint().empty());
    fixture.options.recovery.syncft = true;
    CHECK(fixture.complaint() ==
          "options: ./app: nothing in it says that it is a fault-tolerant build of Charm++ (++syncft); leave "
          "it out; a script may start one");
  }
  for (const Kind kind : {Kind::syncft, Kind::script, Kind::charm4py_script}) {
    Fixture fixture{kind};
    fixture.options.recovery.syncft = true;
    CHECK(fixture.complaint().empty());
    fixture.options.recovery.on_failure = wire::OnFailure::go_on;
    CHECK(fixture.complaint().empty());
  }
  Fixture unwanted{Kind::syncft};
  unwanted.options.recovery.syncft = false;
  unwanted.options.recovery.on_failure = wire::OnFailure::go_on;
  CHECK(unwanted.complaint().find("a Charm++ program cannot go on without a lost process") !=
        std::string::npos);
}

TEST_CASE("only a program that may be Charm++ is killed because it is silent") {
  for (const Kind kind :
       {Kind::netlrts, Kind::netlrts_smp, Kind::syncft, Kind::script, Kind::charm4py_script}) {
    Fixture fixture{kind};
    fixture.options.time.hang_action = HangAction::kill;
    CHECK(fixture.complaint().empty());
  }
  Fixture plain{Kind::plain};
  CHECK(plain.complaint().empty());
  plain.options.time.hang_action = HangAction::kill;
  Fixture mpi{Kind::mpi_smp};  // does not speak to us
  mpi.options.time.hang_action = HangAction::kill;
  CHECK_FALSE(mpi.complaint().empty());
  CHECK(plain.complaint() ==
        "options: ./app: only of Charm++ programs it shows that they hang (++hang-action kill); leave it "
        "out");
}

}  // namespace charmtree::program_rules_test
