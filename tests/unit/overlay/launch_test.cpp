// SPDX-License-Identifier: Apache-2.0
// The parts of Launch that whole jobs (node_launch_test.cpp) do not show.
#include "tree/overlay/launch.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace charmtree::launch_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};
const Error kRefused{Errc::refused, Phase::connect, "refused"};

std::vector<Host> make_hosts(std::uint32_t count) {
  std::vector<Host> hosts(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    hosts[i].index = hosts[i].first_process = i;
    hosts[i].name = "h";
    hosts[i].processes = 1;
  }
  return hosts;
}

class Office {
public:
  explicit Office(wire::Shape shape, std::uint32_t batch = 0, bool root = true)
      : Office(root, wire::LaunchRules{shape, batch}) {}
  Office(bool root, const wire::LaunchRules& rules) {
    job.launch = rules;
    job.profiles.resize(2);
    job.profiles[1].ssh_command_only = true;
    launch.emplace(job, wire::encode(job), LaunchConfig{.is_root = root}, random);
  }
  template <class A>
  std::vector<A> take() {
    std::vector<A> found;
    for (const Action& action : out) {
      if (const auto* a = get_if<A>(&action)) found.push_back(*a);
    }
    out.clear();
    return found;
  }
  void fail(LinkId link, const Error& error, Instant now = kNow) {
    launch->on(LoginFailed{link, error, {}}, now, out, failed);
  }

  wire::JobSpec job;
  Random random{1};
  std::optional<Launch> launch;
  Actions out;
  std::vector<wire::HostFailure> failed;
};

}  // namespace

TEST_CASE("the window slides: each answer lets the next login begin", "[launch]") {
  Office office{{10, 1}, 3};
  office.launch->add(make_hosts(10), 0, kNow, office.out);
  CHECK(office.take<Login>().size() == 3);
  office.launch->on(LinkUp{2, {}, {}, {}}, kNow, office.out);
  CHECK(office.take<Login>().size() == 1);
  office.fail(1, {Errc::handshake, Phase::handshake, "x"});
  CHECK(office.take<Login>().size() == 1);
  CHECK(office.failed.size() == 1);
}

TEST_CASE("a host that waits for its next try frees its place and asks for time", "[launch]") {
  Office office{{10, 1}, 1};
  office.launch->add(make_hosts(2), 0, kNow, office.out);
  CHECK(office.take<Login>().at(0).host.index == 0);
  office.fail(1, kRefused);
  CHECK(office.take<Login>().at(0).host.index == 1);
  CHECK(office.launch->next_deadline() == kNever);  // the window is full
  office.launch->on(LinkUp{2, {}, {}, {}}, kNow, office.out);
  const Instant retry = office.launch->next_deadline();
  CHECK((retry >= kNow + 125ms && retry <= kNow + 375ms));
  office.take<Login>();
  office.launch->tick(retry - 1ns, office.out, office.failed);
  CHECK(office.take<Login>().empty());
  office.launch->tick(retry, office.out, office.failed);
  CHECK(office.take<Login>().at(0).link == 3);  // each try has its own link
}

TEST_CASE("the share is bound when the launcher answers, not before", "[launch]") {
  Office office{{2, 0}};
  office.launch->add(make_hosts(6), 0, kNow, office.out);
  CHECK(office.take<Login>().size() == 2);
  CHECK_FALSE(office.launch->subtree().route(1));
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  CHECK(office.launch->subtree().route(1) == LinkId{1});
  CHECK(office.launch->subtree().owns(1, 2));
  const auto sends = office.take<Send>();
  REQUIRE(sends.size() == 2);
  CHECK(holds_alternative<wire::Welcome>(sends[0].message));
  CHECK(get<wire::Assign>(sends[1].message).hosts.size() == 2);
}

