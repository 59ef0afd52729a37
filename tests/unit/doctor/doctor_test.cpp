// SPDX-License-Identifier: Apache-2.0
#include "charmrun/doctor/doctor.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "charmrun/doctor/diagnosis.hpp"

namespace charmtree::doctor_test {

namespace {

constexpr std::int64_t kWallAtZero = 1'700'000'000'000;  // ms

const Error kRefused{Errc::refused, Phase::connect, "connection refused", "is sshd running there?"};
const Error kDenied{Errc::not_authorised, Phase::authenticate, "no key or method was accepted",
                    "ssh-copy-id"};
const Error kSilent{Errc::timed_out, Phase::connect, "no answer within 5 s", "x"};

/// Hosts n0, n1, ...; those in `local` are this machine.
RootPlan plan_of(std::uint32_t hosts, const std::vector<std::uint32_t>& local = {}) {
  RootPlan plan;
  plan.job.hosts = plan.job.processes = hosts;
  plan.job.checkup = true;
  plan.job.launch.shape = {hosts, 1};
  plan.job.arguments = {"./app"};
  plan.job.profiles.resize(2);
  plan.job.profiles[0].launcher = "/opt/charmrun";
  plan.job.profiles[0].program = "/home/me/app";
  plan.job.profiles[0].directory = "/work";
  plan.job.profiles[1] = plan.job.profiles[0];
  plan.job.profiles[1].via = Via::local;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    Host host;
    host.index = i;
    host.name = fmt::format("n{}", i);
    host.profile = std::count(local.begin(), local.end(), i) > 0 ? 1 : 0;
    host.first_process = i;
    host.processes = 1;
    plan.hosts.push_back(std::move(host));
  }
  return plan;
}

/// What a host in good health tells, at 100 s of the root's clock.
wire::Checkup healthy(std::uint32_t position) {
  wire::Checkup checkup;
  checkup.host = position;
  checkup.clock = Instant{100s};
  checkup.wall_ms = kWallAtZero + 100'000;
  checkup.address = 0x0A000000 + position;
  checkup.machine = fmt::format("machine {}", position);
  checkup.open_files = 1024;
  checkup.most_open_files = 65536;
  checkup.processes = 4096;
  checkup.processes_now = 10;
  return checkup;
}

wire::Stamps stamps_of(std::uint32_t position, Duration login, Duration shell) {
  using S = wire::Stamps;
  S stamps{position};
  stamps.times[S::begun] = Instant{50s};
  stamps.times[S::authenticated] = Instant{50s} + login;
  stamps.times[S::executed] = stamps.times[S::authenticated] + 1ms;
  stamps.times[S::hello] = stamps.times[S::executed] + shell;
  return stamps;
}

/// A doctor who has seen all hosts from the root, and from the inner host if there is one. What differs from
/// health is set by host.
struct Round {
  RootPlan plan;
  std::map<std::uint32_t, wire::Checkup> found;
  std::map<std::uint32_t, Error> from_root, from_inner;
  std::map<std::uint32_t, Duration> shells;

  Diagnosis diagnosis() {
    Doctor doctor{plan, kWallAtZero};
    for (auto launch = doctor.next(); launch; launch = doctor.next()) {
      const bool inner = launch->job.launch.shape.levels == 2;
      for (const Host& host : launch->hosts) tell(doctor, host, inner ? from_inner : from_root);
    }
    return diagnose(doctor.record());
  }

  void tell(Doctor& doctor, const Host& host, const std::map<std::uint32_t, Error>& failures) {
    const auto number = static_cast<std::uint32_t>(std::stoul(host.name.substr(1)));
    if (const auto failed = failures.find(number); failed != failures.end()) {
      doctor.failed(host.index, failed->second);
      return;
    }
    const auto special = found.find(number);
    wire::Checkup checkup = special == found.end() ? healthy(number) : special->second;
    checkup.host = host.index;
    doctor.examined(checkup);
    const auto shell = shells.find(number);
    if (plan.job.profiles[host.profile].via == Via::local) return;  // nobody logs in
    doctor.stamped(stamps_of(host.index, 50ms, shell == shells.end() ? 15ms : shell->second));
  }

