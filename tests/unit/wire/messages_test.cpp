// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/messages.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <stdexcept>

#include "tree/base/random.hpp"
#include "tree/node/services.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::messages_test {

using namespace charmtree::wire;

namespace {

Profile full_profile() {
  Profile profile;
  profile.via = Via::command;
  profile.shell = {"ssh", "-p", "2222"};
  profile.user = "joe";
  profile.port = 2222;
  profile.identity_files = {"/home/joe/.ssh/id", "b"};
  profile.identities_only = true;
  profile.agent = "/run/agent";
  profile.algorithms = {"curve25519-sha256", "ssh-ed25519,ssh-rsa", "aes256-ctr", "hmac-sha2-256",
                        "ssh-ed25519"};
  profile.forwarded_keys = {std::string{"\0blob", 5}, "c"};
  profile.host_keys = HostKeyPolicy::no_check;
  profile.ssh_command_only = true;
  profile.launcher = "/opt/charmrun";
  profile.program = "/scratch/app";
  profile.further_programs = {"/scratch/b"};
  profile.directory = "/scratch/with blank";
  profile.setup = "module load x";
  profile.extra_arguments = {"+nice", "5"};
  return profile;
}

Host full_host() {
  Host host{7, "n07", "10.0.0.7", 1, 5, 28, 4, {{"ssh-ed25519", std::string{"\0\xff key", 6}}}, true};
  return host;
}

JobSpec full_job() {
  JobSpec job;
  job.id = "0123456789abcdef";
  job.secret = std::string(32, '\x80');
  job.arguments = {"app", "", "a b", "\xff\n"};
  job.spawn.environment = {"A=1", "B=x=y\n"};
  job.hosts = 3;
  job.processes = 12;
  job.pes_per_process = 4;
  job.input.process = 5;
  job.input.to_all = job.input.is_typed = true;
  job.magic = 32767;
  job.spawn.mpi = {wire::MpiService::Pmi::none,
                   wire::MpiService::Pmix::needed,
                   {{0, 2, 1}, {3, 1, 2}},
                   {"h0", "h1", "h2", "h3"},
                   "space",
                   1024};
  job.launch = {{4, 3}, 9, 11, 7'000'000, OnHostFailure::spare, 5s, 6s, 3ms, 300ms};
  job.timeout = 7s;
  job.grace = 1500ms;
  job.spawn.keep_address_randomisation = job.reports.stamps = job.private_network = true;
  job.output.partial_line = {100ms, 5s};
  job.output.raw = job.output.labelled = true;
  job.spawn.umask = 077;
  job.spawn.limits = {UINT64_MAX, 8U << 20, 1U << 16, 1000};
  job.spawn.held = true;
  job.spawn.network = "10.7.0.0/16";
  job.spawn.runscript = "/run/script";
  job.spawn.further = {{7, {"./b", "x"}, {"C=3"}}};
  job.profiles = {full_profile(), full_profile()};
  job.checkup = job.resizes = true;
  job.terminal = Terminal{{24, 80}, false};
  job.provision = {CpuUnit::socket, 2, CpuUnit::pu, true, false};
  job.spawn.bind = CpuUnit::numa;
  job.reports.bindings = true;
  job.spawn.fork_clients = ForkClients::always;
  job.output.spool = 5U << 20;
  job.reports.watched = true;
  job.loss = {Recovery::by_program_or_whole, 4, 90s};
  job.heartbeat = {100ms, 2s, 3s};
  job.silence = {70s, true};
  job.session = true;
  return job;
}

Facts full_facts() {
  Facts facts;
  facts.hosts_up = {1, 2, 300};
  facts.hosts_failed = {{4, {Errc::refused, Phase::connect, "refused", "fix"}}};
  facts.blocks = {{1, 4, 0x0A000001, {{4000, "tuple"}, {4001, ""}}}};
  facts.epoch = 7;
  facts.barrier = {1, 2, 3};
  facts.crash_acks = 4;
  facts.registered = 2;
  facts.joined = 3;
  facts.ended = 1;
  facts.code = Code{4, -3};
  facts.exited_ok = 6;
  facts.first_ok = 8;
  facts.exits = {{5, 1, 11, true, true, true, true, true, true, "text", "words", true}};
  facts.topologies = {{1, 2, {2, 8, 16}}, {300, 1, {1, 4, 4}}};
  facts.random_layout = {3, 4};
  facts.blind = {4, 5};
  facts.who_ended = {{1, 2}, {300, 300}};
  facts.started_by = {{1, 2}};
  facts.process_ids = {{1, 4, {4711, 4712, 0, 4194304}}, {2, 8, {7}}};
  facts.peers = {5, 1, 9, 20};
  return facts;
}

// At least one of every type, no member at its default.
std::vector<Message> messages_down() {
  return {Welcome{encode(full_job()), full_host(), 3},
          Assign{{full_host(), {}}, 12},
          TableDown{encode(NodeTable{2, 4, full_facts().blocks})},
          Release{2},
          Receipt{9},
          ScanReply{9, "12 "},
          input::Input{std::string{"a\0b", 3}, true},
          input::RecallInput{},
          End{EndMode::kill, 9, true},
          ForwardSignal{10},
          Suspend{false},
          Sweep{"0123456789abcdef", 4},
          Numbers{encode(std::vector<Share>{{2, 0, 3}, {4, 3, 1}}), 7},
          SignReply{3, 4, std::string{"\0signature", 10}},
          Restart{3, 2, 4, true, true},
          Moved{{{7, 3, 2}, {9, 5, 1}}},
          Recover{3, {3, 5}, encode(NodeTable{3, 4, full_facts().blocks})},
          Admit{3},
          CcsForward{4, false, "request"},
          input::Resize{{24, 80}},
          Regroup{},
          Reshape{encode(std::vector<Share>{{2, 0, 3}}), {"app", "+restart"}},
          QueuePairsDown{{4, 1, 2, 2, std::string(24, '\x80')}},
          OutputCredit{65536},
          CcsSpread{9, true, false, false, {{1, 2}, {7, 7}}, "request"},
          Lost{3, {{1, 2}, {7, 7}}},
          Beat{},
          Punctual{false},
          Renewed{3, {{2, 7, 0x0A000001, {{0, "tuple"}}}}},
          Readmit{7, 12, encode(NodeTable{})},
          OutputTaken{{{3, 17}, {4, 1}}},
          Resend{},
          Relaunch{encode(full_job())},
          Adopt{"0123456789abcdef", 4, "@charmtree-adoption-00"},
          Relayed{"10.0.0.1 40000 10.0.0.2 22"},
          Claim{"nonce", std::string{"\0proof", 6}, 2, 3, {{1, 2}, {7, 7}}, {4, 5, 6}, true},
          kvs::FenceDown{
              {2, {{0, 3}, {7, 7}}, 5}, "why not", std::make_shared<const std::string>("given"), 7, true},
          kvs::RingDown{7, 2, {{0, "left", "right"}, {9, "", "last"}}},
          Inquired{9, 1, {3, 5}, "key"},
          Answered{1, 9, {3, 5}, "why", "given"},
          WorldBegun{3, 1, {{4, {"a", "b"}, {"A=b"}, true, "/tmp"}}, {{0, 4, 2}, {3, 6, 1}}, "given"},
          stacks::StacksWanted{3, true, true, 5s},
          debug::DebugOrder{2, 7, debug::DebugOrder::What::command, true, "print x", {{0, 3}, {7, 7}}},
          debug::ToolOrder{
              2, debug::ToolOrder::What::begin, true, 4096, {"gdb", "-i", "dap"}, {}, {{0, 3}, {7, 7}}},
          staging::StagedPiece{3, 1U << 20, "bytes"},
          staging::PieceRefused{3, {Errc::spawn_failed, Phase::spawn, "no room", "make some"}}};
}

std::vector<Message> messages_up() {
  Stamps stamps{3, 1, 2, 3};
  stamps.times[Stamps::hello] = Instant{-5s};
  stamps.times[Stamps::table] = Instant{1h};
  return {
      Hello{Instant{12345ns}, 77},
      full_facts(),
      Output{1, 2, true, "text\nmore", Tail::prompt, Instant{99ns}, 5, true},
      ScanUp{1, "%d"},
      AbortUp{1, -7, "why"},
      HandBack{{{4, {Errc::no_such_host, Phase::resolve, "x", "y"}}}},
      NewHostKey{4, {"ssh-rsa", "blob"}},
      Note{4, "note", true},
      input::InputTaken{4096},
      input::InputReturned{"rest"},
      stamps,
      LinkLost{4, {Errc::link_lost, Phase::run, "x", "y"}, {{8, 11}, {20, 20}}, true, {4, 9}, true},
      Done{{1, 2}},
      Swept{3},
      Ask{7, 13},
      SignRequest{3, 4, 5, std::string{"\0data", 5}},
      Checkup{3,
              Instant{5s},
              -1,
              0x0A000001,
              "machine",
              1024,
              Checkup::kUnlimited,
              2,
              3,
              {{Errc::no_program, Phase::spawn, "x", "y"}}},
      Rejoined{3, 4000, 0x0A000001, "tuple"},
      CcsAnswer{4, 7, false, 5, "reply"},
      Bindings{4, {{Binding::By::itself, CpuUnit::core, 2, 1, {2, 10}}, {}}},
      PesWanted{1, 4},
      Left{3},
      QueuePairsUp{{1, 2, 3, 1, std::string(24, '\1')}},
      BeatUp{},
      WasPunctual{},
      Waiting{4, "nonce"},
      Claimed{"proof", 3, {{1, 2}, {7, 7}}, {4, 5, 6}, true},
      Taken{"proof"},
      Reached{4, {{8, 11}, {20, 20}}},
      Idle{{1, 2}, {2}},
      Confirmed{{1, 2}},
      Fenced{3},
      Silence{5, Silence::State::stopped, 61s},
      kvs::FenceUp{{2, {{0, 3}, {7, 7}}, 5}, 3, 4, "given", 70000},
      kvs::RingUp{7, 2, {{0, 4, "head", "tail"}, {9, 9, "", ""}}},
      Inquiry{1, 9, {3, 5}, "key"},
      InquiryReply{9, 1, {3, 5}, "why", "given"},
      NameInquiry{1, {2, 6}, NameInquiry::Deed::look_up, "name", "value"},
      WorldWanted{1, {2, 7}, {{{0, {"a", "b"}, {"A=b"}, true, "/tmp"}, 3, {"n1"}}}, "given"},
      stacks::StacksUp{3, {{"main", "work"}, {{{0, 1}, stacks::Motion::computes, 4, {{0, 2}, {7, 7}}}}}},
      debug::DebugUp{
          2, 7, {{{debug::DebugAnswer::Kind::stopped, "x = \x1a", {{"1", "9"}}, 4, {{0, 2}, {7, 7}}}}, 1}},
      debug::ToolSaid{2, debug::ToolSaid::What::output, 0, "Content-Length: 2\r\n\r\n{}", {{7, 7}}},
      staging::PieceWanted{3, 1U << 20, 1U << 21, true}};
}

std::vector<Message> every_message() {
  std::vector<Message> all = messages_down();
  for (Message& message : messages_up()) all.push_back(std::move(message));
  return all;
}

Message one_of(std::uint8_t number) {
  auto all = every_message();
  for (Message& message : all) {
    if (message.number() == number) return std::move(message);
  }
  throw std::out_of_range{"no such message"};
}

std::string payload_of(const Message& message) {
  return encode_frames(message).value().substr(kFrameHeader);
}
std::uint8_t type_of(const Message& message) {
  return message.number();
}

}  // namespace