TEST_CASE("after the stop nothing begins: logins are cancelled, late answers ignored", "[launch]") {
  Office office{{10, 1}, 2};
  office.launch->add(make_hosts(5), 0, kNow, office.out);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  office.take<Login>();
  office.launch->stop(office.out);
  CHECK(office.take<CancelLogin>().size() == 2);
  office.fail(2, kRefused);
  office.launch->on(LinkUp{3, {}, {}, {}}, kNow, office.out);
  office.launch->add(make_hosts(9), 0, kNow, office.out);
  office.launch->tick(kNow + 1h, office.out, office.failed);
  CHECK(office.out.empty());
  CHECK(office.failed.empty());
  CHECK(office.launch->next_deadline() == kNever);
  CHECK(office.launch->find(1)->state() == Child::State::up);
}

TEST_CASE("a lost launcher's host is swept even after the stop", "[launch]") {
  Office office{{10, 1}};
  office.launch->add(make_hosts(2), 0, kNow, office.out);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  office.launch->stop(office.out);
  office.out.clear();
  office.launch->find(1)->lost();
  office.launch->sweep(1, {}, kNow, office.out);
  const auto logins = office.take<Login>();
  REQUIRE(logins.size() == 1);
  CHECK(logins[0].host.index == 0);
  office.launch->on(LinkUp{logins[0].link, {}, {}, {}}, kNow, office.out);
  CHECK(get<wire::Sweep>(office.take<Send>().at(0).message).host == 0);
}

TEST_CASE("where a run is over nothing is swept but what is unconfirmed", "[launch]") {
  Office office{{1, 2}};
  office.launch->add(make_hosts(3), 0, kNow, office.out);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  REQUIRE(office.launch->children().at(1).below.size() == 2);
  office.launch->stop(office.out);
  office.out.clear();
  office.launch->find(1)->idle = true;
  office.launch->find(1)->lost();
  office.launch->sweep(1, {2}, kNow, office.out);
  const auto logins = office.take<Login>();
  REQUIRE(logins.size() == 1);
  CHECK(logins[0].host.index == 2);

  WHEN("that has not been done when the next run begins") {
    office.launch->begin_run({}, {2}, kNow, office.out, office.failed);
    THEN("it is not done any more, and the host takes no part; the others are logged in to") {
      CHECK(office.failed.size() == 1);
      CHECK(office.failed[0].host == 2);
      std::vector<LinkId> cancelled;
      std::vector<std::uint32_t> hosts;
      for (const Action& action : office.out) {
        if (const auto* cancel = get_if<CancelLogin>(&action)) cancelled.push_back(cancel->link);
        if (const auto* login = get_if<Login>(&action)) hosts.push_back(login->host.index);
      }
      CHECK(cancelled == std::vector<LinkId>{logins[0].link});
      CHECK(hosts == std::vector<std::uint32_t>{0});  // which gets host 1
    }
  }
  WHEN("that has been done") {
    office.launch->on(LinkUp{logins[0].link, {}, {}, {}}, kNow, office.out);
    office.launch->find(logins[0].link)->done();
    office.launch->begin_run({}, {}, kNow, office.out, office.failed);
    THEN("it is as any other") {
      CHECK(office.failed.empty());
    }
  }
}

TEST_CASE("a host that is handed back when the run ends is kept for the next one", "[launch]") {
  Office office{{1, 2}};
  office.launch->add(make_hosts(2), 0, kNow, office.out);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  office.launch->stop(office.out);
  office.out.clear();
  REQUIRE(office.launch->gave(1, 1));
  CHECK_FALSE(office.launch->take_back(1, 1, kNow, office.out));
  CHECK(office.take<Login>().empty());
  office.launch->find(1)->idle = true;
  office.launch->begin_run({}, {}, kNow, office.out, office.failed);
  const auto logins = office.take<Login>();
  REQUIRE(logins.size() == 1);
  CHECK(logins[0].host.index == 1);
  CHECK(office.failed.empty());
}