  std::vector<std::string> lines(Severity severity) {
    std::vector<std::string> texts;
    for (const DiagnosisLine& line : diagnosis().lines) {
      if (line.severity == severity) texts.push_back(line.text);
    }
    return texts;
  }
};

using Lines = std::vector<std::string>;

std::vector<std::string> names(const RootPlan& plan) {
  std::vector<std::string> all;
  for (const Host& host : plan.hosts) all.push_back(host.name);
  return all;
}

}  // namespace

TEST_CASE("healthy hosts get one line for each thing") {
  Round round{plan_of(3)};
  CHECK(round.diagnosis().would_work);
  CHECK(round.lines(Severity::error).empty());
  CHECK(round.lines(Severity::warning).empty());
  CHECK(round.lines(Severity::good) ==
        Lines{"log in from here: 3 of 3 hosts; median 50.0 ms, slowest n2: 50.0 ms",
              "log in from n0: 2 of 2 hosts; median 50.0 ms, slowest n2: 50.0 ms",
              "remote shell: quick on 3 hosts; median 15.0 ms, slowest n2: 15.0 ms",
              "launcher: charmrun " CHARMTREE_VERSION " runs on 3 hosts",
              "working directory and set-up: /work on 3 hosts",
              "program: ./app and its libraries found on 3 hosts", "clocks: 0 ms apart at most, on 3 hosts",
              "limits: 1024 open files and 4096 processes at least, on 3 hosts",
              "addresses: 3 hosts can be told to the others, the same from here and from n0",
              "a launch would work on 3 hosts"});
}

TEST_CASE("this machine is not logged in to, and needs no copies of files") {
  Round round{plan_of(3, {0})};
  const Lines good = round.lines(Severity::good);
  CHECK(good[0] == "log in from here: 2 of 2 hosts; median 50.0 ms, slowest n2: 50.0 ms; 1 is this machine");
  CHECK(good[2] == "remote shell: quick on 2 hosts; median 15.0 ms, slowest n2: 15.0 ms");
  CHECK(good.back() == "a launch would work on 3 hosts");
  round.found[0] = healthy(0);
  round.found[0].errors = {{Errc::no_program, Phase::spawn, "/home/me/app: no such file", "copy it there"}};
  CHECK(round.lines(Severity::error)[0] == "n0: spawn: /home/me/app: no such file; is its name right?");
}

TEST_CASE("a diagnosis as JSON has hosts and remedies apart") {
  Round round{plan_of(2)};
  round.from_root = round.from_inner = {{1, kRefused}};
  const Diagnosis found = round.diagnosis();
  const std::string json = diagnosis_json(found);
  CHECK(json.starts_with(R"({"format":"charmtree-doctor-1","would_work":false,"hosts":2,"findings":[)"));
  CHECK(
      json.find(R"({"severity":"error","text":"n1: connect: connection refused; start sshd there: systemctl )"
                R"(start ssh","hosts":["n1"],"fix":"start sshd there: systemctl start ssh"})") !=
      std::string::npos);
  CHECK(json.ends_with("]}\n"));
  CHECK(diagnosis_text(found, true) ==
        "error: n1: connect: connection refused; start sshd there: systemctl start ssh\n"
        "error: a launch would fail on 1 of 2 hosts\n");
}

TEST_CASE(
    "the second launch is made by the first remote host without a fault, and starts all other remote ones") {
  Doctor doctor{plan_of(5, {0}), kWallAtZero};
  const auto first = doctor.next();
  REQUIRE(first);
  CHECK(names(*first) == Lines{"n0", "n1", "n2", "n3", "n4"});
  doctor.examined(healthy(0));
  doctor.failed(1, kRefused);
  wire::Checkup faulty = healthy(2);
  faulty.errors = {{Errc::no_program, Phase::spawn, "/home/me/app: no such file", "x"}};
  doctor.examined(faulty);
  doctor.examined(healthy(3));
  CHECK(doctor.progress() == "from here: 4 of 5 hosts");
  doctor.failed(4, kDenied);

  const auto second = doctor.next();

  REQUIRE(second);
  CHECK(names(*second) == Lines{"n3", "n1", "n2", "n4"});
  for (std::uint32_t i = 0; i < second->hosts.size(); ++i) CHECK(second->hosts[i].index == i);
  CHECK((second->job.hosts == 4 && second->job.checkup));
  CHECK(second->job.launch.shape == wire::Shape{1, 2});
  CHECK(doctor.progress() == "from n3: 0 of 4 hosts");
  doctor.failed(1, kDenied);
  CHECK(doctor.record().visit(Vantage::inner, 1).failure == kDenied);  // n1, by its place in the list
  CHECK_FALSE(doctor.next());
}

