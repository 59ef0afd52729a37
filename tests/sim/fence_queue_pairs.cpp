// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/fence_queue_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tree/base/random.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::fence {

using namespace ibverbs;

namespace {
const std::string kPrefix = "charmtree ibverbs 0 ";

Port port_of(std::uint32_t host) {
  Port port;
  port.roce = 2;
  port.mtu = 4096;
  port.reads = 16;
  port.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  for (unsigned i = 0; i < 4; ++i)
    port.gid.at(12 + i) = static_cast<std::uint8_t>((host + 1) >> (24 - 8 * i));
  return port;
}

/// As even as can be.
std::array<std::uint32_t, 3> spread(std::uint32_t count) {
  std::array<std::uint32_t, 3> extents{};
  for (std::uint32_t dimension = 0; dimension < 3; ++dimension) {
    std::uint32_t best = 1;
    for (std::uint64_t i = 1; i <= count; ++i) {
      const std::uint64_t power = dimension == 0 ? i * i * i : dimension == 1 ? i * i : i;
      if (power > count) break;
      if (count % i == 0) best = static_cast<std::uint32_t>(i);
    }
    extents.at(dimension) = best;
    count /= best;
  }
  return extents;
}
}  // namespace

/// A process's part of its host's: its queue pairs have any numbers.
class QueuePairs::Device final : public Maker {
public:
  Device(std::uint32_t process, std::uint32_t host) : process_(process), host_(host) {}
  Outcome make(std::uint32_t rank, Peer& own) override {
    Random random{(std::uint64_t{process_} << 32U) | rank};
    own = {port_of(host_), static_cast<std::uint32_t>(random.below(kMostNumber)),
           static_cast<std::uint32_t>(random.below(kMostNumber))};
    made.emplace_back(rank, own.number);
    return {};
  }
  Outcome connect(std::uint32_t rank, const Peer&, const Peer& other) override {
    connected.emplace_back(rank, other.number);
    return {};
  }
  void release(std::uint32_t) override {}

  std::vector<std::pair<std::uint32_t, std::uint32_t>> made, connected;  // for whom, number

private:
  std::uint32_t process_, host_;
};

QueuePairs::QueuePairs(std::uint32_t processes, std::vector<std::uint32_t> first)
    : processes_(processes), first_(std::move(first)), extents_(spread(processes)) {
  devices_.reserve(processes);
  pairs_.reserve(processes);
  for (std::uint32_t process = 0; process < processes; ++process) {
    devices_.push_back(std::make_unique<Device>(process, host_of(process)));
    pairs_.emplace_back(kPrefix, *devices_.back());
  }
}

QueuePairs::~QueuePairs() = default;

std::uint32_t QueuePairs::host_of(std::uint32_t process) const {
  return static_cast<std::uint32_t>(std::upper_bound(first_.begin(), first_.end(), process) - first_.begin() -
                                    1);
}

// ---- by ranges

/// Its host's processes have made theirs one after the other. Numbers have 24 bits: where they do not suffice
/// for all, as in no real job, they begin anew.
std::uint32_t QueuePairs::first_number(std::uint32_t process) const {
  const std::uint64_t before = std::uint64_t{process - first_[host_of(process)]} * (processes_ - 1);
  return static_cast<std::uint32_t>(before % (kMostNumber - (processes_ - 1) + 1));
}

std::string QueuePairs::told(std::uint32_t process) const {
  wire::Writer one;
  one.varint(1);
  one.varint(first_number(process));
  one.varint(processes_ - 2);
  wire::Reader in{one.bytes()};
  Told told;
  told.port_of = first_[host_of(process)];
  if (told.port_of == process) told.port = port_of(host_of(process));
  told.first_psn = static_cast<std::uint32_t>(Random{process}.below(kMostNumber));
  told.numbers = Numbers::decode(in, processes_ - 1);
  return '\0' + encode(told);  // no more follows
}

std::string QueuePairs::wrong_in_told() const {
  std::vector<std::optional<Told>> all;
  all.reserve(processes_);
  for (std::uint32_t process = 0; process < processes_; ++process)
    all.push_back(decode_told(std::string_view{told(process)}.substr(1), processes_));
  constexpr int kLooks = 100'000;
  Random random{1};
  for (int i = 0; i < kLooks; ++i) {
    const auto self = static_cast<std::uint32_t>(random.below(processes_));
    const auto rank = static_cast<std::uint32_t>(random.below(processes_));
    if (self == rank) continue;
    const auto peer = peer_of(all, rank, self);
    if (!peer || !(peer->port == port_of(host_of(rank))) ||
        peer->number != first_number(rank) + place_among_others(self, rank))
      return fmt::format("process {} does not find the queue pair of process {}", self, rank);
  }
  return {};
}

// ---- by each number

std::size_t QueuePairs::key_bytes() const {
  return kPrefix.size() + std::string_view{"for "}.size() + std::to_string(processes_ - 1).size();
}

std::size_t QueuePairs::number_bytes() const {
  return encode(Peer{port_of(0), kMostNumber, kMostNumber}).size();
}

// ---- on demand

std::vector<std::uint32_t> QueuePairs::neighbours(std::uint32_t process) const {
  std::vector<std::uint32_t> found;
  std::uint32_t step = 1, rest = process;
  for (const std::uint32_t extent : extents_) {
    const std::uint32_t place = rest % extent;
    for (const std::uint32_t other : {(place + 1) % extent, (place + extent - 1) % extent}) {
      const std::uint32_t neighbour = process - place * step + other * step;
      if (neighbour != process) found.push_back(neighbour);
    }
    rest /= extent;
    step *= extent;
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string QueuePairs::reach(std::uint32_t process, std::uint32_t other) {
  Pairs::Actions actions;
  pairs_[process].reach(other, actions);
  return get<Pairs::Ask>(actions.at(0)).key;
}

namespace {
std::string answer_in(const Pairs::Actions& actions) {
  return actions.empty() ? std::string{} : get<Pairs::Answer>(actions.front()).value;
}
}  // namespace

std::string QueuePairs::asked(std::uint32_t process, std::uint32_t by, const std::string& key) {
  Pairs::Actions actions;
  pairs_[process].asked(by, key, actions);
  return answer_in(actions);
}

std::string QueuePairs::told(std::uint32_t process, std::uint32_t by, const std::string& answer) {
  Pairs::Actions actions;
  pairs_[process].told(by, answer, actions);
  return answer_in(actions);
}

std::string QueuePairs::wrong_in_pairs() const {
  using Numbered = std::map<std::uint32_t, std::uint32_t>;
  for (std::uint32_t process = 0; process < processes_; ++process) {
    const auto wanted = neighbours(process);
    const Numbered made(devices_[process]->made.begin(), devices_[process]->made.end());
    if (made.size() != wanted.size() || devices_[process]->made.size() != made.size())
      return fmt::format("process {} has made {} queue pairs", process, devices_[process]->made.size());
    for (const std::uint32_t other : wanted) {
      const auto& connected = devices_[other]->connected;
      const auto with = std::find(connected.begin(), connected.end(), std::pair{process, made.at(other)});
      if (pairs_[process].state(other) != Pairs::State::ready || with == connected.end())
        return fmt::format("process {} cannot send to process {}", process, other);
    }
  }
  return {};
}

}  // namespace charmtree::fence
