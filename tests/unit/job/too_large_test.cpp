// SPDX-License-Identifier: Apache-2.0
// What is too large to be sent: lists go in parts, a job that cannot go in parts ends with one line at the
// root.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/overlay/gather.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/job_limits.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::too_large_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr std::size_t kMib = 1U << 20;

/// What a launcher that has greeted makes of these bytes.
std::vector<wire::Message> received(const std::string& bytes, wire::LinkReader::From from) {
  wire::LinkReader reader{from, wire::kCoreTypes};
  if (from == wire::LinkReader::From::child) REQUIRE(reader.append(wire::make_greeting()).ok());
  REQUIRE(reader.append(bytes).ok());
  std::vector<wire::Message> messages;
  for (;;) {
    auto message = reader.next();
    REQUIRE(message.ok());
    if (!message->has_value()) return messages;
    messages.push_back(std::move(**message));
  }
}

/// The processes of one host, each with a tuple of its own of the largest size.
wire::TupleBlock block(std::uint32_t host, std::uint32_t first, std::uint32_t processes) {
  wire::TupleBlock block{host, first, 1, {}};
  for (std::uint32_t i = 0; i < processes; ++i) {
    block.tuples.push_back({0, std::string(wire::kMaxTuple, 't')});
    block.tuples.back().data.replace(0, 8, fmt::format("{:08}", first + i));
  }
  return block;
}

RootPlan plan_of(wire::JobSpec job) {
  RootPlan plan;
  plan.job = std::move(job);
  plan.job.hosts = plan.job.processes = 1;
  plan.job.profiles.resize(1);
  plan.hosts.resize(1);
  plan.hosts[0].name = "n00";
  plan.hosts[0].processes = 1;
  return plan;
}

std::vector<std::string> errors(const Actions& actions) {
  std::vector<std::string> lines;
  for (const Action& action : actions) {
    if (const auto* say = get_if<Say>(&action); say != nullptr && say->tone == Tone::error)
      lines.push_back(say->text);
  }
  return lines;
}

}  // namespace

TEST_CASE("a host list that is too long for a message is sent in parts, in order", "[too_large]") {
  wire::Assign assign;
  for (std::uint32_t i = 0; i < 70; ++i) {
    Host host;
    host.index = i;
    host.known_keys = {{"ssh-rsa", std::string(kMib, 'k')}};
    assign.hosts.push_back(std::move(host));
  }

  const auto frames = wire::encode_frames(assign);
  REQUIRE(frames.ok());
  std::vector<Host> hosts;
  for (wire::Message& part : received(*frames, wire::LinkReader::From::parent)) {
    for (Host& host : get<wire::Assign>(part).hosts) hosts.push_back(std::move(host));
  }

  CHECK((hosts == assign.hosts));
}

TEST_CASE("facts that are too long for a message are sent in parts, counts once", "[too_large]") {
  wire::Facts facts;
  facts.registered = 9000;
  facts.barrier = {1, 2, 3};
  facts.code = wire::Code{4, 5};
  for (std::uint32_t host = 0; host < 9; ++host) facts.blocks.push_back(block(host, host * 1000, 1000));
  facts.hosts_up = {0, 1, 2, 3, 4};
  facts.hosts_failed = {{7, {Errc::refused, Phase::connect, "what", "fix"}}};
  facts.exits.resize(3);

  const auto frames = wire::encode_frames(facts);
  REQUIRE(frames.ok());
  const auto parts = received(*frames, wire::LinkReader::From::child);
  REQUIRE(parts.size() == 9);  // the tuples of a host are not divided
  Gather whole;
  for (const wire::Message& part : parts) whole.add(get<wire::Facts>(part), Instant{1s});
  const auto sum = whole.due({1, true, true}, Instant{1s});

  REQUIRE(sum);
  CHECK((sum->blocks == facts.blocks));
  CHECK(sum->hosts_up == facts.hosts_up);
  CHECK((sum->hosts_failed == facts.hosts_failed));
  CHECK((sum->exits == facts.exits));
  CHECK(sum->registered == facts.registered);
  CHECK(sum->barrier == facts.barrier);
  CHECK((sum->code == facts.code));
}

TEST_CASE("equal tuples are counted as often as their receiver keeps them", "[too_large]") {
  constexpr std::uint32_t kProcesses = wire::kMaxTableData / wire::kMaxTuple + 2;
  wire::Facts facts;
  for (std::uint32_t host = 0; host < 2; ++host) {
    facts.blocks.push_back({host, host * kProcesses / 2, 1, {}});
    facts.blocks.back().tuples.assign(kProcesses / 2, {0, std::string(wire::kMaxTuple, 't')});
  }

  const auto frames = wire::encode_frames(facts);
  REQUIRE(frames.ok());
  CHECK(frames->size() < kMib);
  CHECK(received(*frames, wire::LinkReader::From::child).size() == 2);
  CHECK_FALSE(wire::check_table({0, 1, facts.blocks}, kMib).ok());
}