TEST_CASE("there is no second launch without two remote hosts, one of them well") {
  Doctor alone{plan_of(2, {0}), kWallAtZero};
  REQUIRE(alone.next());
  alone.examined(healthy(0));
  alone.examined(healthy(1));
  CHECK_FALSE(alone.next());

  Doctor ill{plan_of(2), kWallAtZero};
  REQUIRE(ill.next());
  ill.failed(0, kRefused);
  ill.failed(1, kRefused);
  CHECK_FALSE(ill.next());
}

TEST_CASE("a host that never answers has failed; news of hosts that are none are ignored") {
  Doctor doctor{plan_of(2), kWallAtZero};
  REQUIRE(doctor.next());
  doctor.examined(healthy(1));
  doctor.examined(healthy(2));
  doctor.failed(7, kRefused);
  doctor.stamped(stamps_of(9, 1ms, 1ms));
  doctor.next();
  CHECK(doctor.record().visit(Vantage::root, 0).failure->code == Errc::timed_out);
  CHECK_FALSE(doctor.record().visit(Vantage::root, 1).failure);
}

TEST_CASE("equal failures are one line; the remedy names a single host") {
  Round round{plan_of(5)};
  round.from_root = {{1, kRefused}, {2, kSilent}, {3, kSilent}};
  round.from_inner = round.from_root;
  CHECK_FALSE(round.diagnosis().would_work);
  CHECK(round.lines(Severity::error) ==
        Lines{"n1: connect: connection refused; start sshd there: systemctl start ssh",
              "n[2-3]: connect: no answer within 5 s (2 hosts); is the host up? ping HOST",
              "a launch would fail on 3 of 5 hosts"});
  round.from_root.erase(3);
  round.from_inner.erase(3);
  CHECK(round.lines(Severity::error).at(1) == "n2: connect: no answer within 5 s; is the host up? ping n2");
}

TEST_CASE("what only the inner host cannot do is a warning if the root does it instead") {
  Round round{plan_of(3)};
  round.from_inner = {{1, kDenied}, {2, kDenied}};
  CHECK(round.diagnosis().would_work);
  CHECK(
      round.lines(Severity::warning) ==
      Lines{"n[1-2]: from n0: authenticate: no key or method was accepted; such hosts are started from here "
            "instead (2 hosts); on n0: ssh-copy-id HOST (no key yet: ssh-keygen -t ed25519)"});
  round.from_inner = {{1, kSilent}};
  CHECK_FALSE(round.diagnosis().would_work);
  CHECK(round.lines(Severity::error).at(0) ==
        "n1: from n0: connect: no answer within 5 s; is the host up? ping n1");
}

TEST_CASE("a failure that the inner host does not have says so; the same failure is said once") {
  Round round{plan_of(3)};
  round.from_root = {{2, kSilent}};
  CHECK(round.lines(Severity::error).at(0) ==
        "n2: connect: no answer within 5 s (but from n0 all is well); is the host up? ping n2");
  round.from_inner = {{2, {Errc::timed_out, Phase::connect, "no answer within 4.9 s", "x"}}};
  CHECK(round.lines(Severity::error).at(0) == "n2: connect: no answer within 5 s; is the host up? ping n2");
}

