// SPDX-License-Identifier: Apache-2.0
// Any bytes, in any pieces, from any number of connections, mixed with any calls of the engine: a CharmServer
// keeps its promises to both sides. The input is a list of steps; each begins with a byte that says what
// happens, see step().
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/fuzz/script.hpp"
#include "tree/clients/charm_server.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/messages.hpp"

namespace {

using namespace charmtree;
using namespace charmtree::proto;

constexpr LocalProcesses kLocal{3, 4, 9};
constexpr std::size_t kSpare = 3;
constexpr std::size_t kMaxNotes = 8;

using charmtree::fuzz::require;

class Input {
public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    return rest_.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes(1).front());
  }
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

private:
  std::string_view rest_;
};

/// What the server has told so far about one process.
struct Told {
  bool registered = false, table = false, aborted = false, over = false;  // over: ended or lost
  bool asks = false, answered = false;  // a question is open; it is being answered
  bool begun = false;                   // the answer has been, a byte at a time
  bool pairs = false;                   // the question was a list of queue pairs
  bool refused = false;
  std::array<bool, kBarrierKinds> entered{}, may_release{};
  std::deque<std::uint32_t> requests;     // tokens of those that wait for it
  bool given = false;                     // the table, which may be held back
  std::uint32_t untold = 0, unacked = 0;  // crashes that it has not been told of, or has not said to know of
};

/// Both neighbours of a server: the shell and the engine.
class World {
public:
  void step(Input& in);
  void end() {
    server_.finish(outputs_);
    finished_ = true;
    check();
    require(open_.empty() && server_.next_deadline() == kNever);
  }

private:
  void open();
  ClientId choose(std::uint8_t n) const {
    if (open_.empty()) return 0;
    return *std::next(open_.begin(), n % static_cast<std::ptrdiff_t>(open_.size()));
  }
  void say(ClientId client, std::string_view bytes) {
    speaker_ = client;
    if (open_.contains(client)) server_.received(client, bytes, now_, outputs_);
  }
  void table(std::uint32_t pes);
  void recover(std::uint32_t crashed);
  void release(BarrierKind kind);
  void answer(std::uint32_t process, std::string_view input, bool printed);
  void request(std::uint32_t process, std::size_t count);
  void check();

