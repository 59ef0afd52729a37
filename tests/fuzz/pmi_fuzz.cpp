// SPDX-License-Identifier: Apache-2.0
// The processes of a host as clumsy clients of PMI: a script of bytes that they say, of connections that end,
// of strangers that connect, and of fences that are over, run against a PmiServer whose promises are checked.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/fuzz/script.hpp"
#include "tree/clients/pmi/pmi_server.hpp"

namespace {

using namespace charmtree;
using namespace charmtree::proto;

using charmtree::fuzz::require;

class World {
public:
  World() {
    for (std::uint32_t process = kFirst; process < kFirst + kCount; ++process) {
      server_.made_for(process, process);
      ClientOutputs out;
      server_.opened(process, {}, out);
      require(out.empty());
      open_.insert(process);
    }
  }
  /// A line of a script: the first byte says what happens, the second to whom.
  void step(std::string_view line) {
    ClientOutputs out;
    const auto at = [&](std::size_t place) {
      return place < line.size() ? static_cast<std::uint8_t>(line[place]) : std::uint8_t{0};
    };
    const ClientId client = kFirst + at(1) % kCount;
    const std::string_view rest = line.substr(std::min<std::size_t>(line.size(), 2));
    switch (at(0)) {
      case 'x':
        if (open_.erase(client) == 1) server_.closed(client, {}, out);
        break;
      case 'p':  // a piece of a line
        if (open_.contains(client)) server_.received(client, rest, {}, out);
        break;
      case 'f':
        fenced({{0, kTotal - 1}}, fences_ + at(1) % 3, {}, rest, out);
        break;
      case 'F':
        fenced({{0, kTotal - 1}}, fences_ + at(1) % 3, "it has failed", {}, out);
        break;
      case 'g':  // those of a group with another host, and a tag
        fenced({{1, 2}}, at(1) % 3, at(2) % 2 == 0 ? "" : "it has failed", {}, out, ":7");
        break;
      case 'a':
        server_.answered({static_cast<std::uint32_t>(client),
                          wire::kNoProcess,
                          {static_cast<std::uint8_t>(ClientKind::pmi), at(1)},
                          at(2) % 2 == 0 ? "" : "no",
                          std::string{rest}},
                         out);
        break;
      case 'l':
        server_.lost({{at(1) % kTotal, at(1) % kTotal}}, out);
        break;
      case 'w':
        begun(1 + at(1) % 3, rest, out);
        break;
      case 't':
        server_.topology(at(1) % 2 == 0 ? "" : "/tmp/topology.xml", nullptr, out);
        break;
      case 'v':  // as one is started again, which connects itself
        server_.vacate(static_cast<std::uint32_t>(client), 1, false, out);
        past_[static_cast<std::uint32_t>(client)] = 0;
        break;
      case 'o':
        if (open_.insert(kStranger + at(1) % kStrangers).second)
          server_.opened(kStranger + at(1) % kStrangers, {}, out);
        break;
      case 'O':
        if (open_.contains(kStranger + at(1) % kStrangers))
          server_.received(kStranger + at(1) % kStrangers, std::string{rest} + "\n", {}, out);
        break;
      case 'X':
        if (open_.erase(kStranger + at(1) % kStrangers) == 1)
          server_.closed(kStranger + at(1) % kStrangers, {}, out);
        break;
      default:
        if (open_.contains(client)) server_.received(client, std::string{rest} + "\n", {}, out);
        break;
    }
    for (const ClientOutput& output : out) dispatch([this](const auto& o) { check(o); }, output);
  }

private:
  static constexpr std::uint32_t kFirst = 2, kCount = 3, kTotal = 6;
  static constexpr ClientId kStranger = 100, kStrangers = 80;  // more than are let in
  enum Past { joined = 1, ended = 2, aborted = 4, lost = 8 };

  void fenced(std::vector<wire::ProcessSet::Range> group, std::uint32_t number, std::string failure,
              std::string_view given, ClientOutputs& out, std::string name = {}) {
    server_.fenced({{static_cast<std::uint8_t>(ClientKind::pmi), std::move(group), number, std::move(name)},
                    std::move(failure),
                    std::make_shared<const std::string>(given)},
                   out);
  }
  /// Others are started, on other hosts.
  void begun(std::uint32_t processes, std::string_view given, ClientOutputs& out) {
    const std::uint32_t first = total_;
    total_ += processes;
    server_.begun({static_cast<std::uint8_t>(ClientKind::pmi),
                   kFirst,
                   {{first, {"a"}, {}, true, {}}},
                   {{0, first, processes}},
                   std::string{given}},
                  out);
  }
  void become(std::uint32_t process, int what, int only_from) {
    require(process >= kFirst && process < kFirst + kCount);
    require(past_[process] == only_from);
    past_[process] |= what;
  }

  void check(const ToClient& o) {
    require(open_.contains(o.client));
    const auto ends = std::count(o.bytes.begin(), o.bytes.end(), '\n');
    const int lines = o.bytes.starts_with("cmd=initack ") ? 4 : 1;
    if (o.bytes.starts_with("cmd=")) return require(o.bytes.ends_with('\n') && ends == lines);
    const PmiExtent frame = first_request(PmiVersion::two, o.bytes);
    require(frame.is_sound && frame.end == o.bytes.size() && o.bytes.ends_with(';'));
  }
  void check(const TopologyWanted&) { require(++topologies_ == 1); }
  void check(const CloseClient& o) { require(open_.erase(o.client) == 1); }
  void check(const Joined& o) { become(o.process, joined, 0); }
  void check(const Ended& o) { become(o.process, ended, joined); }
  void check(const Aborted& o) { become(o.process, aborted, past_[o.process] & (joined | ended)); }
  void check(const ClientLost& o) { become(o.process, lost, joined); }
  void check(const FenceEntered& o) {
    require(o.processes > 0 && o.processes <= kCount && wire::is_sound(o.fence));
    wire::Fence group = o.fence;
    group.number = 0;
    require(o.fence.number == ++numbers_[group]);
    if (o.fence.name.empty()) fences_ = o.fence.number;
    require(o.given.size() <= kCount * wire::kMostGiven);
  }
  void check(const wire::NameInquiry& o) {
    require(past_[o.process] == joined && o.name.size() <= wire::kMostName && o.id.number == ++inquiries_);
  }
  void check(const wire::WorldWanted& o) {
    require(past_[o.process] == joined && o.id.number == ++inquiries_ && !o.programs.empty());
    for (const wire::ProgramWanted& each : o.programs)
      require(each.processes > 0 && !each.program.arguments.empty());
    require(o.given.size() <= wire::kMostWanted);
  }
  void check(const ClientNote& o) { require(o.text.size() < 300); }
  template <class Other>
  void check(const Other&) {
    require(false);
  }

  PmiServer server_{LocalProcesses{kFirst, kCount, kTotal}, PmiJob{"kvs", "(vector,(0,2,3))", kTotal}};
  std::set<ClientId> open_;
  std::map<std::uint32_t, int> past_;
  std::map<wire::Fence, std::uint32_t> numbers_;
  std::uint32_t fences_ = 0, total_ = kTotal, topologies_ = 0;
  std::uint64_t inquiries_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World world;
  charmtree::fuzz::play(world, data, size);
  return 0;
}
