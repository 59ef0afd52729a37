// SPDX-License-Identifier: Apache-2.0
// The node table: every process's I-tuple (what it must tell the others to be reachable), by process number.
// It is gathered up the tree in pieces (TupleBlock: the processes of one host) and handed down whole. Its
// coded form keeps one address per host, runs of ports and a dictionary of equal opaque tuples: a host costs
// a few bytes, a process two, or none where the ports of a host, or numbers in its tuples, count up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/address.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::wire {

inline constexpr std::size_t kMaxTuple = 4096;  // bytes of a native process's opaque tuple
inline constexpr std::size_t kMaxTableData = 256U
                                             << 20;  // bytes of all opaque tuples in one message, expanded
inline constexpr std::uint32_t kMaxProcesses = 1U << 24;  // of one job

/// What a process told about itself.
struct Tuple {
  std::uint16_t port = 0;  // Charm++: its data port, on its host's address
  std::string data;        // native clients: opaque bytes, at most kMaxTuple
  friend bool operator==(const Tuple&, const Tuple&) = default;
};

/// The processes of one host: first_process, first_process + 1, ...
struct TupleBlock {
  std::uint32_t host = 0;  // index in the job's host list
  std::uint32_t first_process = 0;
  Address address;  // that the other hosts can reach
  std::vector<Tuple> tuples;
  friend bool operator==(const TupleBlock&, const TupleBlock&) = default;
};

/// Complete: blocks in process order, no gaps, first process 0.
struct NodeTable {
  std::uint32_t epoch = 0;  // one higher after each restart
  std::uint32_t pes_per_process = 1;
  std::vector<TupleBlock> blocks;

  std::uint32_t processes() const;
  /// Of native clients alone: they tell bytes, and no port.
  bool is_native() const;
  friend bool operator==(const NodeTable&, const NodeTable&) = default;
};

void encode(Writer& out, const std::vector<TupleBlock>& blocks);
/// Empty and a poisoned reader if the bytes are not a list of blocks.
std::vector<TupleBlock> decode_blocks(Reader& in);

/// Puts the tuples of `renewed` in the place of those that a complete table has for its processes, which may
/// be on another host now. False, and nothing is changed: the table has no such processes.
bool renew(std::vector<TupleBlock>& blocks, const TupleBlock& renewed);

/// Bytes of all opaque tuples, each as often as it occurs.
std::size_t tuple_bytes(const std::vector<TupleBlock>& blocks);

/// True if the blocks, sorted by first process, number 0 ... total-1 without gap or overlap.
bool is_complete(const std::vector<TupleBlock>& sorted_blocks, std::uint32_t total);

}  // namespace charmtree::wire
