// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/shared_values.hpp"

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tree/wire/big_endian.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::wire {

namespace {

constexpr std::uint64_t kValuesMagic = 0x3273656C61567463;  // "ctVales2", in the order of this machine

struct Slot {
  std::uint32_t hash = 0;
  std::uint32_t key_size = 0;  // none: it is empty
  std::uint32_t value_size = 0;
  std::uint32_t at = 0;  // where the key begins, and the value behind it, from the end of the slots
};

/// Eight bytes at a time, as in FNV-1a one is: of a key that is looked up, this takes the most time. The last
/// eight may have been among those before.
std::uint32_t hash_of(const std::string_view key) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  std::uint64_t hash = key.size(), bytes = 0;
  const auto mix = [&] {
    hash = (hash ^ bytes) * kFactor;
    hash ^= hash >> 32;
  };
  for (std::size_t at = 0; at + sizeof bytes < key.size(); at += sizeof bytes) {
    std::memcpy(&bytes, key.data() + at, sizeof bytes);
    mix();
  }
  if (key.size() >= sizeof bytes) {
    std::memcpy(&bytes, key.data() + key.size() - sizeof bytes, sizeof bytes);
  } else {
    bytes = 0;
    for (const char c : key) bytes = bytes << 8 | static_cast<unsigned char>(c);
  }
  mix();
  return static_cast<std::uint32_t>((hash * kFactor) >> 32);
}

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

std::optional<Pairs> read_pairs(std::string_view bytes) {
  Pairs pairs;
  Reader in{bytes};
  while (in.ok() && in.left() > 0) {
    const std::string_view key = in.raw(static_cast<std::size_t>(in.bounded(kMostKeyBytes)));
    const std::string_view value = in.raw(static_cast<std::size_t>(in.bounded(in.left())));
    if (key.empty()) in.poison();
    pairs.emplace_back(key, value);
  }
  if (!in.ok()) return {};
  return pairs;
}

Slot slot_at(const char* slots, std::size_t number) {
  Slot slot;
  std::memcpy(&slot, slots + number * sizeof slot, sizeof slot);
  return slot;
}

}  // namespace

std::string pair_of(std::string_view key, std::string_view value) {
  Writer pair;
  pair.string(key);
  pair.string(value);
  return pair.take();
}

std::string key_of(std::uint32_t process) {
  std::string key;
  write_u32(key, process);
  return key;
}

bool are_pairs(std::string_view pairs) {
  return read_pairs(pairs).has_value();
}

std::string latest_pairs(std::string bytes) {
  const auto pairs = read_pairs(bytes);
  if (!pairs) return bytes;
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < pairs->size(); ++i) last[(*pairs)[i].first] = i;
  if (last.size() == pairs->size()) return bytes;
  std::string latest;
  for (std::size_t i = 0; i < pairs->size(); ++i) {
    const auto& [key, value] = (*pairs)[i];
    if (last.at(key) == i) latest += pair_of(key, value);
  }
  return latest;
}

std::optional<std::string> shared_pairs(std::string_view bytes) {
  constexpr std::size_t kMostPairs = 1U << 30;
  const auto pairs = read_pairs(bytes);
  if (!pairs || bytes.size() > UINT32_MAX || pairs->size() > kMostPairs) return {};
  SharedValues::Header header{kValuesMagic, 2};
  while (header.slots < 2 * pairs->size()) header.slots *= 2;
  std::vector<Slot> slots(header.slots);
  std::string data;
  for (const auto& [key, value] : *pairs) {
    const std::uint32_t hash = hash_of(key);
    std::uint32_t number = hash & (header.slots - 1);
    const auto is_others = [&, wanted = key](const Slot& slot) {
      if (slot.key_size == 0) return false;
      return slot.hash != hash || std::string_view{data}.substr(slot.at, slot.key_size) != wanted;
    };
    while (is_others(slots[number])) number = (number + 1) & (header.slots - 1);
    slots[number] = {hash, static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size()),
                     static_cast<std::uint32_t>(data.size())};
    data += key;
    data += value;
  }
  std::string form(reinterpret_cast<const char*>(&header), sizeof header);
  form.append(reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(Slot));
  return form += data;
}

std::optional<SharedValues> SharedValues::in(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint32_t slots = header.slots;
  if (header.magic != kValuesMagic || slots == 0 || (slots & (slots - 1)) != 0) return {};
  if ((bytes.size() - sizeof header) / sizeof(Slot) < slots) return {};
  return SharedValues{bytes, header};
}

std::optional<std::string_view> SharedValues::find(std::string_view key) const {
  if (key.empty()) return {};
  const char* slots = bytes_.data() + sizeof header_;
  const std::string_view data = bytes_.substr(sizeof header_ + std::size_t{header_.slots} * sizeof(Slot));
  const std::uint32_t hash = hash_of(key);
  for (std::uint32_t step = 0; step < header_.slots; ++step) {
    const Slot slot = slot_at(slots, (hash + step) & (header_.slots - 1));
    if (slot.key_size == 0) return {};
    if (slot.hash != hash || slot.key_size != key.size() || slot.at > data.size()) continue;
    if (slot.key_size > data.size() - slot.at || slot.value_size > data.size() - slot.at - slot.key_size)
      continue;
    if (data.substr(slot.at, slot.key_size) == key)
      return data.substr(slot.at + slot.key_size, slot.value_size);
  }
  return {};
}

}  // namespace charmtree::wire
