// SPDX-License-Identifier: Apache-2.0
// Coded form of a list of blocks: the dictionary of distinct opaque tuples, then per block host, first
// process, address (each as the difference to the block before) and per process the port as a difference to
// the one before and, if the dictionary has more than one entry, the index in it. Typical: 4 + 3 * processes
// bytes a host.
#include "tree/wire/node_table.hpp"

#include <map>

namespace charmtree::wire {

std::uint32_t NodeTable::processes() const {
  return blocks.empty()
             ? 0
             : blocks.back().first_process + static_cast<std::uint32_t>(blocks.back().tuples.size());
}

void encode(Writer& out, const std::vector<TupleBlock>& blocks) {
  std::map<std::string_view, std::uint64_t> dictionary;
  std::vector<std::string_view> entries;
  for (const TupleBlock& block : blocks) {
    for (const Tuple& tuple : block.tuples) {
      if (dictionary.emplace(tuple.data, entries.size()).second) entries.push_back(tuple.data);
    }
  }
  out.varint(entries.size());
  for (std::string_view entry : entries) out.string(entry);
  out.varint(blocks.size());
  std::int64_t host = 0, process = 0, address = 0, port = 0;
  for (const TupleBlock& block : blocks) {
    out.svarint(block.host - host);
    out.svarint(block.first_process - process);
    out.svarint(block.address - address);
    out.varint(block.tuples.size());
    for (const Tuple& tuple : block.tuples) {
      out.svarint(tuple.port - port);
      port = tuple.port;
      if (entries.size() > 1) out.varint(dictionary.at(tuple.data));
    }
    host = block.host;
    process = block.first_process + static_cast<std::int64_t>(block.tuples.size());
    address = block.address;
  }
}

std::vector<TupleBlock> decode_blocks(Reader& in) {
  std::vector<std::string> entries;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) entries.push_back(in.string(kMaxTuple));
  std::vector<TupleBlock> blocks;
  std::uint64_t host = 0, process = 0, address = 0, port = 0;  // unsigned: hostile differences may wrap
  std::uint64_t total = 0;
  std::size_t expanded = 0;
  const auto step = [&in](std::uint64_t& value) { value += static_cast<std::uint64_t>(in.svarint()); };
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    step(host);
    step(process);
    step(address);
    TupleBlock block{static_cast<std::uint32_t>(host),
                     static_cast<std::uint32_t>(process),
                     static_cast<std::uint32_t>(address),
                     {}};
    const std::size_t size = in.count(kMaxProcesses - total);
    for (std::size_t i = 0; i < size && in.ok(); ++i) {
      step(port);
      const std::uint64_t entry = entries.size() > 1 ? in.bounded(entries.size() - 1) : 0;
      expanded += entries.empty() ? 0 : entries[entry].size();
      if (expanded > kMaxTableData) in.poison();
      block.tuples.push_back(
          {static_cast<std::uint16_t>(port), entries.empty() ? std::string{} : entries[entry]});
    }
    total += size;
    process += size;
    blocks.push_back(std::move(block));
  }
  if (!in.ok()) blocks.clear();
  return blocks;
}

std::size_t tuple_bytes(const std::vector<TupleBlock>& blocks) {
  std::size_t total = 0;
  for (const TupleBlock& block : blocks) {
    for (const Tuple& tuple : block.tuples) total += tuple.data.size();
  }
  return total;
}

bool is_complete(const std::vector<TupleBlock>& sorted_blocks, std::uint32_t total) {
  std::uint64_t next = 0;
  for (const TupleBlock& block : sorted_blocks) {
    if (block.first_process != next) return false;
    next += block.tuples.size();
  }
  return next == total;
}

}  // namespace charmtree::wire