TEST_CASE("a host that is handed back has no processes in a run that has yet to number them", "[launch]") {
  Office office{{1, 2}};
  office.launch->add(make_hosts(2), 0, kNow, office.out);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  REQUIRE(office.launch->gave(1, 1));
  office.launch->stop(office.out);
  office.launch->find(1)->idle = true;
  office.job.launch.on_host_failure = wire::OnHostFailure::spare;
  office.launch->begin_run({}, {}, kNow, office.out, office.failed);
  office.out.clear();
  CHECK(office.launch->take_back(1, 1, kNow, office.out));
  const auto logins = office.take<Login>();
  REQUIRE(logins.size() == 1);
  CHECK(logins[0].host.index == 1);
  CHECK(logins[0].host.processes == 0);
}

TEST_CASE("logins that are cancelled do not hold up their machine in the next run", "[launch]") {
  Office office{{10, 1}};
  auto hosts = make_hosts(4);
  for (Host& host : hosts) host.machine = 7;
  office.launch->add(hosts, 0, kNow, office.out);
  CHECK(office.take<Login>().size() == MachineGate::kMost);
  office.launch->stop(office.out);
  CHECK(office.take<CancelLogin>().size() == MachineGate::kMost);
  office.launch->begin_run({}, {}, kNow, office.out, office.failed);
  CHECK(office.take<Login>().size() == MachineGate::kMost);
}

TEST_CASE("hosts that need the ssh command are started by it at once", "[launch]") {
  Office office{{10, 1}};
  auto hosts = make_hosts(2);
  hosts[1].profile = 1;
  office.launch->add(hosts, 0, kNow, office.out);
  const auto logins = office.take<Login>();
  CHECK(logins.at(0).via == Via::ssh);
  CHECK(logins.at(1).via == Via::command);
}

TEST_CASE("the ssh command has retries of its own, and all logins count", "[launch]") {
  Office office{{10, 1}};
  office.launch->add(make_hosts(1), 0, kNow, office.out);
  Instant now = kNow;
  LinkId link = office.take<Login>().at(0).link;
  const auto again = [&](const Error& error) {
    office.fail(link, error, now);
    if (const Instant retry = office.launch->next_deadline(); retry != kNever) now = retry;
    office.launch->tick(now, office.out, office.failed);
    const auto logins = office.take<Login>();
    REQUIRE(logins.size() == 1);
    link = logins[0].link;
    return logins[0].via;
  };
  for (int i = 0; i < 3; ++i) CHECK(again(kRefused) == Via::ssh);
  CHECK(again({Errc::no_usable_key, Phase::authenticate, "x"}) == Via::command);
  for (int i = 0; i < 3; ++i) CHECK(again(kRefused) == Via::command);
  CHECK(office.launch->find(link)->stamps.attempts == 8);
  office.fail(link, kRefused, now);
  REQUIRE(office.failed.size() == 1);
  CHECK(office.failed[0].error.what == "refused (4 tries)");
}

TEST_CASE("a launcher that cannot be ours is replaced once, where that is allowed", "[launch]") {
  for (const Errc code : {Errc::wrong_version, Errc::cannot_execute, Errc::library_missing}) {
    for (const bool stages : {true, false}) {
      Office office{{10, 1}};
      office.job.profiles[0].stages = stages;
      office.launch->add(make_hosts(2), 0, kNow, office.out);
      for (const Login& each : office.take<Login>()) CHECK_FALSE(each.replaces);
      office.fail(1, {code, Phase::hello, "another"});
      office.fail(2, {code, Phase::hello, "another"});
      CHECK(office.failed.size() == (stages ? 0 : 2));
      std::size_t said = 0;  // once, not for each host
      for (const Action& action : office.out) said += holds_alternative<Say>(action) ? 1 : 0;
      CHECK(said == (stages ? 1 : 0));
      const auto logins = office.take<Login>();
      REQUIRE(logins.size() == (stages ? 2 : 0));
      for (const Login& each : logins) {
        CHECK(each.replaces);
        office.fail(each.link, {code, Phase::hello, "another"});
      }
      CHECK(office.failed.size() == 2);
      CHECK(office.take<Login>().empty());
    }
  }
}