TEST_CASE("every message type survives the wire", "[messages]") {
  const auto all = every_message();
  std::set<std::uint8_t> types;
  for (const Message& message : all) {
    CAPTURE(message.type().name);
    types.insert(message.number());
    const auto decoded = node::kMessageTypes.decode(type_of(message), payload_of(message));
    REQUIRE(decoded);
    CHECK(decoded->number() == message.number());
    CHECK(encode_frames(*decoded).value() == encode_frames(message).value());
  }
  for (const MessageType* type : node::kMessageTypes.all())
    CHECK((type == nullptr || types.contains(type->number)));
}

TEST_CASE("job description and node table survive the wire", "[messages]") {
  const auto job = decode_job(*encode(full_job()));
  REQUIRE(job);
  CHECK(*job == full_job());
  const NodeTable table{2, 4, full_facts().blocks};
  const auto decoded = decode_table(*encode(table));
  REQUIRE(decoded);
  CHECK(*decoded == table);
}

TEST_CASE("members arrive where they belong", "[messages]") {
  const auto decoded = node::kMessageTypes.decode(type_of(full_facts()), payload_of(full_facts()));
  REQUIRE(decoded);
  const auto& facts = get<Facts>(*decoded);
  CHECK(facts.hosts_up == full_facts().hosts_up);
  CHECK(facts.hosts_failed == full_facts().hosts_failed);
  CHECK(facts.blocks == full_facts().blocks);
  CHECK(facts.barrier == full_facts().barrier);
  CHECK(facts.code == full_facts().code);
  CHECK(facts.exits == full_facts().exits);
  CHECK(facts.who_ended == full_facts().who_ended);
  CHECK(facts.started_by == full_facts().started_by);
  CHECK((facts.registered == 2 && facts.ended == 1 && facts.exited_ok == 6));
  const Message claimed = one_of(Claimed::kNumber), output = one_of(Output::kNumber);
  const auto heir = get<Claimed>(node::kMessageTypes.decode(type_of(claimed), payload_of(claimed)).value());
  CHECK((heir.epoch == 3 && heir.lost.size() == 2 && heir.releases[2] == 6 && heir.has_table));
  CHECK(get<Output>(node::kMessageTypes.decode(type_of(output), payload_of(output)).value()).is_oldest);
  const Message welcome = every_message()[0];
  CHECK(get<Welcome>(node::kMessageTypes.decode(0, payload_of(welcome)).value()).self == full_host());
}

