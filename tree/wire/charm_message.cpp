// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/charm_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "tree/wire/big_endian.hpp"

namespace charmtree::wire {

namespace {

constexpr std::uint32_t kLoopback = 0x7F000001;

struct Known {
  std::string_view name;
  CharmType type;
  std::size_t limit;
};
constexpr std::array<Known, 15> kKnown{{
    {"initnode", CharmType::initnode, kCharmInitnode},
    {"print", CharmType::print, kMaxCharmText},
    {"printerr", CharmType::printerr, kMaxCharmText},
    {"printsyn", CharmType::printsyn, kMaxCharmText},
    {"printerrsyn", CharmType::printerrsyn, kMaxCharmText},
    {"scanf", CharmType::scanf, kMaxCharmFormat},
    {"barrier", CharmType::barrier, kMaxCharmControl},
    {"barrier0", CharmType::barrier0, kMaxCharmControl},
    {"ping", CharmType::ping, kMaxCharmControl},
    {"ending", CharmType::ending, kMaxCharmControl},
    {"abort", CharmType::abort, kMaxCharmText},
    {"reply_fw", CharmType::reply_fw, kMaxCharmReply},
    {"crash_ack", CharmType::crash_ack, kMaxCharmControl},
    {"realloc", CharmType::realloc, kMaxCharmControl},
    {"qplist", CharmType::qplist, kMaxCharmQplist},
}};

/// An empty buffer above this size gives its memory back: one large reply must not stay with the client for
/// ever.
constexpr std::size_t kKeptBuffer = 64U << 10;

Error broken(std::string what) {
  return {Errc::bad_peer, Phase::run, std::move(what)};
}

std::string printable(std::string_view type) {
  std::string text{type};
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

/// The type field up to its first NUL.
std::string_view type_of(std::string_view header) {
  const std::string_view field = header.substr(4, kCharmTypeSize);
  return field.substr(0, field.find('\0'));
}

Result<CharmType> judge_first(std::string_view header) {
  if (type_of(header) != "initnode") return broken("its first message is not `initnode`");
  const std::uint32_t length = read_u32(header, 0);
  if (length == kCharmInitnode) return CharmType::initnode;
  if (length == kOldCharmInitnode) return CharmType::old_initnode;
  return broken(fmt::format("`initnode` of {} bytes instead of {}", length, kCharmInitnode));
}

Result<CharmType> judge_later(std::string_view header) {
  const std::string_view name = type_of(header);
  const auto* known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.name == name; });
  if (known == kKnown.end())
    return broken(fmt::format("sent a message of unknown type `{}`", printable(name)));
  if (known->type == CharmType::initnode) return broken("sent `initnode` twice");
  const std::uint32_t length = read_u32(header, 0);
  if (length > known->limit)
    return broken(fmt::format("sent a `{}` of {} bytes; the limit is {}", name, length, known->limit));
  return known->type;
}

}  // namespace

std::string charm_header(std::string_view type, std::size_t payload) {
  std::string header;
  write_u32(header, static_cast<std::uint32_t>(payload));
  header.append(type);
  header.resize(kCharmHeader, '\0');
  return header;
}

std::string make_charm_message(std::string_view type, std::string_view payload) {
  return charm_header(type, payload.size()).append(payload);
}

void CharmDecoder::append(std::string_view bytes) {
  if (read_ == buffer_.size()) {
    buffer_.clear();
    if (buffer_.capacity() > kKeptBuffer) buffer_.shrink_to_fit();
    read_ = 0;
  } else if (read_ > buffer_.size() / 2) {
    buffer_.erase(0, read_);
    read_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<CharmMessage>> CharmDecoder::next() {
  const std::string_view pending = std::string_view{buffer_}.substr(read_);
  if (pending.size() < kCharmHeader) return std::optional<CharmMessage>{};
  const Result<CharmType> type = first_ ? judge_first(pending) : judge_later(pending);
  if (!type) return type.error();
  const std::size_t length = read_u32(pending, 0);
  if (pending.size() < kCharmHeader + length) return std::optional<CharmMessage>{};
  read_ += kCharmHeader + length;
  first_ = false;
  return std::optional<CharmMessage>{CharmMessage{*type, pending.substr(kCharmHeader, length)}};
}

CharmInitnode parse_charm_initnode(std::string_view payload) {
  // number, units, cores, sockets, then a table entry: number, processes on the host, PEs, data port, 0,
  // address
  return {read_u32(payload, 0), read_u32(payload, 28), read_u32(payload, 36)};
}

std::uint32_t parse_charm_realloc(std::string_view payload) {
  return payload.size() == 4 ? read_u32(payload, 0) : 0;
}

std::uint32_t parse_old_charm_initnode(std::string_view payload) {
  return read_u32(payload, 0);
}

std::string charm_nodefork(std::uint32_t children, std::uint32_t first) {
  std::string payload;
  write_u32(payload, children);
  write_u32(payload, first);
  return make_charm_message("nodefork", payload);
}

std::string strip_charm_qplist(std::string_view payload) {
  constexpr std::size_t kNumber = 4;
  std::string pairs;
  for (std::size_t at = 0; at < payload.size(); at += kCharmQueuePair)
    pairs += payload.substr(at + kNumber, kCharmQueuePair - kNumber);
  return pairs;
}

std::string charm_qpdata(std::string_view pairs) {
  constexpr std::size_t kPair = kCharmQueuePair - 4;
  std::string payload;
  for (std::size_t at = 0; at < pairs.size(); at += kPair) {
    write_u32(payload, static_cast<std::uint32_t>(at / kPair));
    payload += pairs.substr(at, kPair);
  }
  return make_charm_message("qpdata", payload);
}

int parse_charm_ending(std::string_view payload) {
  int code = 0;
  std::from_chars(payload.data(), payload.data() + payload.size(), code);
  return code;
}

std::string make_charm_crashnode(std::uint32_t process) {
  std::string payload;
  write_u32(payload, process);
  return make_charm_message("crashnode", payload);
}

std::string charm_table_head(std::uint32_t processes, std::uint32_t own) {
  std::string head = charm_header("initnodetab", 8 + kCharmTableEntry * std::size_t{processes});
  write_u32(head, processes);
  write_u32(head, own);
  return head;
}

/// Where the only host of a job has no IPv4 address, its processes find each other all the same.
std::string charm_table_entries(const NodeTable& table) {
  std::string entries;
  entries.reserve(kCharmTableEntry * std::size_t{table.processes()});
  for (const TupleBlock& block : table.blocks) {
    std::uint32_t process = block.first_process;
    const bool is_ipv6 = block.address.is_known() && !block.address.is_ipv4();
    for (const Tuple& tuple : block.tuples) {
      write_u32(entries, process++);
      write_u32(entries, static_cast<std::uint32_t>(block.tuples.size()));
      write_u32(entries, table.pes_per_process);
      write_u32(entries, tuple.port);
      write_u32(entries, 0);  // machine id of a network that is gone
      write_u32(entries, is_ipv6 ? kLoopback : block.address.ipv4());
    }
  }
  return entries;
}

}  // namespace charmtree::wire