TEST_CASE("what a child was given can be taken back from it once", "[launch]") {
  Office office{{1, 0}};
  Launch& launch = *office.launch;
  launch.add(make_hosts(3), 0, kNow, office.out);
  CHECK_FALSE(launch.gave(1, 1));
  launch.on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  CHECK((launch.gave(1, 1) && launch.gave(1, 2)));
  CHECK_FALSE((launch.gave(1, 0) || launch.gave(1, 3) || launch.gave(2, 1)));  // its own; nobody's; nobody
  office.take<Login>();
  CHECK(launch.take_back(1, 1, kNow, office.out));
  CHECK(office.take<Login>().at(0).host.index == 1);
  CHECK_FALSE(launch.gave(1, 1));
  CHECK_FALSE(launch.subtree().owns(1, 1));
  CHECK(launch.gave(1, 2));
}

TEST_CASE("only the root gives up a host that it cannot authenticate to", "[launch]") {
  for (const bool root : {true, false}) {
    Office office{{10, 1}, 0, root};
    office.launch->add(make_hosts(1), 0, kNow, office.out);
    office.out.clear();
    office.fail(1, {Errc::not_authorised, Phase::authenticate, "x"});
    CHECK(office.failed.size() == (root ? 1 : 0));
    CHECK(office.take<Send>().size() == (root ? 0 : 1));
    CHECK(office.launch->subtree().processes() == (root ? 1 : 0));
  }
}

TEST_CASE("late binding: one login at a time, what is left is shared with those who answer", "[launch]") {
  Office office{{}, 4};
  Launch& launch = *office.launch;
  launch.add(make_hosts(20), 0, kNow, office.out);
  CHECK(office.out.empty());
  Instant now = kNow;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(launch.next_deadline() <= now + 1ms);
    now = std::max(now, launch.next_deadline());
    launch.tick(now, office.out, office.failed);
    CHECK(office.take<Login>().size() == 1);
  }
  CHECK(launch.next_deadline() == kNever);  // the window is full
  launch.on(LinkUp{2, {}, {}, {}}, now + 250ms, office.out);
  const auto sends = office.take<Send>();
  REQUIRE(sends.size() == 2);
  const auto& given = get<wire::Assign>(sends[1].message).hosts;
  CHECK(given.size() == 4);  // of 16, with two others ready now and one more
  CHECK(launch.subtree().owns(2, given[0].index));
  CHECK(launch.next_deadline() <= now + 250ms);

  SECTION("one who runs dry gets what it asks for, at most half") {
    launch.ask(2, {1}, now, office.out);
    CHECK(get<wire::Assign>(office.take<Send>().at(0).message).hosts.size() == 1);
    launch.ask(2, {100}, now, office.out);
    CHECK(get<wire::Assign>(office.take<Send>().at(0).message).hosts.size() == 6);
  }
  SECTION("those who ask in vain are served when there is something again") {
    for (int i = 0; i < 5; ++i) launch.ask(2, {100}, now, office.out);
    office.out.clear();
    launch.ask(2, {3}, now, office.out);
    CHECK(office.out.empty());
    std::vector<Host> more = make_hosts(25);
    more.erase(more.begin(), more.begin() + 20);
    launch.add(more, 0, now, office.out);
    CHECK(get<wire::Assign>(office.take<Send>().at(0).message).hosts.size() == 3);
  }
}