TEST_CASE("an instant that is never stays never", "[messages]") {
  const Message message = one_of(Stamps::kNumber);
  const auto decoded = node::kMessageTypes.decode(type_of(message), payload_of(message));
  REQUIRE(decoded);
  const auto& times = get<Stamps>(*decoded).times;
  CHECK(times[Stamps::begun] == kNever);
  CHECK(times[Stamps::hello] == Instant{-5s});
}

TEST_CASE("the group of a fence rises, with gaps, and has somebody in it", "[messages]") {
  using Ranges = std::vector<ProcessSet::Range>;
  const auto is_one = [](Ranges group, std::uint32_t number) {
    const Message message = kvs::FenceUp{{2, std::move(group), number}, 0, 1, {}};
    return node::kMessageTypes.decode(type_of(message), payload_of(message)).ok();
  };
  CHECK(is_one({{0, 3}, {5, 5}}, 1));
  for (const Ranges& group :
       {Ranges{}, Ranges{{3, 2}}, Ranges{{4, 5}, {0, 1}}, Ranges{{0, 3}, {4, 5}}, Ranges{{0, 3}, {2, 5}}})
    CHECK_FALSE(is_one(group, 1));
  CHECK_FALSE(is_one({{0, 3}}, 0));
}

TEST_CASE("facts are empty only if they say nothing", "[messages]") {
  CHECK(Facts{}.empty());
  for (std::size_t kind = 0; kind < 3; ++kind) {
    Facts facts;
    facts.barrier[kind] = 1;
    CHECK_FALSE(facts.empty());
  }
  Facts topologies;
  topologies.topologies.emplace_back();
  CHECK_FALSE(topologies.empty());
  CHECK_FALSE(full_facts().empty());
}

