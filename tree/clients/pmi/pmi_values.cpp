// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_values.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "tree/wire/codec.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/pmi_standard.hpp"

namespace charmtree::proto {

namespace {

/// Keys that processes may not put: kRing with the number of a process, and behind them all kRingEnd.
constexpr std::string_view kRing = "PMI_ring_", kRingEnd = "PMI_ring`";

}  // namespace

std::string PmiValues::give(std::string_view key, std::string_view value) {
  wire::Writer pair;
  pair.string(key);
  pair.string(value);
  return pair.bytes();
}

/// Returns keys that stand in the order of the processes.
std::string PmiValues::ring_key(std::uint32_t process) {
  return fmt::format("{}{:010}", kRing, process);
}

/// Makes that program the latest, if it is later. What was put last under a key wins.
void PmiValues::reach(std::uint32_t program) {
  if (program <= latest_) return;
  latest_ = program;
  now_.values.merge(before_.values);
  before_ = std::exchange(now_, {});
}

PmiValues::Program& PmiValues::of(std::uint32_t program) {
  reach(program);
  return program < latest_ ? before_ : now_;
}

std::optional<std::string> PmiValues::find(std::string_view key, std::uint32_t program) const {
  const Map& values = of(program).values;
  if (const auto found = values.find(key); found != values.end()) return found->second;
  const auto found = before_.values.find(key);
  return found == before_.values.end() ? std::nullopt : std::optional{found->second};
}

void PmiValues::put(std::string key, std::string value, std::uint32_t program) {
  of(program).values.insert_or_assign(std::move(key), std::move(value));
}

void PmiValues::put_all(std::string_view given, std::uint32_t program) {
  for (wire::Reader pairs{given}; pairs.ok() && pairs.left() > 0;) {
    std::string key = pairs.string(wire::kMostPmiKey), value = pairs.string(wire::MpiService::kMostValue);
    if (pairs.ok()) put(std::move(key), std::move(value), program);
  }
}

std::optional<std::string> PmiValues::attribute(std::string_view key, std::uint32_t program) const {
  if (program > latest_) return {};
  const Map& attributes = of(program).attributes;
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::nullopt : std::optional{found->second};
}

bool PmiValues::put_attribute(std::string_view key, std::string_view value, std::uint32_t program) {
  Map& attributes = of(program).attributes;
  if (!attributes.contains(key) && attributes.size() >= kMostAttributes) return false;
  attributes.insert_or_assign(std::string{key}, std::string{value});
  return true;
}

/// The neighbour of the first one is the last one.
std::optional<PmiValues::Ring> PmiValues::ring(std::uint32_t process, std::uint32_t program) const {
  const Map& values = of(program).values;
  const auto own = values.find(ring_key(process));
  if (own == values.end()) return {};
  const auto first = values.lower_bound(kRing), last = std::prev(values.lower_bound(kRingEnd));
  const auto before = own == first ? last : std::prev(own);
  const auto behind = own == last ? first : std::next(own);
  wire::Reader of_before{before->second}, of_behind{behind->second};
  (void)of_before.string(wire::kMostPmiValue);
  Ring ring{std::to_string(std::distance(first, own)), of_before.string(wire::kMostPmiValue),
            of_behind.string(wire::kMostPmiValue)};
  if (!of_before.ok() || !of_behind.ok()) return {};
  return ring;
}

void PmiValues::end_ring(std::uint32_t program) {
  Map& values = of(program).values;
  values.erase(values.lower_bound(kRing), values.lower_bound(kRingEnd));
}

}  // namespace charmtree::proto