TEST_CASE("late binding: who has no link left leaves the other hosts to those who have answered",
          "[launch]") {
  Office office{{}, 16};
  office.launch.emplace(office.job, wire::encode(office.job), LaunchConfig{.is_root = true, .most_links = 3},
                        office.random);
  Launch& launch = *office.launch;
  launch.add(make_hosts(20), 0, kNow, office.out);
  Instant now = kNow;
  std::vector<Login> logins;
  while (launch.next_deadline() < now + 1s) {
    now = std::max(now, launch.next_deadline());
    launch.tick(now, office.out, office.failed);
    for (Login& login : office.take<Login>()) logins.push_back(std::move(login));
    REQUIRE(logins.size() <= 3);
  }
  REQUIRE(logins.size() == 3);
  std::size_t given = 0;
  const auto count = [&] {
    for (const Send& send : office.take<Send>())
      if (const auto* hosts = get_if<wire::Assign>(&send.message)) given += hosts->hosts.size();
  };
  launch.on(LinkUp{1, {}, {}, {}}, now, office.out);
  count();
  CHECK(given > 0);

  SECTION("as they ask") {
    for (int i = 0; i < 5; ++i) launch.ask(1, {100}, now, office.out);
    count();
    CHECK(given == 17);
  }
  SECTION("unasked, when nobody is under way any more") {
    launch.on(LinkUp{2, {}, {}, {}}, now, office.out);
    count();
    CHECK(given < 17);
    launch.on(LinkUp{3, {}, {}, {}}, now, office.out);
    count();
    CHECK(given == 17);
    CHECK(launch.next_deadline() == kNever);
  }
  SECTION("a link that is free again is used") {
    office.fail(3, {Errc::no_launcher, Phase::exec, "x"}, now);
    launch.tick(now + 1s, office.out, office.failed);
    CHECK(office.take<Login>().size() == 1);
  }
  SECTION("a host that nobody else can start is started at once") {
    launch.ask(1, {1}, now, office.out);
    Host own = make_hosts(21).back();
    own.profile = 0;
    launch.add_late({own}, wire::encode(office.job), now, office.out);
    launch.tick(now + 1s, office.out, office.failed);
    CHECK(office.take<Login>().at(0).host.index == 20);
  }
}

TEST_CASE("late binding: hosts wait for a link, and go to a launcher that was adopted", "[launch]") {
  Office office{{}, 16, false};
  office.launch.emplace(office.job, wire::encode(office.job), LaunchConfig{.most_links = 1}, office.random);
  Launch& launch = *office.launch;
  const std::vector<Host> hosts = make_hosts(4);
  launch.add({hosts[0]}, 0, kNow, office.out);
  launch.tick(kNow + 1s, office.out, office.failed);
  const LinkId first = office.take<Login>().at(0).link;
  launch.on(LinkUp{first, {}, {}, {}}, kNow + 1s, office.out);
  launch.find_up(first)->lost();
  launch.adopt(hosts[0], 0s, kNow + 1s, office.out);
  const LinkId second = office.take<Login>().at(0).link;
  launch.add({hosts[1], hosts[2], hosts[3]}, 0, kNow + 1s, office.out);
  launch.on(LinkUp{second, {}, {}, {}}, kNow + 1s, office.out);
  CHECK(office.out.empty());
  launch.adopted(second, {}, kNow + 1s);
  launch.tick(kNow + 2s, office.out, office.failed);
  CHECK(office.out.empty());

  SECTION("once it has said that it is ours") {
    launch.claimed(second, kNow + 2s, office.out);
    const auto sent = office.take<Send>();
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].link == second);
    CHECK(get<wire::Assign>(sent[0].message).hosts.size() == 3);
    CHECK(sent[1].link == kParentLink);  // more, please
  }
  SECTION("and are started from here if it is not") {
    launch.find_up(second)->lost();
    launch.tick(kNow + 3s, office.out, office.failed);
    CHECK(office.take<Login>().at(0).host.index == 1);
  }
}

TEST_CASE("late binding: a launcher that had hosts and has none left asks for twice as many each time",
          "[launch]") {
  Office office{{}, 0, false};
  office.launch->tick(kNow, office.out, office.failed);
  CHECK(office.out.empty());  // it never had any: there is nobody left for it
  std::uint32_t expected = 1;
  Instant now = kNow;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::vector<Host> one = make_hosts(i + 1);
    one.erase(one.begin(), one.end() - 1);
    office.launch->add(one, 0, now, office.out);
    now = std::max(now, office.launch->next_deadline());
    office.launch->tick(now, office.out, office.failed);
    const auto sends = office.take<Send>();
    REQUIRE(sends.size() == 1);
    CHECK(sends[0].link == kParentLink);
    CHECK(get<wire::Ask>(sends[0].message).hosts == expected);
    expected *= 2;
    office.launch->tick(now + 1s, office.out, office.failed);
    CHECK(office.out.empty());  // not before there was an answer
  }
}