TEST_CASE("a shell is slow beside the others, or beside its own login") {
  Round round{plan_of(4)};
  round.shells = {{0, 40ms}, {1, 60ms}, {2, 101ms}, {3, 1600ms}};
  const std::string advice =
      "; let ~/.bashrc there return at once where $- has no i: case $- in *i*) ;; *) return ;; esac";
  CHECK(round.lines(Severity::warning) ==
        Lines{"n2: remote shell: its start-up files take 0.1 s of every login" + advice,
              "n3: remote shell: its start-up files take 1.6 s of every login" + advice});
  round.shells = {{0, 99ms}, {1, 99ms}, {2, 99ms}, {3, 99ms}};
  CHECK(round.lines(Severity::warning).empty());
  round.shells = {{0, 400ms}, {1, 400ms}, {2, 400ms}, {3, 400ms}};  // a shared home
  CHECK(round.lines(Severity::warning).size() == 1);
  CHECK(round.diagnosis().would_work);
}

TEST_CASE("clocks are compared with the root's at the same moment") {
  Round round{plan_of(4)};
  for (const auto& [host, off] : std::map<std::uint32_t, std::int64_t>{{0, 1000}, {1, 1001}, {2, -92'400}}) {
    round.found[host] = healthy(host);
    round.found[host].wall_ms += off;
  }
  round.found[3] = healthy(3);
  round.found[3].wall_ms = INT64_MIN;
  const Lines warnings = round.lines(Severity::warning);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0] ==
        "n1: clock: 1 s ahead of ours; ssh n1 sudo timedatectl set-ntp true (or chronyc makestep)");
  CHECK(warnings[1].starts_with("n2: clock: 92 s behind ours; "));
  CHECK(warnings[2].starts_with("n3: clock: "));
  // Later by the monotonic clock is later by the wall clock.
  round.found = {{0, healthy(0)}};
  round.found[0].clock += 50s;
  round.found[0].wall_ms += 50'000;
  CHECK(round.lines(Severity::warning).empty());
}

TEST_CASE("limits that are too low for the job fail it, unusual ones are worth a warning") {
  Round round{plan_of(4)};
  for (std::uint32_t host = 0; host < 4; ++host) round.found[host] = healthy(host);
  round.found[0].open_files = round.found[0].most_open_files = 28;
  round.found[1].open_files = 64;
  round.found[2].open_files = round.found[2].most_open_files = 29;
  round.found[3].processes = 13;
  const Lines errors = round.lines(Severity::error), warnings = round.lines(Severity::warning);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0] ==
        "n0: limits: 28 open files are allowed, its launcher needs 29; raise nofile in "
        "/etc/security/limits.conf there, or its ulimit in ~/.bashrc");
  CHECK(errors[1].starts_with(
      "n3: limits: 13 processes and threads are allowed, too few for 4 beside those that run; raise nproc"));
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] ==
        "n1: limits: only 64 open files for each process; put `ulimit -n 1024` into ~/.bashrc there");
  CHECK(warnings[1].starts_with("n2: limits: only 29 open files for each process; raise nofile"));
  round.found[3].processes = 14;
  round.found[0] = healthy(0);
  CHECK(round.diagnosis().would_work);
}

TEST_CASE("addresses that others cannot reach, that two machines share, or that depend on who asks") {
  Round round{plan_of(5)};
  for (std::uint32_t host = 0; host < 5; ++host) round.found[host] = healthy(host);
  round.found[0].address = 0x7F000001;
  round.found[1].address = round.found[2].address = 0xAC110001;
  round.found[3].address = round.found[4].address;
  round.found[3].machine = round.found[4].machine;  // one machine by two names
  const Lines errors = round.lines(Severity::error);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].starts_with("n0: addresses: other hosts cannot reach it at 127.0.0.1; "));
  CHECK(errors[1].starts_with("n[1-2]: addresses: several hosts have 172.17.0.1 (2 hosts); "));

  Doctor doctor{plan_of(2), kWallAtZero};
  REQUIRE(doctor.next());
  for (const std::uint32_t host : {0U, 1U}) doctor.examined(healthy(host));
  REQUIRE(doctor.next());
  doctor.examined(healthy(0));
  doctor.examined(healthy(1));
  CHECK(diagnose(doctor.record()).would_work);
  Doctor two_networks{plan_of(2), kWallAtZero};
  REQUIRE(two_networks.next());
  for (const std::uint32_t host : {0U, 1U}) two_networks.examined(healthy(host));
  REQUIRE(two_networks.next());
  two_networks.examined(healthy(0));
  wire::Checkup elsewhere = healthy(1);
  elsewhere.address = 0x0B000001;
  two_networks.examined(elsewhere);
  const Diagnosis diagnosis = diagnose(two_networks.record());
  CHECK(diagnosis.would_work);
  CHECK(std::any_of(diagnosis.lines.begin(), diagnosis.lines.end(), [](const DiagnosisLine& line) {
    return line.severity == Severity::warning &&
           line.text.starts_with("n1: addresses: seen from n0 it is at another address than from here; ");
  }));
}