TEST_CASE("every message has one direction", "[messages]") {
  CHECK(Welcome::kType.goes_down());
  CHECK(Sweep::kType.goes_down());
  CHECK(SignReply::kType.goes_down());
  CHECK_FALSE(Hello::kType.goes_down());
  CHECK_FALSE(Swept::kType.goes_down());
  CHECK_FALSE(Ask::kType.goes_down());
  CHECK_FALSE(SignRequest::kType.goes_down());
}

TEST_CASE("a payload that is cut off or has more behind it is no message", "[messages]") {
  for (const Message& message : every_message()) {
    CAPTURE(message.type().name);
    const std::string payload = payload_of(message);
    for (std::size_t size = 0; size < payload.size(); ++size) {
      const auto decoded =
          node::kMessageTypes.decode(type_of(message), std::string_view{payload}.substr(0, size));
      if (decoded.ok()) FAIL("decoded " << size << " of " << payload.size());
    }
    CHECK_FALSE(node::kMessageTypes.decode(type_of(message), payload + '\0').ok());
  }
}

TEST_CASE("values out of range are no message", "[messages]") {
  for (unsigned type = 0; type <= UINT8_MAX; ++type) {
    if (node::kMessageTypes.find(static_cast<std::uint8_t>(type)) == nullptr)
      CHECK_FALSE(node::kMessageTypes.decode(static_cast<std::uint8_t>(type), "").ok());
  }
  CHECK(node::kMessageTypes.decode(type_of(End{}), std::string{"\x02\x0f\x00", 3}).ok());
  CHECK_FALSE(
      node::kMessageTypes.decode(type_of(End{}), std::string{"\x03\x0f\x00", 3}).ok());      // no such mode
  CHECK_FALSE(node::kMessageTypes.decode(type_of(Receipt{}), "\xff\xff\xff\xff\x1f").ok());  // 33 bits
  CHECK_FALSE(
      node::kMessageTypes.decode(type_of(Done{}), "\xff\xff\xff\x7f").ok());  // a count without elements
  CHECK_FALSE(node::kMessageTypes.decode(type_of(AbortUp{}), std::string{"\x01\x80\x80\x80\x80\x20\x00", 7})
                  .ok());  // 2^32
  const Message far = Hello{kFarthest, 1}, farther = Hello{kFarthest + 1ns, 1};
  CHECK(node::kMessageTypes.decode(type_of(far), payload_of(far)).ok());
  CHECK_FALSE(node::kMessageTypes.decode(type_of(farther), payload_of(farther)).ok());
}

TEST_CASE("mutated bytes are refused or are a message that survives the wire", "[messages]") {
  Random random{4};
  std::size_t refused = 0, taken = 0;
  const auto all = every_message();
  for (int i = 0; i < 20'000; ++i) {
    const Message& message = all[random.below(all.size())];
    std::string payload = payload_of(message);
    for (std::uint64_t flips = 1 + random.below(4); flips > 0 && !payload.empty(); --flips)
      payload[random.below(payload.size())] = static_cast<char>(random.next());
    const auto decoded = node::kMessageTypes.decode(type_of(message), payload);
    if (!decoded) {
      ++refused;
      continue;
    }
    ++taken;
    const std::string again = payload_of(*decoded);
    const auto twice = node::kMessageTypes.decode(type_of(message), again);
    if (!twice || payload_of(*twice) != again) FAIL("type " << message.type().name << " is not stable");
  }
  CHECK(refused > 1000);
  CHECK(taken > 1000);
}

}  // namespace charmtree::messages_test
