// SPDX-License-Identifier: Apache-2.0
// A launcher that has been taken over says to the root whatever it likes: messages of every type, at their
// worst, again and again, and takes no answer, or takes answers slowly. The root may end its link; its memory
// must not grow by more than kMost, nor with each message without end.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/memory/heap.hpp"
#include "tests/memory/worst_cases.hpp"
#include "tests/unit/plans.hpp"
#include "tree/base/random.hpp"
#include "tree/node/node.hpp"
#include "tree/overlay/link_flow.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/greeting.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/message_members.hpp"

using namespace charmtree;
using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr std::size_t kMib = 1U << 20;
constexpr std::size_t kMost = 32 * kMib;
/// A flood has so many bytes and messages at most. A sanitizer needs few messages of each kind to find what
/// is wrong with them; what many of them leave behind is counted without one.
#ifdef CHARMTREE_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr std::size_t kFlood = (kSanitized ? 1 : 8) * kMib;
constexpr std::uint32_t kMessages = kSanitized ? 8 : 4000;
/// Of what has taken nothing from the one of these messages to the other there need not be more: a container
/// that grows has taken more memory meanwhile.
constexpr std::uint32_t kEarly = 40, kSteady = 130;
/// The second half of a flood leaves nothing behind, but for this.
constexpr std::size_t kTrifle = 4096;
constexpr LinkId kChild = 1;

/// A root whose only child, on host 0, was given all other hosts. Its user reads nothing; the child takes
/// what the test lets it take (take_answers).
class Root {
public:
  Root(const RootPlan& plan, const Speaker& speaker) : node_(plan, 1), speaker_(speaker) {
    on(Begin{});
    for (int i = 0; i < 3; ++i) {
      now_ = std::max(now_, std::min(node_.next_deadline(), now_ + 1s));
      on(Tick{});
    }
    on(LinkUp{kChild, {}, {}, {}});
    hear(wire::Hello{now_, 1});
    (void)reader_.append(wire::make_greeting());
  }

  /// All hosts have started their processes.
  void run() {
    for (std::uint32_t host = 0; host < speaker_.hosts; ++host) {
      wire::Facts facts;
      facts.hosts_up = {host};
      hear(facts);
    }
  }

  void feed(std::uint8_t type, std::string_view payload) {
    const std::string header = wire::make_frame_header(type, payload.size());
    take(header);
    constexpr std::size_t kRead = 64U << 10;
    for (; !payload.empty() && !closed_; payload.remove_prefix(std::min(kRead, payload.size())))
      take(payload.substr(0, kRead));
  }
  bool closed() const { return closed_; }
  /// Bytes that were sent to the child, and those of them that wait.
  std::size_t answered() const { return answered_; }
  std::size_t waiting() const { return waiting_; }
  /// The child is not read, because its answers wait.
  bool is_held() const { return flow_.held(kChild) != LinkFlow::Held::no; }
  /// The child takes so many bytes at most; then it may be read again.
  void take_answers(std::size_t most) {
    waiting_ -= std::min(most, waiting_);
    flow_.look(kChild, waiting_, now_);
    take({});
  }

private:
  void take(std::string_view bytes) {
    if (closed_) return;
    received_ += bytes.size();
    if (!reader_.append(bytes).ok()) return hang_up();
    while (!closed_ && !is_held()) {
      auto message = reader_.next(node_.remit(kChild));
      if (!message) return hang_up();
      if (!message->has_value()) return;
      on(LinkMessage{kChild, std::move(**message)});
    }
  }
  void hear(const wire::Message& message) { on(LinkMessage{kChild, message}); }
  void hang_up() {
    on(LinkDown{kChild, {Errc::bad_peer, Phase::run, "garbage"}});
    closed_ = true;
  }

  void on(const Event& event) {
    Actions out;
    node_.on(event, now_, out);
    for (Action& action : out) {
      if (const auto* send = get_if<Send>(&action)) {
        const auto frames = wire::encode_frames(send->message);
        const std::size_t size = frames.ok() ? frames->size() : 0;
        answered_ += size;
        waiting_ += size;
        flow_.sent(kChild, size, waiting_, kChild, now_);
        continue;
      }
      if (const auto* close = get_if<CloseLink>(&action); close != nullptr && close->link == kChild)
        closed_ = true;
      const bool is_kept = holds_alternative<Say>(action) || holds_alternative<Show>(action) ||
                           holds_alternative<Record>(action) || holds_alternative<Sign>(action) ||
                           holds_alternative<Examined>(action) || holds_alternative<StoreHostKey>(action);
      if (is_kept) kept_.push_back(std::move(action));
    }
  }