TEST_CASE("remedies are commands for the host and its files") {
  Round round{plan_of(2)};
  const auto line = [&](Error error) {
    round.from_root = round.from_inner = {{1, std::move(error)}};
    return round.lines(Severity::error).at(0);
  };
  CHECK(line({Errc::no_launcher, Phase::exec, "/opt/charmrun not found", "x"}) ==
        "n1: start launcher: /opt/charmrun not found; scp /opt/charmrun n1:/opt/charmrun, or name it with "
        "++launcher PATH");
  CHECK(line({Errc::host_key_changed, Phase::host_key, "changed", "if new: ssh-keygen -R '[HOST]:2222'"}) ==
        "n1: host key: changed; if new: ssh-keygen -R '[n1]:2222'");
  CHECK(
      line({Errc::no_directory, Phase::spawn, "working directory /work: missing", "x"}) ==
      "n1: spawn: working directory /work: missing; ssh n1 mkdir -p /work, or start charmrun in a directory "
      "that all hosts have");
  CHECK(line({Errc::remote_shell, Phase::exec, "odd\n\x1b[31m", "see `ssh HOST true`"}) ==
        "n1: start launcher: odd\\n\\x1b[31m; see `ssh n1 true`");
  round.from_root = round.from_inner = {};
  round.found[1] = healthy(1);
  round.found[1].errors = {{Errc::no_program, Phase::spawn, "/home/me/app: no such file", "x"},
                           {Errc::library_missing, Phase::start, "libx.so not found", "install it"}};
  CHECK(round.lines(Severity::error) == Lines{"n1: spawn: /home/me/app: no such file; scp /home/me/app "
                                              "n1:/home/me/app, or start the job with ++stage-program",
                                              "n1: start: libx.so not found; install it",
                                              "a launch would fail on 1 of 2 hosts"});
}

TEST_CASE("without a program none is looked for, and this is said") {
  Round round{plan_of(1)};
  round.plan.job.arguments = {""};
  const Lines good = round.lines(Severity::good);
  CHECK(std::count(
            good.begin(), good.end(),
            "program: none was named; `charmrun ++doctor PROGRAM` looks for it and its libraries, too") == 1);
  CHECK(good.back() == "a launch would work on this host");
}

TEST_CASE("hosts that were silent after the login are not logged in to from the inner host") {
  Doctor doctor{plan_of(4), kWallAtZero};
  REQUIRE(doctor.next());
  for (const std::uint32_t host : {0U, 1U}) doctor.examined(healthy(host));
  doctor.failed(2, {Errc::timed_out, Phase::hello, "no answer from the launcher within 5 s", "x"});
  const auto second = doctor.next();  // nor 3, which has never said anything
  REQUIRE(second);
  CHECK(names(*second) == Lines{"n0", "n1"});
}

TEST_CASE("an inner host that fails in the second launch is no vantage point") {
  Doctor doctor{plan_of(3), kWallAtZero};
  REQUIRE(doctor.next());
  for (const std::uint32_t host : {0U, 1U, 2U}) doctor.examined(healthy(host));
  REQUIRE(doctor.next());
  doctor.failed(0, kRefused);
  doctor.failed(1, kDenied);
  CHECK_FALSE(doctor.next());
  CHECK_FALSE(doctor.record().inner);
  const Diagnosis diagnosis = diagnose(doctor.record());
  CHECK_FALSE(diagnosis.would_work);
  REQUIRE(diagnosis.lines.size() > 1);
  CHECK(diagnosis.lines[0].text == "n0: connect: connection refused; start sshd there: systemctl start ssh");
  for (const DiagnosisLine& line : diagnosis.lines) CHECK(line.text.find("from n0") == std::string::npos);
}

}  // namespace charmtree::doctor_test
