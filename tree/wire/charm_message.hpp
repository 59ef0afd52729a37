// SPDX-License-Identifier: Apache-2.0
// The messages on a Charm++ process's control socket (netlrts and verbs of Charm++ 6.9 and later): a header
// of 16 bytes (length of the payload; type, ASCII, padded with NUL) and the payload. All integers are 4
// bytes, big-endian, without padding. Here are the cutting of a client's stream into messages and the coding
// of those that have a structure; what they mean is decided elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/wire/node_table.hpp"

namespace charmtree::wire {

inline constexpr std::size_t kCharmHeader = 16;
inline constexpr std::size_t kCharmTypeSize = 12;     // of the header: the type's field
inline constexpr std::size_t kCharmInitnode = 40;     // payload of `initnode`
inline constexpr std::size_t kOldCharmInitnode = 24;  // up to Charm++ 6.8, another protocol
inline constexpr std::size_t kCharmTableEntry = 24;   // of `initnodetab`, per process
inline constexpr std::size_t kCharmQueuePair = 16;    // of `qplist` and `qpdata`, per process

// Largest payloads that a client may send.
inline constexpr std::size_t kMaxCharmReply = 256U << 20;  // reply_fw: what a CCS handler answers
inline constexpr std::size_t kMaxCharmText = 1U << 20;     // print, abort: stock clients cut at 16 KiB
inline constexpr std::size_t kMaxCharmFormat = 4U << 10;   // scanf
inline constexpr std::size_t kMaxCharmQplist = 1U << 20;   // qplist: of 65536 processes
inline constexpr std::size_t kMaxCharmControl = 256;       // all others

/// What a client may say.
enum class CharmType : std::uint8_t {
  initnode,
  print,
  printerr,
  printsyn,
  printerrsyn,
  scanf,
  barrier,
  barrier0,
  ping,
  ending,
  abort,
  reply_fw,
  crash_ack,
  realloc,
  qplist,
  old_initnode,  // of Charm++ 6.8 or older, whose first and last message this is
};

struct CharmMessage {
  CharmType type = CharmType::ping;
  std::string_view payload;  // valid until the next call to the decoder
};

/// The header of a message. Precondition: type.size() <= kCharmTypeSize.
std::string charm_header(std::string_view type, std::size_t payload);
/// Header and payload, ready to send. Precondition: type.size() <= kCharmTypeSize.
std::string make_charm_message(std::string_view type, std::string_view payload = {});

/// Cuts one client's stream into messages. The first must be an `initnode`, no later one may be. A header is
/// judged as soon as its 16 bytes are there: what is refused is not waited for, so that never more than one
/// message of its type's limit is held (before the first message: 55 bytes and the piece just appended).
class CharmDecoder {
public:
  void append(std::string_view bytes);
  /// The next complete message, nothing if more bytes are needed, or the error bad_peer, which repeats for
  /// ever. Its text is short and printable whatever was received.
  Result<std::optional<CharmMessage>> next();
  /// Bytes that are not yet part of a message.
  std::size_t buffered() const { return buffer_.size() - read_; }

private:
  std::string buffer_;
  std::size_t read_ = 0;  // start of the first message that was not handed out
  bool first_ = true;     // no message was handed out yet
};

/// What a process tells when it connects; the fields that a launcher has a use for.
struct CharmInitnode {
  std::uint32_t number = 0;  // as its NETSTART gave it
  std::uint32_t data_port = 0;
  std::uint32_t address = 0;  // IPv4 that it believes to have, host byte order
};
/// Precondition: payload.size() == kCharmInitnode.
CharmInitnode parse_charm_initnode(std::string_view payload);
/// The process number in an `old_initnode`. Precondition: payload.size() == kOldCharmInitnode.
std::uint32_t parse_old_charm_initnode(std::string_view payload);

/// The number of PEs in a `realloc`; 0 if it is malformed.
std::uint32_t parse_charm_realloc(std::string_view payload);

/// The number in an `ending`: decimal text, 0 if empty or anything else.
int parse_charm_ending(std::string_view payload);

/// `crashnode`: tells a process of a fault-tolerant build that `process` was lost and is back.
std::string make_charm_crashnode(std::uint32_t process);
/// `nodefork`: fork so many children, which take numbers from `first` on.
std::string charm_nodefork(std::uint32_t children, std::uint32_t first);

/// What a `qplist` or `qpdata` holds for each process is the process's number, which a client leaves to us,
/// and its queue pair. Without the numbers. Precondition: payload.size() is a multiple of kCharmQueuePair.
std::string strip_charm_qplist(std::string_view payload);
/// `qpdata`; the inverse, with the processes' numbers from 0 on.
std::string charm_qpdata(std::string_view pairs);

/// `initnodetab` is the same for every process but for the process's own number: a head of 24 bytes (header,
/// number of processes, own number) and the entries, which are made once per host.
std::string charm_table_head(std::uint32_t processes, std::uint32_t own);
std::string charm_table_entries(const NodeTable& table);

}  // namespace charmtree::wire