  Node node_;
  Instant now_{100s};
  Speaker speaker_;
  wire::LinkReader reader_{wire::LinkReader::From::child, node::kMessageTypes};
  std::vector<Action> kept_;
  LinkFlow flow_;
  std::size_t answered_ = 0, received_ = 0, waiting_ = 0;
  bool closed_ = false;
};

RootPlan plan_of(const Speaker& speaker) {
  RootPlan plan = test::plan_of(speaker.hosts);
  plan.job.id = "0123456789abcdef";
  plan.job.secret = std::string(32, 's');
  plan.job.profiles.resize(1);
  plan.job.profiles[0].host_keys = HostKeyPolicy::accept_new;
  plan.job.processes = speaker.processes();
  plan.job.launch.shape = {1, 0};
  plan.job.reports.stamps = plan.job.reports.bindings = true;
  for (Host& host : plan.hosts) {
    host.processes = speaker.processes_of_host;
    host.first_process = host.index * speaker.processes_of_host;
  }
  return plan;
}

/// Jobs in which a launcher may say different things.
struct Kind {
  const char* name;
  void (*change)(RootPlan&);
};
const std::vector<Kind> kKinds = {
    {"plain", [](RootPlan&) {}},
    {"goes on, may be taken over",
     [](RootPlan& plan) {
       plan.job.loss.recovery = wire::Recovery::go_on;
       plan.job.loss.keep_alive = 60s;
       plan.tells_progress = plan.job.reports.watched = true;
     }},
    {"restarts processes in place",
     [](RootPlan& plan) {
       plan.job.input.to_all = true;
       plan.job.loss.recovery = wire::Recovery::in_place;
       plan.restart.emplace();
     }},
    {"is resized", [](RootPlan& plan) { plan.job.resizes = true; }},
    {"counts by processors, waits for late hosts",
     [](RootPlan& plan) {
       plan.job.launch.on_host_failure = wire::OnHostFailure::drop;
       plan.job.launch.shape = {};
       plan.job.provision.process_unit = CpuUnit::core;
       plan.job.provision.processes = 1;
     }},
    {"checkup", [](RootPlan& plan) { plan.job.checkup = true; }},
};

/// The first thing that is wrong with a flood of such messages; empty: nothing.
std::string flood(Root& root, std::uint8_t type, const Making& making, const Speaker& speaker) {
  const std::size_t before = Heap::live();
  std::size_t bytes = 0, half = 0, early = 0;
  std::uint32_t turn = 0;
  for (; turn < kMessages && bytes < kFlood && !root.closed() && !root.is_held(); ++turn) {
    const std::size_t without = Heap::live();
    const std::string payload = make_payload(type, making, speaker, turn);
    const std::size_t ours = Heap::live() - without;
    (void)Heap::take_peak();
    root.feed(type, payload);
    const std::size_t peak = Heap::take_peak() - ours;
    if (peak > before + kMost) return fmt::format("message {} takes {} KiB", turn, (peak - before) >> 10);
    bytes += payload.size() + wire::kFrameHeader;
    if (turn == kEarly) early = Heap::live() - ours;
    if (turn == kSteady && Heap::live() - ours <= early) break;
    if (half == 0 && (turn >= kMessages / 2 || bytes >= kFlood / 2)) half = Heap::live() - ours;
  }
  // Of many processes each may have something to be kept.
  if (!kSanitized && !root.closed() && speaker.hosts <= Speaker{}.hosts && half != 0 &&
      Heap::live() > half + kTrifle)
    return fmt::format("the second half of {} messages leaves {} bytes behind", turn, Heap::live() - half);
  if (root.waiting() > LinkFlow::kHeldAbove + wire::kMostAnswered + kMib)
    return fmt::format("{} bytes wait for it", root.waiting());
  if (root.answered() > bytes + kMib)
    return fmt::format("{} bytes are answered to {}", root.answered(), bytes);
  return {};
}

