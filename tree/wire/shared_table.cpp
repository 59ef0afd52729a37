// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/shared_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

namespace charmtree::wire {

namespace {

constexpr std::uint64_t kMagic = 0x32656C6261547463;  // "ctTable2", in the order of this machine
constexpr std::size_t kLine = 64;

/// Tuples of a block that are no longer lie one behind the other, each in its place, if all have one size.
constexpr std::size_t kMostInPlace = 64;
constexpr std::uint16_t kAnySize = UINT16_MAX;  // of a row whose tuples have an extent each
static_assert(kMaxTuple < kAnySize);

struct Row {
  std::uint32_t first = 0;  // process
  std::uint32_t host = 0;
  std::uint32_t at = 0;  // its tuples' place among all, or its extents'
  std::uint16_t size = 0;
  std::uint16_t stride = 0;  // from one tuple to the next: 0 if they are equal
  std::uint8_t address_size = 0;
  std::array<char, 47> address{};  // no longer than that, as IPv6 is written
};
static_assert(sizeof(Row) == kLine);

struct Extent {
  std::uint32_t at = 0, size = 0;
};
static_assert(kMaxTableData + kMaxProcesses * sizeof(Extent) <= UINT32_MAX);

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

// Where the parts are: the rows, so that each is a line of the cache; for each group of processes the row of
// its first, and one more; the tuples.
constexpr std::size_t kRowsAt = kLine;
std::size_t groups(const SharedTable::Header& header) {
  return header.processes == 0 ? 0 : ((header.processes - std::size_t{1}) >> header.group_bits) + 1;
}
std::size_t index_at(const SharedTable::Header& header) {
  return kRowsAt + std::size_t{header.rows} * sizeof(Row);
}
std::size_t tuples_at(const SharedTable::Header& header) {
  return index_at(header) + (groups(header) + 1) * sizeof(std::uint32_t);
}

/// Puts the tuples of one block after another behind those that are there.
class Tuples {
public:
  explicit Tuples(std::string& bytes) : bytes_(bytes), from_(bytes.size()) {}

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
  std::uint32_t place_of(std::string_view tuple) {
    if (tuple != last_ || tuple.empty()) {
      last_at_ = end();
      bytes_ += tuple;
      last_ = tuple;
    }
    return last_at_;
  }
  std::uint32_t end() const { return static_cast<std::uint32_t>(bytes_.size() - from_); }

  std::string& bytes_;
  std::size_t from_;
  std::string_view last_;
  std::uint32_t last_at_ = 0;
};

}  // namespace

/// Groups have about as many processes as hosts have, so that one is of two rows at most, mostly.
std::string shared_form(const NodeTable& table) {
  SharedTable::Header header{kMagic, table.epoch};
  for (const TupleBlock& block : table.blocks) {
    header.processes += static_cast<std::uint32_t>(block.tuples.size());
    header.rows += block.tuples.empty() ? 0 : 1;
  }
  if (header.rows > 0)
    header.group_bits = static_cast<std::uint32_t>(std::bit_width(header.processes / header.rows)) - 1;
  std::string bytes;
  bytes.reserve(tuples_at(header) + tuple_bytes(table.blocks));
  bytes.resize(tuples_at(header));
  std::memcpy(bytes.data(), &header, sizeof header);

  Tuples tuples{bytes};
  Row row;
  std::uint32_t number = 0;
  std::size_t group = 0;
  for (const TupleBlock& block : table.blocks) {
    if (block.tuples.empty()) continue;
    row = {row.first, block.host};
    const std::string address = block.address.is_known() ? text_of(block.address) : std::string{};
    row.address_size = static_cast<std::uint8_t>(address.copy(row.address.data(), row.address.size()));
    tuples.put(block.tuples, row);
    write(bytes, kRowsAt, number, row);
    row.first += static_cast<std::uint32_t>(block.tuples.size());
    for (; group << header.group_bits < row.first; ++group) write(bytes, index_at(header), group, number);
    ++number;
  }
  if (number > 0) write(bytes, index_at(header), group, number - 1);
  return bytes;
}

std::optional<SharedTable> SharedTable::in(std::string_view bytes) {
  if (bytes.size() < kRowsAt) return {};
  const auto header = read<Header>(bytes, 0, 0);
  if (header.magic != kMagic || header.group_bits >= 32 || bytes.size() < tuples_at(header)) return {};
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
  const std::string_view row_bytes = bytes_.substr(kRowsAt + low * sizeof(Row), sizeof(Row));
  const auto row = read<Row>(row_bytes, 0, 0);
  if (row.first > process || row.address_size > row.address.size()) return {};
  const std::string_view tuples = bytes_.substr(tuples_at(header_));
  const std::uint64_t behind = process - row.first;
  std::uint64_t at = row.at + behind * row.stride, size = row.size;
  if (row.size == kAnySize) {
    const std::uint64_t extent_at = row.at + behind * sizeof(Extent);
    if (extent_at + sizeof(Extent) > tuples.size()) return {};
    const auto extent = read<Extent>(tuples, extent_at, 0);
    at = extent.at;
    size = extent.size;
  }
  if (at > tuples.size() || size > tuples.size() - at) return {};
  return Entry{row.host, row_bytes.substr(offsetof(Row, address), row.address_size), tuples.substr(at, size)};
}

}  // namespace charmtree::wire
