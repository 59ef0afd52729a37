// SPDX-License-Identifier: Apache-2.0
// The native protocol from both ends. First byte even: the rest is what a launcher says to a client. Odd: a
// script of connections opened, bytes and messages received, time and engine calls, run against a
// NativeServer whose promises are checked.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/script.hpp"
#include "tree/clients/native_server.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/shared_values.hpp"

namespace {

using namespace charmtree;
using namespace charmtree::proto;
namespace native = charmtree::wire::native;

using charmtree::fuzz::require;

void hear(std::string_view bytes) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(bytes);
  for (;;) {
    const auto frame = decoder.next();
    if (!frame || !frame->has_value()) return;
    const auto message = native::decode_from_launcher(**frame);
    if (!message) continue;
    const std::string again = native::to_frame(*message);  // what was understood can be said
    wire::FrameDecoder second{wire::kMaxLinkFrame};
    second.append(again);
    const auto copy = second.next();
    require(copy.ok() && copy->has_value());
    require(native::decode_from_launcher(**copy).value() == *message);
  }
}

/// Takes a script apart; zeros at its end.
class Script {
public:
  explicit Script(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  std::uint8_t byte() {
    const std::uint8_t value = rest_.empty() ? 0 : static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(rest_.empty() ? 0 : 1);
    return value;
  }
  std::string_view bytes() {
    const std::size_t size = std::min<std::size_t>(byte(), rest_.size());
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }

private:
  std::string_view rest_;
};

class World {
public:
  void step(Script& script) {
    const std::uint8_t what = script.byte();
    ClientOutputs out;
    switch (what < 128 ? what % 8 : 8) {
      case 8:
        speak(script, what, out);
        break;
      case 0:
        open_.insert(++last_);
        server_.opened(last_, now_, out);
        break;
      case 1: {
        const ClientId client = pick(script);  // in this order with every compiler
        server_.received(client, script.bytes(), now_, out);
        break;
      }
      case 2: {
        const ClientId client = pick(script);
        const std::uint8_t type = script.byte();
        server_.received(client, wire::make_frame(type, script.bytes()), now_, out);
        break;
      }
      case 3:
        if (const ClientId client = pick(script); open_.erase(client) == 1) server_.closed(client, now_, out);
        break;
      case 4:
        now_ += std::chrono::seconds(script.byte() % 16);
        server_.tick(now_, out);
        require(server_.next_deadline() > now_);
        break;
      case 5:
        server_.table(
            wire::encode(wire::NodeTable{script.byte(), 1, {{0, 0, 1, std::vector<wire::Tuple>(kTotal)}}}),
            out);
        break;
      case 6:
        server_.release(script.byte() % 2 == 0 ? BarrierKind::all : BarrierKind::leave, out);
        break;
      default:
        if (what % 16 == 7)
          finish(script, out);
        else
          ask(script, out);
        break;
    }
    for (const ClientOutput& output : out) dispatch([this](const auto& o) { check(o); }, output);
  }

private:
  static constexpr std::uint32_t kFirst = 2, kCount = 3, kTotal = 6;
  enum Past { registered = 1, ended = 2, aborted = 4, lost = 8 };

