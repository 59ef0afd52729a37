// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/shared_table.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

namespace charmtree::wire {

namespace {

constexpr std::uint64_t kMagic = 0x33656C6261547463;  // "ctTable3", in the order of this machine

/// Tuples of a block that are no longer lie one behind the other, each in its place, if all have one size.
constexpr std::size_t kMostInPlace = 64;
constexpr std::uint16_t kAnySize = UINT16_MAX;  // of a row whose tuples have an extent each
static_assert(kMaxTuple < kAnySize);

struct Row {
  std::uint32_t first = 0;  // process
  std::uint32_t host = 0;
  std::uint32_t address_at = 0;  // its address's place among all texts
  std::uint32_t at = 0;          // its tuples' place among them, or its extents'
  std::uint16_t size = 0;
  std::uint16_t stride = 0;  // from one tuple to the next: 0 if they are equal
  std::uint32_t address_size = 0;
};
static_assert(sizeof(Row) == 24);

struct Extent {
  std::uint32_t at = 0, size = 0;
};
constexpr std::size_t kMostAddress = 45;  // bytes, as IPv6 is written
static_assert(kMaxTableData + kMaxProcesses * (sizeof(Extent) + kMostAddress) <= UINT32_MAX);

/// The element of that number of an array at `at`, which is there.
template <class T>
T read(std::string_view bytes, std::size_t at, std::size_t number) {
  T value;
  std::memcpy(&value, bytes.data() + at + number * sizeof value, sizeof value);
  return value;
}
template <class T>
void write(std::string& bytes, std::size_t at, std::size_t number, const T& value) {
  std::memcpy(bytes.data() + at + number * sizeof value, &value, sizeof value);
}

// Where the parts are: the rows; for each group of processes the row of its first, and one more; the texts,
// which are the addresses, and behind them the tuples. A lookup reads an index, two rows that are neighbours,
// and what the caller reads of a tuple: what it costs is how much of that the caches hold, so rows are small.
constexpr std::size_t kRowsAt = 64;
std::size_t groups(const SharedTable::Header& header) {
  return header.processes == 0 ? 0 : ((header.processes - std::size_t{1}) >> header.group_bits) + 1;
}
std::size_t index_at(const SharedTable::Header& header) {
  return kRowsAt + std::size_t{header.rows} * sizeof(Row);
}
std::size_t texts_at(const SharedTable::Header& header) {
  return index_at(header) + (groups(header) + 1) * sizeof(std::uint32_t);
}

/// Puts one text after another behind those that are there.
class Texts {
public:
  explicit Texts(std::string& bytes) : bytes_(bytes), from_(bytes.size()) {}

  void put(std::string_view address, Row& row) {
    row.address_at = place_of(address);
    row.address_size = static_cast<std::uint32_t>(address.size());
  }
  void put(const std::vector<Tuple>& tuples, Row& row) {
    const std::size_t size = tuples.front().data.size();
    const auto is_equal = [&](const Tuple& each) { return each.data == tuples.front().data; };
    const auto is_as_long = [&](const Tuple& each) { return each.data.size() == size; };
    const bool are_equal = std::all_of(tuples.begin(), tuples.end(), is_equal);
    if (!are_equal && (size > kMostInPlace || !std::all_of(tuples.begin(), tuples.end(), is_as_long)))
      return put_extents(tuples, row);
    row.size = static_cast<std::uint16_t>(size);
    row.stride = are_equal ? std::uint16_t{0} : row.size;
    row.at = are_equal ? place_of(tuples.front().data) : end();
    for (std::size_t i = 0; !are_equal && i < tuples.size(); ++i) bytes_ += tuples[i].data;
  }

private:
  void put_extents(const std::vector<Tuple>& tuples, Row& row) {
    row.size = kAnySize;
    row.at = end();
    const std::size_t extents_at = bytes_.size();
    bytes_.resize(extents_at + tuples.size() * sizeof(Extent));
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const auto size = static_cast<std::uint32_t>(tuples[i].data.size());
      write(bytes_, extents_at, i, Extent{place_of(tuples[i].data), size});
    }
  }
  /// One that is the same as the last one is there already.
  std::uint32_t place_of(std::string_view text) {
    if (text != last_) {
      last_at_ = end();
      bytes_ += text;
      last_ = text;
    }
    return last_at_;
  }
  std::uint32_t end() const { return static_cast<std::uint32_t>(bytes_.size() - from_); }