  Told& told(std::uint32_t process) {
    require(kLocal.contains(process));
    Told& t = told_[process];
    require(t.registered);
    return t;
  }
  void check(const ToClient& output);
  void check(const CloseClient& output) { require(open_.erase(output.client) == 1); }
  void check(const Registered& output);
  void check(const BarrierEntered& output);
  void check(const Printed& output);
  void check(const ScanRequested& output);
  void check(const Ended& output) {
    require(!std::exchange(told(output.process).over, true) && told(output.process).requests.empty());
  }
  void check(const Aborted& output) {
    require(output.code == 1 && !told(output.process).over &&
            !std::exchange(told(output.process).aborted, true));
  }
  void check(const ClientLost& output) {
    require(!finished_ && !std::exchange(told(output.process).over, true));
    require(told(output.process).requests.empty());
    require(!output.why.empty() && output.why.size() < 200);
    require(std::all_of(output.why.begin(), output.why.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
  void check(const TableDelivered& output) { require(!std::exchange(told(output.process).table, true)); }
  void check_request(Told& t, std::string_view payload);
  void check(const RequestAnswered& output);
  void check(const CrashAcked& output) { require(std::exchange(told(output.process).unacked, 0) > 0); }
  void check(const Joined&) { require(false); }  // who has no tuple is no Charm++ client
  template <class Other>                         // not of this protocol
  void check(const Other&) {
    require(false);
  }
  void check(const ResizeAsked&) { require(false); }
  void check(const Refused& output) {
    require(kLocal.contains(output.process) && !told_[output.process].registered);
    require(!std::exchange(told_[output.process].refused, true));
  }
  void check(const QueuePairsGiven& output) {
    Told& t = told(output.process);
    require(output.pairs.size() == (kLocal.total - 1) * wire::QueuePairs::kQueuePair);
    require(t.table && !t.over && !std::exchange(t.asks, true) && !std::exchange(t.pairs, true));
  }
  void check(const Unheard&) { require(false); }  // nobody is watched
  void check(const wire::Silence&) { require(false); }
  void check(const ClientNote& output) { require(++notes_ <= kMaxNotes && output.text.size() < 300); }

  CharmServer server_{kLocal, CharmLimits{10s, kSpare, 1s, 2}};
  ClientOutputs outputs_;
  Instant now_{};
  ClientId next_client_ = 1;
  ClientId speaker_ = 0;                      // whose bytes were given in last
  std::set<ClientId> open_;                   // neither side has closed it
  std::map<ClientId, std::uint32_t> owners_;  // registered connections
  std::map<std::uint32_t, Told> told_;
  std::size_t notes_ = 0;
  std::uint32_t last_token_ = 0;
  bool finished_ = false;
};

void World::step(Input& in) {
  static constexpr std::array<std::string_view, 16> kTypes{
      "print",  "printerr", "printsyn", "printerrsyn", "scanf",    "barrier",   "barrier0", "ping",
      "ending", "abort",    "reply_fw", "die",         "initnode", "crash_ack", "realloc",  "qplist"};
  const std::uint8_t what = in.byte();
  const std::uint8_t who = in.byte();
  const std::uint32_t process = kLocal.first + who % kLocal.count;
  switch (what % 13) {
    case 0:
      open();
      break;
    case 1:
      say(choose(who), in.bytes(in.byte()));
      break;
    case 2: {  // a whole message
      const std::string_view type = kTypes[in.byte() % kTypes.size()];
      say(choose(who), wire::make_charm_message(type, in.bytes(in.byte() % 128)));
      break;
    }
    case 3: {  // a good initnode on the newest connection
      std::string payload(wire::kCharmInitnode, '\0');
      payload[3] = static_cast<char>(who);
      open();
      say(next_client_ - 1, wire::make_charm_message("initnode", payload));
      break;
    }
    case 4: {
      const ClientId client = choose(who);
      if (open_.erase(client) == 1) server_.closed(client, now_, outputs_);
      break;
    }
    case 5:
      now_ += Duration{who * 100'000'000LL};
      server_.tick(now_, outputs_);
      require(server_.next_deadline() > now_);
      break;
    case 6:
      table(1 + who % 3);
      break;
    case 7:
      release(who % 2 == 0 ? BarrierKind::all : BarrierKind::root);
      break;
    case 8:
      answer(process, {}, true);
      break;
    case 9:
      answer(process, in.bytes(in.byte() % 16), false);
      break;
    case 10:
      recover(who);
      break;
    case 11:
      told_[process].answered = true;
      server_.queue_pairs(process, std::string(kLocal.total * wire::QueuePairs::kQueuePair, '\1'), outputs_);
      break;
    case 12:
      request(process, 1U + in.byte() % 16U);
      break;
  }
  check();
}

void World::open() {
  open_.insert(next_client_);
  server_.opened(next_client_++, now_, outputs_);
}

wire::Blob make_table(std::uint32_t pes) {
  wire::NodeTable table{0, pes, {}};
  for (std::uint32_t host = 0; host < 3; ++host) {
    const std::array<std::uint32_t, 4> first{0, kLocal.first, kLocal.first + kLocal.count, kLocal.total};
    table.blocks.push_back(
        {host, first[host], 0x7f000001, std::vector<wire::Tuple>(first[host + 1] - first[host])});
  }
  return wire::encode(table);
}

void World::table(std::uint32_t pes) {
  for (auto& [process, t] : told_) t.given = t.given || (t.registered && !t.over);
  server_.table(make_table(pes), outputs_);
}

/// What has been told of barriers is void.
void World::recover(std::uint32_t crashed) {
  for (auto& [process, t] : told_) {
    t.entered = {};
    if (!t.given || t.over) continue;
    ++t.untold;
    ++t.unacked;
  }
  server_.recover(make_table(1), crashed, outputs_);
}

void World::release(BarrierKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  for (auto& [process, t] : told_) {
    if (std::exchange(t.entered[k], false)) t.may_release[k] = kind == BarrierKind::all || process == 0;
  }
  server_.release(kind, outputs_);
}

void World::answer(std::uint32_t process, std::string_view input, bool printed) {
  told_[process].answered = true;
  if (printed) {
    server_.printed(process, outputs_);
  } else {
    server_.scanned(process, input, outputs_);
  }
}

void World::request(std::uint32_t process, std::size_t count) {
  for (; count > 0; --count) {
    told_[process].requests.push_back(++last_token_);
    server_.request(process, wire::make_ccs_forward({0, "handler", {}, {}}, {1, 2, last_token_}), outputs_);
  }
}

void World::check() {
  for (const ClientOutput& output : outputs_) {
    dispatch([this](const auto& each) { check(each); }, output);
  }
  outputs_.clear();
  for (auto& [process, t] : told_) {
    t.answered = false;
    require(t.requests.empty() || (t.registered && !t.over));
  }
  const auto strangers =
      std::count_if(open_.begin(), open_.end(), [this](ClientId id) { return !owners_.contains(id); });
  require(static_cast<std::size_t>(strangers) <= kSpare + kLocal.count);
}

void World::check(const ToClient& output) {
  require(open_.contains(output.client) && owners_.contains(output.client));
  Told& t = told(owners_[output.client]);
  if (t.asks && output.bytes.size() == 1) {
    t.begun = true;
    return;
  }
  if (t.begun) {
    require(t.asks && t.answered);
    t.asks = t.begun = false;
    return;
  }
  require(output.bytes.size() >= wire::kCharmHeader);
  const std::string type{output.bytes.c_str() + 4};
  if (type == "printdone" || type == "scanf-data") {
    require(t.asks && t.answered && !t.pairs);
    t.asks = false;
    return;
  }
  if (type == "qpdata") {
    require(std::exchange(t.asks, false) && t.answered && std::exchange(t.pairs, false));
    return;
  }
  require(!t.asks && !t.over);
  if (type == "initnodetab") {
    require(t.table && output.bytes.size() + output.tail->size() == 24 + 24 * std::size_t{kLocal.total});
  } else if (type == "barrier" || type == "barrier0") {
    require(t.table && std::exchange(t.may_release[type == "barrier" ? 0 : 1], false));
  } else if (type == "crashnode") {
    require(t.table && t.untold-- > 0 && output.bytes.size() == wire::kCharmHeader + 4);
  } else if (type == "req_fw") {
    require(t.table);
    check_request(t, std::string_view{output.bytes}.substr(wire::kCharmHeader));
  } else {
    require(type == "die" && finished_);
  }
}

/// They come in order; the launcher's own, without a token, only for one that waits.
void World::check_request(Told& t, std::string_view payload) {
  require(payload.size() >= wire::kCcsForwardedHeader && !t.requests.empty());
  const std::uint32_t token = wire::parse_ccs_forwarded(payload).token;
  if (token == 0) return;
  require(token == t.requests.front());
  t.requests.pop_front();
}

/// A process may answer what it likes, even when it has ended; what it will not get fails.
void World::check(const RequestAnswered& output) {
  if (output.failure.empty()) return require(owners_.at(speaker_) == output.process);
  Told& t = told_[output.process];
  const auto failed = std::find(t.requests.begin(), t.requests.end(), output.token);
  require(failed != t.requests.end() && output.answered && output.bytes.empty());
  t.requests.erase(failed);
}

void World::check(const Registered& output) {
  require(kLocal.contains(output.process) && !finished_);
  require(!told_[output.process].refused && !std::exchange(told_[output.process].registered, true));
  require(owners_.emplace(speaker_, output.process).second);
}

void World::check(const BarrierEntered& output) {
  require(!std::exchange(told(output.process).entered[static_cast<std::size_t>(output.kind)], true));
}

void World::check(const Printed& output) {
  if (output.wants_receipt) require(!std::exchange(told(output.process).asks, true));
}

void World::check(const ScanRequested& output) {
  require(!std::exchange(told(output.process).asks, true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in{data, size};
  World world;
  while (!in.empty()) world.step(in);
  world.end();
  return 0;
}