  void speak(Script& script, std::uint8_t what, ClientOutputs& out) {
    switch (what >= 240 ? 5 : what >= 224 ? 3 + what % 2 : what % 3) {
      case 0:
        say(script, native::Hello{native::kVersion, script.byte() % kTotal, 1, "fuzz"}, out);
        break;
      case 1: {
        native::FenceEnter enter{script.byte(), native::FenceEnter::Gives::value, {}, {}};
        const std::uint32_t first = script.byte() % (kTotal + 1);
        if (first < kTotal) enter.processes = {{first, first + script.byte() % kTotal}};
        enter.given = script.bytes();
        say(script, enter, out);
        break;
      }
      case 2:
        end_fence(script, out);
        break;
      case 3:
        say(script,
            native::FenceEnter{
                script.byte(), native::FenceEnter::Gives::ring, {}, std::string{script.bytes()}},
            out);
        break;
      case 4:
        end_ring(script, out);
        break;
      default:
        speak_singly(script, what, out);
        break;
    }
  }
  /// What is asked of one host or process alone.
  void speak_singly(Script& script, std::uint8_t what, ClientOutputs& out) {
    switch (what % 16) {
      case 4:
        return say(script, native::Offer{std::string{script.bytes()}, std::string{script.bytes()}}, out);
      case 5:
        return say(script,
                   native::Ask{script.byte(), script.byte() % (kTotal + 1U), std::string{script.bytes()}},
                   out);
      case 6:
        return say(script, native::TopologyWanted{}, out);
      case 7:
        topologies_ = 0;
        return server_.topology(
            "", script.byte() % 2 == 0 ? nullptr : std::make_shared<const std::string>("x"), out);
      case 8:
        return server_.inquired({script.byte() % kTotal,
                                 script.byte() % kTotal,
                                 {static_cast<std::uint8_t>(ClientKind::native), script.byte()},
                                 std::string{script.bytes()}},
                                out);
      case 9:
        return server_.answered({script.byte() % kTotal,
                                 script.byte() % kTotal,
                                 {static_cast<std::uint8_t>(ClientKind::native), script.byte()},
                                 "",
                                 std::string{script.bytes()}},
                                out);
      case 10:
        return server_.lost({{script.byte() % kTotal, kTotal - 1}}, out);
      case 11:
        return say(script, native::Listen{std::string{script.bytes()}, script.byte() % 4 != 0}, out);
      case 12:
        return say(script, native::Answer{script.byte() % kTotal, std::string{script.bytes()}, "answer"},
                   out);
      default:
        return say(script, native::PortWanted{what % 2 == 0 ? wire::PortKind::tcp : wire::PortKind::udp},
                   out);
    }
  }
  void say(Script& script, const native::FromClient& message, ClientOutputs& out) {
    server_.received(pick(script), native::to_frame(message), now_, out);
  }
  /// One that it has told of, or any.
  void end_fence(Script& script, ClientOutputs& out) {
    wire::Fence fence{static_cast<std::uint8_t>(ClientKind::native), {{0, kTotal - 1}}, 1, {}};
    if (!fences_.empty()) fence = fences_[script.byte() % fences_.size()];
    const std::uint8_t how = script.byte();
    fence.number += how % 2;
    const std::string given = wire::pair_of(wire::key_of(how), script.bytes());
    server_.fenced({fence, how < 64 ? "lost" : "", std::make_shared<const std::string>(given)}, out);
  }
  /// Well, or as a parent that makes no sense; or somebody is lost.
  void end_ring(Script& script, ClientOutputs& out) {
    const std::uint8_t how = script.byte();
    if (how % 8 == 0) return server_.lost({{how % kTotal, how % kTotal}}, out);
    RingDone ring{rings_ + how % 2,
                  {{how < 64 ? how % kTotal : kFirst, "left", std::string{script.bytes()}}}};
    server_.ringed(ring, out);
  }
  void finish(Script& script, ClientOutputs& out) {
    if (script.byte() == 0) server_.finish(out);
  }
  void ask(Script& script, ClientOutputs& out) {
    const std::uint32_t process = script.byte() % kTotal;
    asked_[++last_token_] = process;
    const wire::CcsRequest request{0, std::string(1, static_cast<char>('a' + script.byte() % 4)), {}, {}};
    server_.request(process, wire::make_ccs_forward(request, {1, 2, last_token_}), out);
  }

  ClientId pick(Script& script) { return script.byte() % 8 + (last_ > 8 ? last_ - 8 : 0); }