TEST_CASE("what cannot be divided is an error that says what and how large", "[too_large]") {
  const auto frames = wire::encode_frames(wire::ScanReply{0, std::string(wire::kMaxLinkFrame, 'x')});
  REQUIRE_FALSE(frames.ok());
  CHECK(frames.error().what ==
        "a message between launchers is too large (ScanReply, 32.0 MiB of at most 32 MiB)");
  const std::string most(wire::kMaxLinkFrame - 8, 'x');
  CHECK(received(wire::encode_frames(wire::ScanReply{0, most}).value(), wire::LinkReader::From::parent)
            .size() == 1);
}

TEST_CASE("a job that is too large ends at the root with one line, before any login", "[too_large]") {
  wire::JobSpec job;
  std::string parts, fix;
  SECTION("arguments") {
    job.arguments.assign(32, std::string(kMib, 'a'));
    parts = "arguments 32.0, environment 0.0, options of hosts 0.0 MiB";
    fix = "pass long arguments in a file";
  }
  SECTION("environment") {
    job.spawn.environment.assign(32, std::string(kMib, 'e'));
    parts = "arguments 0.0, environment 32.0, options of hosts 0.0 MiB";
    fix = "start it with fewer or shorter environment variables (env -i)";
  }
  SECTION("hosts") {
    job.spawn.runscript = std::string(32 * kMib, 'r');
    parts = "arguments 0.0, environment 0.0, options of hosts 32.0 MiB";
    fix = "give fewer hosts options of their own in the nodelist (setup, pathfix, shell)";
  }
  Node root{plan_of(std::move(job)), 1};
  Actions out;

  root.on(Begin{}, Instant{1s}, out);

  CHECK(errors(out) ==
        std::vector<std::string>{fmt::format(
            "options: the job's description is too large: 32.0 MiB of at most 31 MiB ({}); {}", parts, fix)});
  CHECK(std::none_of(out.begin(), out.end(), [](const Action& a) { return holds_alternative<Login>(a); }));
  REQUIRE(holds_alternative<Finish>(out.back()));
  CHECK(get<Finish>(out.back()).status == 125);
}

TEST_CASE("the largest job that is not refused reaches its launcher", "[too_large]") {
  wire::JobSpec job = plan_of({}).job;
  job.spawn.environment.assign(31, std::string(kMib - 64, 'e'));
  const wire::Blob coded = wire::encode(job);
  REQUIRE(wire::check_job(job, coded->size()).ok());
  Host host;
  host.known_keys.assign(16, {"ssh-rsa", std::string(32U << 10, 'k')});

  const auto frames = wire::encode_frames(wire::Welcome{coded, host, 1});

  REQUIRE(frames.ok());
  CHECK(received(*frames, wire::LinkReader::From::parent).size() == 1);
}

TEST_CASE("a node table that is too large ends the job with one line", "[too_large]") {
  RootPlan plan = plan_of({});
  plan.job.processes = plan.hosts[0].processes = 9000;
  RootController controller{std::move(plan)};
  controller.begin(Instant{1s});
  wire::Facts facts;
  facts.hosts_up = {0};
  facts.registered = 9000;
  facts.blocks = {block(0, 0, 9000)};
  Actions out;
  RootOrders orders;

  controller.facts(std::move(facts), Instant{2s});
  controller.turn(Instant{2s}, out, orders);

  CHECK(errors(out) ==
        std::vector<std::string>{
            "table: the node table of 9000 processes is too large: 35.2 MiB of at most 32 MiB; "
            "register shorter tuples, or start fewer processes"});
  CHECK(orders.everyone.empty());
  CHECK(orders.end);
}

TEST_CASE("a text for people is cut, not refused", "[too_large]") {
  const std::string long_text(wire::kMaxLinkFrame, 'n');
  const auto note =
      received(wire::encode_frames(wire::Note{2, long_text}).value(), wire::LinkReader::From::child);
  REQUIRE(note.size() == 1);
  CHECK(get<wire::Note>(note[0]).text.size() == wire::kMostText<wire::Note>);
  wire::Facts facts;
  facts.hosts_failed = {{4, {Errc::refused, Phase::connect, long_text, long_text}}};
  facts.exits = {{5, 1}};
  facts.exits[0].text = long_text;
  const auto told = received(wire::encode_frames(facts).value(), wire::LinkReader::From::child);
  REQUIRE(told.size() == 1);
  CHECK(get<wire::Facts>(told[0]).hosts_failed[0].error.fix.size() == wire::kMostText<Error>);
  CHECK(get<wire::Facts>(told[0]).exits[0].text.size() == wire::kMostText<wire::ProcessExit>);
}

TEST_CASE("a launcher that cannot say something to its parent says why", "[too_large]") {
  SmallWorld world{{.hosts = 3, .shape = {1, 3}}};
  world.at(5s, [&world] { world.forge(2, wire::NewHostKey{2, {"ssh-rsa", std::string(1U << 20, 'k')}}); });
  for (Actor& actor : world.actors) actor.fate = Actor::Fate::stays;

  world.run();

  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  CHECK(world.said_anywhere(
      "n02: run: a message between launchers is too large (NewHostKey, 1024.0 KiB of at most 16 KiB)",
      Tone::error));
  CHECK(world.alive() == 0);
}

}  // namespace charmtree::too_large_test
