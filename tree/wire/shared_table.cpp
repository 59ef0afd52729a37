// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/shared_table.hpp"

#include <array>
#include <cstring>

namespace charmtree::wire {

namespace {

constexpr std::uint64_t kMagic = 0x32656C6261547463;  // "ctTable2", in the order of this machine

// A row is a line of the cache, and an entry with a tuple as short as most are lies in one: to look a process
// up costs two misses.
constexpr std::size_t kLine = 64;
struct Row {
  std::uint32_t host = 0;
  std::uint32_t address_size = 0;
  std::array<char, kLine - 8> address{};  // no longer than that, as IPv6 is written
};
struct Entry {
  std::uint32_t row = 0;
  std::uint32_t size = 0;       // of its tuple
  std::array<char, 8> tuple{};  // or, if that is longer, its place behind the first of those, as a number
};
static_assert(sizeof(Row) == kLine && kLine % sizeof(Entry) == 0);
static_assert(kMaxTableData <= UINT32_MAX);

/// Puts values one behind the other.
class Pen {
public:
  explicit Pen(char* at) : at_(at) {}
  template <class T>
  void put(const T& value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void put(std::string_view bytes) { at_ += bytes.copy(at_, bytes.size()); }

private:
  char* at_;
};

/// The element of that number of an array at `at`.
template <class T>
T read(std::string_view bytes, std::size_t at, std::size_t number) {
  T value;
  std::memcpy(&value, bytes.data() + at + number * sizeof value, sizeof value);
  return value;
}

std::size_t entries_at(const SharedTable::Header& header) {
  return kLine + std::size_t{header.rows} * sizeof(Row);
}
std::size_t tuples_at(const SharedTable::Header& header) {
  return entries_at(header) + std::size_t{header.processes} * sizeof(Entry);
}

}  // namespace

/// Equal tuples that follow each other are there once, if they are long.
std::string shared_form(const NodeTable& table) {
  const SharedTable::Header header{kMagic, table.epoch, table.processes(),
                                   static_cast<std::uint32_t>(table.blocks.size())};
  std::string bytes(tuples_at(header) + tuple_bytes(table.blocks), '\0');
  Pen rows{bytes.data() + kLine}, entries{bytes.data() + entries_at(header)},
      tuples{bytes.data() + tuples_at(header)};
  std::memcpy(bytes.data(), &header, sizeof header);
  std::string_view last;
  std::uint32_t row = 0, end = 0;
  for (const TupleBlock& block : table.blocks) {
    Row of_block{block.host};
    const std::string address = block.address.is_known() ? text_of(block.address) : std::string{};
    of_block.address_size =
        static_cast<std::uint32_t>(address.copy(of_block.address.data(), of_block.address.size()));
    rows.put(of_block);
    for (const Tuple& tuple : block.tuples) {
      Entry entry{row, static_cast<std::uint32_t>(tuple.data.size())};
      if (entry.size <= entry.tuple.size()) {
        tuple.data.copy(entry.tuple.data(), entry.size);
      } else {
        if (tuple.data != last) {
          tuples.put(std::string_view{tuple.data});
          end += entry.size;
        }
        last = tuple.data;
        const std::uint32_t at = end - entry.size;
        std::memcpy(entry.tuple.data(), &at, sizeof at);
      }
      entries.put(entry);
    }
    ++row;
  }
  bytes.resize(tuples_at(header) + end);
  return bytes;
}

std::optional<SharedTable> SharedTable::in(std::string_view bytes) {
  if (bytes.size() < sizeof(Header)) return {};
  const auto header = read<Header>(bytes, 0, 0);
  if (header.magic != kMagic || bytes.size() < tuples_at(header)) return {};
  return SharedTable{bytes, header};
}

std::optional<SharedTable::Entry> SharedTable::find(std::uint32_t process) const {
  if (process >= header_.processes) return {};
  const auto entry = read<wire::Entry>(bytes_, entries_at(header_), process);
  if (entry.row >= header_.rows) return {};
  const std::size_t entry_at = entries_at(header_) + process * sizeof entry;
  std::string_view tuple = bytes_.substr(entry_at + offsetof(wire::Entry, tuple), sizeof entry.tuple);
  if (entry.size > tuple.size()) {
    const auto at = read<std::uint32_t>(tuple, 0, 0);
    tuple = bytes_.substr(tuples_at(header_));
    if (at > tuple.size() || entry.size > tuple.size() - at) return {};
    tuple.remove_prefix(at);
  }
  const std::size_t row_at = kLine + std::size_t{entry.row} * sizeof(Row);
  const auto host = read<std::uint32_t>(bytes_, row_at + offsetof(Row, host), 0);
  const auto size = read<std::uint32_t>(bytes_, row_at + offsetof(Row, address_size), 0);
  if (size > sizeof(Row::address)) return {};
  return Entry{host, bytes_.substr(row_at + offsetof(Row, address), size), tuple.substr(0, entry.size)};
}

}  // namespace charmtree::wire