  int& past(std::uint32_t process) {
    require(process >= kFirst && process < kFirst + kCount);
    return past_[process];
  }
  void check(const ToClient& o) {
    require(open_.count(o.client) == 1);
    wire::FrameDecoder decoder{wire::kMaxLinkFrame};
    decoder.append(o.bytes + (o.tail ? *o.tail : ""));
    const auto frame = decoder.next();
    require(frame.ok() && frame->has_value());
    const auto message = native::decode_from_launcher(**frame);
    require(message.ok());
    if (const auto* port = get_if<native::Port>(&*message))
      require(o.port && o.port->kind == port->kind && o.port->of == kCount && o.port->rank < kCount);
    else
      require(!o.port);
    if (const auto* topology = get_if<native::Topology>(&*message))
      return require(topology->is_there == (o.shared.coded != nullptr));
    const bool is_table = holds_alternative<native::Table>(*message);
    const bool is_values = holds_alternative<native::Values>(*message);
    if (is_table || is_values || !holds_alternative<native::FenceOver>(*message))
      require((is_table || is_values) == (o.shared.coded != nullptr));
  }
  void check(const CloseClient& o) { require(open_.erase(o.client) == 1); }
  void check(const Registered& o) { become(o.process, registered, 0); }
  void check(const BarrierEntered& o) {
    require(past(o.process) == (o.kind == BarrierKind::leave ? registered | ended : registered));
  }
  void check(const Printed& o) {
    require((past(o.process) & (ended | aborted | lost)) == 0 && !o.wants_receipt);
  }
  void check(const Ended& o) { become(o.process, ended, registered); }
  void check(const Aborted& o) { become(o.process, aborted, past(o.process) & registered); }
  void check(const ClientLost& o) { become(o.process, lost, registered); }
  void check(const FenceEntered& o) {
    require(wire::is_sound(o.fence) && o.processes > 0 && o.processes <= kCount);
    require(wire::are_pairs(o.given) && o.fence.processes.back().last < kTotal);
    if (fences_.size() < 64) fences_.push_back(o.fence);
  }
  void check(const RingEntered& o) {
    require(wire::are_sound(o.runs) && o.number == ++rings_ && !o.runs.empty());
    require(o.runs.front().first >= kFirst && o.runs.back().last < kFirst + kCount);
  }
  void check(const wire::Inquiry& o) {
    require(o.process >= kFirst && o.process < kFirst + kCount && o.about < kTotal);
    require((o.about < kFirst || o.about >= kFirst + kCount) && !o.key.empty());
  }
  void check(const wire::InquiryReply& o) { require(o.process >= kFirst && o.process < kFirst + kCount); }
  void check(const TopologyWanted&) { require(++topologies_ == 1); }
  void check(const Joined&) { require(false); }
  template <class Other>  // not of this protocol
  void check(const Other&) {
    require(false);
  }
  void check(const ClientNote&) {}
  void check(const ScanRequested&) { require(false); }
  void check(const TableDelivered&) { require(false); }
  void check(const RequestAnswered& o) {  // once, and by whom it was asked
    require(asked_.at(o.token) == o.process && o.merge.is_known());
    asked_.erase(o.token);
  }
  void check(const CrashAcked&) { require(false); }
  void check(const ResizeAsked&) { require(false); }
  void check(const Refused&) { require(false); }
  void check(const Unheard&) { require(false); }
  void check(const wire::Silence&) { require(false); }
  void check(const QueuePairsGiven&) { require(false); }
  void become(std::uint32_t process, Past what, int before) {
    require(past(process) == before);
    past(process) |= what;
  }

  int topologies_ = 0;  // that were asked for, and not answered
  NativeServer server_{LocalProcesses{kFirst, kCount, kTotal}, 1};
  Instant now_{};
  ClientId last_ = 0;
  std::set<ClientId> open_;
  std::map<std::uint32_t, int> past_;
  std::uint32_t rings_ = 0;  // that were told of
  std::uint32_t last_token_ = 0;
  std::vector<wire::Fence> fences_;               // that it is in, or was
  std::map<std::uint32_t, std::uint32_t> asked_;  // tokens of requests -> processes
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  if (static_cast<std::uint8_t>(input[0]) % 2 == 0) {
    hear(input.substr(1));
    return 0;
  }
  Script script{input.substr(1)};
  World world;
  while (!script.done()) world.step(script);
  return 0;
}