std::vector<Making> makings(std::uint8_t type, const Speaker& speaker) {
  using Long = Making::Long;
  using Size = Making::Size;
  const wire::MessageType& known = *node::kMessageTypes.find(type);
  const std::size_t room =
      wire::most_payload(known, {speaker.hosts, speaker.processes()}) - 2 * wire::kFrameHeader;
  const Making plain{SIZE_MAX, Long::poor, Size::hosts, room};
  if (known.goes_down()) return {plain};
  const std::vector<Length> lengths = lengths_of(type);
  std::vector<Making> all{plain, {SIZE_MAX, Long::poor, Size::hosts, room, true}};
  for (std::size_t longest = 0; longest < lengths.size(); ++longest) {
    if (lengths[longest] == Length::text) {
      all.push_back({longest, Long::poor, Size::bytes, room});
      all.push_back({longest, Long::poor, Size::bytes, wire::kMostText<Error> - 1});
      continue;
    }
    for (const Long how : {Long::poor, Long::rich}) {
      for (const Size size : {Size::hosts, Size::processes, Size::bytes})
        all.push_back({longest, how, size, room});
    }
    if (lengths[longest] == Length::tuples) all.push_back({longest, Long::entries, Size::bytes, room});
  }
  return all;
}

/// What is wrong with them, of each type one thing.
std::vector<std::string> wrong_floods(const Speaker& speaker, const Kind& kind, bool running) {
  RootPlan plan = plan_of(speaker);
  kind.change(plan);
  std::vector<std::string> wrong;
  for (const wire::MessageType* each : node::kMessageTypes.all()) {
    if (each == nullptr) continue;
    const std::uint8_t type = each->number;
    for (const Making& making : makings(type, speaker)) {
      Root root{plan, speaker};
      if (running) root.run();
      const std::string why = flood(root, type, making, speaker);
      if (why.empty()) continue;
      wrong.push_back(fmt::format("{}{}: type {}, length {}, made {}, {}: {}", kind.name,
                                  running ? ", running" : "", type, making.longest,
                                  static_cast<int>(making.how), static_cast<int>(making.size), why));
      break;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("whatever a child says, the root does not run out of memory", "[memory]") {
  for (const Kind& kind : kKinds) {
    for (const bool running : {false, true}) {
      for (const std::string& wrong : wrong_floods({}, kind, running)) FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE("a child that takes its answers slowly gets all of them, and little of them waits", "[memory]") {
  constexpr std::size_t kTaken = 256U << 10, kRequests = 64;
  const Speaker speaker;
  const auto type = wire::InquiryReply::kNumber;
  const Making making{0, Making::Long::poor, Making::Size::bytes, wire::kMostAnswered - kMib / 16};
  Root root{plan_of(speaker), speaker};
  root.run();
  const std::size_t before = root.answered();
  std::size_t held = 0, most = 0;
  for (std::uint32_t turn = 0; turn < kRequests; ++turn) {
    for (; root.is_held(); ++held) root.take_answers(kTaken);
    root.feed(type, make_payload(type, making, speaker, turn));
    most = std::max(most, root.waiting());
  }
  REQUIRE_FALSE(root.closed());
  CHECK((held > 0 && most < LinkFlow::kHeldAbove + 2 * kMib));
  while (root.is_held()) root.take_answers(kTaken);
  CHECK(root.answered() - before > kRequests * making.room);
}

TEST_CASE("nor does the root where the child may speak for many", "[memory]") {
  for (const std::string& wrong : wrong_floods({128, 4}, kKinds.front(), false)) FAIL_CHECK(wrong);
}

TEST_CASE("nor by mutated messages", "[memory]") {
  Random random{7};
  const Speaker speaker;
  const RootPlan plan = plan_of(speaker);
  for (const wire::MessageType* each : node::kMessageTypes.all()) {
    if (each == nullptr) continue;
    const std::uint8_t type = each->number;
    for (std::uint32_t turn = 0; turn < 100; ++turn) {
      const Making making{turn % std::max<std::size_t>(1, lengths_of(type).size()), Making::Long::poor,
                          Making::Size::hosts, 4096};
      std::string payload = make_payload(type, making, speaker, turn);
      for (std::uint64_t flips = 1 + random.below(6); flips > 0 && !payload.empty(); --flips)
        payload[random.below(payload.size())] = static_cast<char>(random.next());
      Root root{plan, speaker};
      const std::size_t before = Heap::live();
      (void)Heap::take_peak();
      root.feed(type, payload);
      const std::size_t peak = Heap::take_peak();
      if (peak > before + kMib) FAIL_CHECK(fmt::format("type {} takes {} KiB", type, (peak - before) >> 10));
    }
  }
}