TEST_CASE("names of one machine: four logins at a time, one after a drop, none while it punishes",
          "[launch]") {
  Office office{{10, 1}};
  std::vector<Host> hosts = make_hosts(8);
  for (Host& host : hosts) host.machine = 1;
  hosts[7].machine = 0;
  office.launch->add(hosts, 0, kNow, office.out);
  CHECK(office.take<Login>().size() == 5);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow, office.out);
  auto next = office.take<Login>();
  REQUIRE(next.size() == 1);
  SECTION("dropped") {
    for (LinkId link = 2; link <= 4; ++link) office.fail(link, {Errc::busy, Phase::handshake, "x"});
    CHECK(office.take<Login>().empty());  // the last one is still at it
    office.launch->on(LinkUp{next[0].link, {}, {}, {}}, kNow, office.out);
    CHECK(office.take<Login>().size() == 2);
    CHECK(office.failed.empty());
  }
  SECTION("penalty") {
    office.fail(next[0].link, {Errc::penalised, Phase::handshake, "x"});
    for (LinkId link = 2; link <= 4; ++link) office.fail(link, {Errc::busy, Phase::handshake, "x"});
    CHECK(office.take<Login>().empty());
    for (Instant now = kNow; now < kNow + 15s; now += 100ms)
      office.launch->tick(now, office.out, office.failed);
    CHECK(office.take<Login>().empty());
    for (Instant now = kNow + 15s; now < kNow + 20s; now += 100ms)
      office.launch->tick(now, office.out, office.failed);
    CHECK(office.take<Login>().size() == 1);
  }
}

TEST_CASE("an sshd that is too busy is tried until the time-out, and that is none of the three tries",
          "[launch]") {
  Office office{{10, 1}};
  office.launch->add(make_hosts(1), 0, kNow, office.out);
  Instant now = kNow;
  std::size_t tries = 0;
  for (auto login = office.take<Login>(); !login.empty(); login = office.take<Login>()) {
    ++tries;
    office.fail(login[0].link, {Errc::busy, Phase::handshake, "too busy"}, now);
    if (office.launch->next_deadline() == kNever) break;
    now = office.launch->next_deadline();
    office.launch->tick(now, office.out, office.failed);
  }
  CHECK(tries > 20);
  CHECK(now - kNow > 50s);
  CHECK(now - kNow < 60s);
  REQUIRE(office.failed.size() == 1);
  CHECK(office.failed[0].error.what == fmt::format("too busy ({} tries)", tries));
}

TEST_CASE("the login rate is kept, and goes with the hosts", "[launch]") {
  for (const wire::Shape shape : {wire::Shape{0, 0}, {100, 1}}) {
    Office office{true, wire::LaunchRules{shape, 0, 0, 10'000'000}};  // 10 a second
    office.launch->add(make_hosts(40), 0, kNow, office.out);
    std::size_t logins = 0;
    for (Instant now = kNow; now < kNow + 2s; now += 1ms) {
      if (office.launch->next_deadline() <= now) office.launch->tick(now, office.out, office.failed);
      logins += office.take<Login>().size();
    }
    CHECK(logins >= 19);
    CHECK(logins <= 21);
  }
  Office office{true, wire::LaunchRules{{0, 0}, 0, 0, 10'000'000}};
  office.launch->add(make_hosts(40), 0, kNow, office.out);
  office.launch->tick(kNow, office.out, office.failed);
  office.launch->on(LinkUp{1, {}, {}, {}}, kNow + 10ms, office.out);
  auto sends = office.take<Send>();
  const auto given = get<wire::Assign>(sends.at(1).message);
  CHECK(given.login_rate > 10'000'000 / 40 * given.hosts.size() * 9 / 10);
  CHECK(given.login_rate < 10'000'000 / 40 * (given.hosts.size() + 1));
  office.launch->ask(1, {1, 1'000'000'000}, kNow + 1s, office.out);  // it returns no more than it got
  sends = office.take<Send>();
  CHECK(get<wire::Assign>(sends.at(0).message).login_rate < 10'000'000 / 10);
}

}  // namespace charmtree::launch_test