  std::string& bytes_;
  std::size_t from_;
  std::string last_;
  std::uint32_t last_at_ = 0;
};

}  // namespace

/// Groups have about as many processes as hosts have, so that one is of two rows at most, mostly.
std::string shared_form(const NodeTable& table) {
  std::vector<const TupleBlock*> blocks;
  SharedTable::Header header{kMagic, table.epoch};
  for (const TupleBlock& block : table.blocks) {
    if (block.tuples.empty()) continue;
    blocks.push_back(&block);
    header.processes += static_cast<std::uint32_t>(block.tuples.size());
  }
  header.rows = static_cast<std::uint32_t>(blocks.size());
  if (header.rows > 0)
    header.group_bits = static_cast<std::uint32_t>(std::bit_width(header.processes / header.rows)) - 1;
  std::string bytes;
  bytes.reserve(texts_at(header) + blocks.size() * kMostAddress + tuple_bytes(table.blocks));
  bytes.resize(texts_at(header));
  std::memcpy(bytes.data(), &header, sizeof header);

  Texts texts{bytes};
  std::vector<Row> rows(blocks.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    texts.put(blocks[i]->address.is_known() ? text_of(blocks[i]->address) : std::string{}, rows[i]);
  std::uint32_t first = 0;
  std::size_t group = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].first = first;
    rows[i].host = blocks[i]->host;
    texts.put(blocks[i]->tuples, rows[i]);
    write(bytes, kRowsAt, i, rows[i]);
    first += static_cast<std::uint32_t>(blocks[i]->tuples.size());
    for (; group << header.group_bits < first; ++group)
      write(bytes, index_at(header), group, static_cast<std::uint32_t>(i));
  }
  if (!rows.empty()) write(bytes, index_at(header), group, header.rows - 1);
  return bytes;
}

std::optional<SharedTable> SharedTable::in(std::string_view bytes) {
  if (bytes.size() < kRowsAt) return {};
  const auto header = read<Header>(bytes, 0, 0);
  if (header.magic != kMagic || header.group_bits >= 32 || bytes.size() < texts_at(header)) return {};
  return SharedTable{bytes, header};
}

std::optional<SharedTable::Entry> SharedTable::find(std::uint32_t process) const {
  if (process >= header_.processes) return {};
  const std::size_t group = process >> header_.group_bits;
  auto low = read<std::uint32_t>(bytes_, index_at(header_), group);
  auto high = read<std::uint32_t>(bytes_, index_at(header_), group + 1);
  if (high >= header_.rows) return {};
  while (low < high) {
    const std::uint32_t middle = high - (high - low) / 2;
    const auto first = read<std::uint32_t>(bytes_, kRowsAt + middle * sizeof(Row) + offsetof(Row, first), 0);
    if (first <= process)
      low = middle;
    else
      high = middle - 1;
  }
  if (low > high) return {};
  const auto row = read<Row>(bytes_, kRowsAt, low);
  if (row.first > process) return {};
  const std::string_view texts = bytes_.substr(texts_at(header_));
  const auto text = [&](std::uint64_t at, std::uint64_t size) -> std::optional<std::string_view> {
    if (at > texts.size() || size > texts.size() - at) return {};
    return texts.substr(at, size);
  };
  const std::uint64_t behind = process - row.first;
  std::uint64_t at = row.at + behind * row.stride, size = row.size;
  if (row.size == kAnySize) {
    const std::uint64_t extent_at = row.at + behind * sizeof(Extent);
    if (!text(extent_at, sizeof(Extent))) return {};
    const auto extent = read<Extent>(texts, extent_at, 0);
    at = extent.at;
    size = extent.size;
  }
  const auto address = text(row.address_at, row.address_size), tuple = text(at, size);
  if (!address || !tuple) return {};
  return Entry{row.host, *address, *tuple};
}

}  // namespace charmtree::wire
