// SPDX-License-Identifier: Apache-2.0
// Coded form of a list of blocks: the dictionary of opaque tuples, then per block host, first process and
// address, each as the difference to what the block before lets expect, the number of processes, and if there
// are any the form of what follows and two columns of one value per process:
//   ports    a run (its first value and the step from one to the next), or two bytes each
//   tuples   a run of indices in the dictionary, an index each, or, if all are of one length of at most
//            kInline bytes and no run, just those bytes; or, if all are one but for a number that counts up
//            (counted_field.hpp), the index of that one with zeros in its place, the place, and the first
//            number as the difference to the one of the last such block
// Typical: 8 bytes a host whose processes count their ports up from a base (11 if they tell them as tuples),
// and two bytes more per process if each has whatever port it got.
#include "tree/wire/node_table.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "tree/wire/counted_field.hpp"

namespace charmtree::wire {

namespace {

constexpr std::size_t kInline = 4;
/// A short message must not ask for a large table: ports of more processes in a row are written one by one.
constexpr std::size_t kMaxRun = 4096;

/// The two lowest bits are the form of the tuples, then one for that of the ports, then their inline length.
enum Form : std::uint8_t {
  tuple_run = 0,
  tuple_indices = 1,
  tuple_inline = 2,
  tuple_counted = 3,
  raw_ports = 4
};
constexpr std::uint8_t kTupleForm = 3, kLengthShift = 3;

std::uint64_t wrapped(std::int64_t difference) {
  return static_cast<std::uint64_t>(difference);
}

/// True if value(i + 1) - value(i) is the same for all i.
template <class Value>
bool is_run(std::size_t size, Value value) {
  if (size < 3) return true;
  std::int64_t before = value(1);
  const std::int64_t step = before - value(0);
  for (std::size_t i = 2; i < size; ++i) {
    const std::int64_t next = value(i);
    if (next - before != step) return false;
    before = next;
  }
  return true;
}

/// Equal tuples, or ones that are too long or too different in length to be written where they stand, are the
/// dictionary's.
bool is_inline(const std::vector<Tuple>& tuples) {
  const std::string& first = tuples.front().data;
  if (first.size() > kInline) return false;
  bool equal = true;
  for (const Tuple& tuple : tuples) {
    if (tuple.data.size() != first.size()) return false;
    equal = equal && tuple.data == first;
  }
  return !equal;
}

std::string blank_of(std::string tuple, const CountedField& field) {
  field.set(tuple, 0);
  return tuple;
}

/// Of the tuples, and of those that are counted in, with zeros in the number's place.
class Dictionary {
public:
  void add(const TupleBlock& block) {
    const auto field = counted_field(block.tuples, likely_);
    fields_.push_back(field);
    if (field) likely_ = field;
    if (field)
      add_blank(block.tuples.front().data, *field);
    else if (!block.tuples.empty() && !is_inline(block.tuples))
      for (const Tuple& tuple : block.tuples) add(tuple.data);
  }
  const std::vector<std::string_view>& entries() const { return entries_; }
  std::uint64_t index(std::string_view tuple) const { return indices_.at(tuple); }
  /// Of the block that was added as the i-th.
  const std::optional<CountedField>& field(std::size_t i) const { return fields_[i]; }

private:
  void add(std::string_view tuple) {
    if (indices_.emplace(tuple, entries_.size()).second) entries_.push_back(tuple);
  }
  void add_blank(const std::string& tuple, const CountedField& field) {
    std::string blank = blank_of(tuple, field);
    if (!indices_.contains(blank)) add(blanks_.emplace_back(std::move(blank)));
  }

  std::map<std::string_view, std::uint64_t> indices_;
  std::vector<std::string_view> entries_;
  std::vector<std::optional<CountedField>> fields_;
  std::optional<CountedField> likely_;  // that of the last block: others have most likely the same
  std::deque<std::string> blanks_;
};

void write_run(Writer& out, std::int64_t first, std::int64_t expected, std::int64_t step) {
  out.svarint(first - expected);
  out.svarint(step);
}

void write_ports(Writer& out, const std::vector<Tuple>& tuples, bool raw, std::int64_t before) {
  const std::int64_t first = tuples.front().port;
  if (!raw) return write_run(out, first, before, tuples.size() > 1 ? tuples[1].port - first : 0);
  for (const Tuple& tuple : tuples) {
    out.u8(static_cast<std::uint8_t>(tuple.port & 0xFF));
    out.u8(static_cast<std::uint8_t>(tuple.port >> 8));
  }
}

void write_tuples(Writer& out, const std::vector<Tuple>& tuples, const Dictionary& dictionary, Form form) {
  const auto index = [&](std::size_t i) {
    return static_cast<std::int64_t>(dictionary.index(tuples[i].data));
  };
  if (form == tuple_run) return write_run(out, index(0), 0, tuples.size() > 1 ? index(1) - index(0) : 0);
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    if (form == tuple_inline)
      out.raw(tuples[i].data);
    else
      out.varint(static_cast<std::uint64_t>(index(i)));
  }
}

/// What each block is written as the difference to.
struct Before {
  std::int64_t port = 0, number = 0;
};

void write_counted(Writer& out, const std::string& first, const Dictionary& dictionary,
                   const CountedField& field, Before& before) {
  out.varint(dictionary.index(blank_of(first, field)));
  out.varint(field.offset << 1 | static_cast<std::size_t>(field.order));
  const std::int64_t number = field.in(first);
  out.svarint(number - before.number);
  before.number = number;
}

void write_columns(Writer& out, const std::vector<Tuple>& tuples, const Dictionary& dictionary,
                   const std::optional<CountedField>& field, Before& before) {
  const auto index = [&](std::size_t i) {
    return static_cast<std::int64_t>(dictionary.index(tuples[i].data));
  };
  const auto port = [&](std::size_t i) { return std::int64_t{tuples[i].port}; };
  const bool raw = tuples.size() > kMaxRun || !is_run(tuples.size(), port);
  const bool written_here = !field && is_inline(tuples);
  const Form form = field                          ? tuple_counted
                    : written_here                 ? tuple_inline
                    : is_run(tuples.size(), index) ? tuple_run
                                                   : tuple_indices;
  const std::size_t length = written_here ? tuples.front().data.size() : 0;
  out.varint(form | (raw ? raw_ports : 0) | length << kLengthShift);
  write_ports(out, tuples, raw, before.port);
  before.port = tuples.back().port;
  if (field) return write_counted(out, tuples.front().data, dictionary, *field, before);
  write_tuples(out, tuples, dictionary, form);
}

class ColumnReader {
public:
  ColumnReader(Reader& in, const std::vector<std::string_view>& entries) : in_(in), entries_(entries) {}

  /// Poisons the reader if more than kMaxTableData bytes come together.
  void read(std::size_t size, std::vector<Tuple>& tuples) {
    const std::uint64_t form = in_.varint();
    const bool raw = (form & raw_ports) != 0;
    if (form >> kLengthShift > kInline) return in_.poison();
    if (size > (raw ? in_.left() : kMaxRun)) return in_.poison();
    tuples.resize(size);
    read_ports(tuples, raw);
    if ((form & kTupleForm) == tuple_counted) return read_counted(tuples);
    read_tuples(form, tuples);
  }

private:
  void read_tuples(std::uint64_t form, std::vector<Tuple>& tuples) {
    std::uint64_t index = 0, step = 0;
    if ((form & kTupleForm) == tuple_run) {
      index = wrapped(in_.svarint());
      step = wrapped(in_.svarint());
    }
    for (std::size_t i = 0; i < tuples.size() && in_.ok(); ++i, index += step) {
      if ((form & kTupleForm) == tuple_inline) {
        tuples[i].data = in_.raw(form >> kLengthShift);
        continue;
      }
      if ((form & kTupleForm) == tuple_indices) index = in_.varint();
      if (index >= entries_.size()) return in_.poison();
      expanded_ += entries_[index].size();
      if (expanded_ > kMaxTableData) return in_.poison();
      tuples[i].data = entries_[index];
    }
  }

  void read_counted(std::vector<Tuple>& tuples) {
    const std::uint64_t index = in_.varint();
    const std::uint64_t place = in_.bounded(2 * kMaxTuple);
    number_ += wrapped(in_.svarint());
    const CountedField field{static_cast<std::size_t>(place >> 1),
                             static_cast<CountedField::Order>(place & 1)};
    if (!in_.ok() || index >= entries_.size() || number_ > UINT16_MAX ||
        tuples.size() > UINT16_MAX + 1 - number_)
      return in_.poison();
    std::string tuple{entries_[index]};
    expanded_ += tuple.size() * tuples.size();
    if (field.offset + CountedField::kSize > tuple.size() || expanded_ > kMaxTableData) return in_.poison();
    std::uint64_t number = number_;
    for (Tuple& each : tuples) {
      field.set(tuple, static_cast<std::uint16_t>(number++));
      each.data = tuple;
    }
  }

  void read_ports(std::vector<Tuple>& tuples, bool raw) {
    std::uint64_t step = 0;
    if (!raw) {
      port_ += wrapped(in_.svarint());
      step = wrapped(in_.svarint());
    }
    for (Tuple& tuple : tuples) {
      if (raw) port_ = in_.u8() | static_cast<std::uint64_t>(in_.u8()) << 8;
      tuple.port = static_cast<std::uint16_t>(port_);
      if (!raw && &tuple != &tuples.back()) port_ += step;
    }
  }

  Reader& in_;
  const std::vector<std::string_view>& entries_;
  std::uint64_t port_ = 0, number_ = 0;  // unsigned: hostile differences may wrap
  std::size_t expanded_ = 0;
};

}  // namespace

std::uint32_t NodeTable::processes() const {
  return blocks.empty()
             ? 0
             : blocks.back().first_process + static_cast<std::uint32_t>(blocks.back().tuples.size());
}

bool NodeTable::is_native() const {
  const auto native = [](const Tuple& tuple) { return tuple.port == 0; };
  return std::all_of(blocks.begin(), blocks.end(), [&](const TupleBlock& block) {
    return std::all_of(block.tuples.begin(), block.tuples.end(), native);
  });
}

void encode(Writer& out, const std::vector<TupleBlock>& blocks) {
  Dictionary dictionary;
  for (const TupleBlock& block : blocks) dictionary.add(block);
  out.varint(dictionary.entries().size());
  for (std::string_view entry : dictionary.entries()) out.string(entry);
  out.varint(blocks.size());
  std::int64_t host = 0, process = 0;
  Before before;
  Address address;  // that comes next where hosts are numbered in turn
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const TupleBlock& block = blocks[i];
    out.svarint(block.host - host);
    out.svarint(block.first_process - process);
    out.svarint(static_cast<std::int64_t>(block.address.high - address.high));
    out.svarint(static_cast<std::int64_t>(block.address.low - address.low));
    out.varint(block.tuples.size());
    host = block.host + std::int64_t{1};
    process = block.first_process + static_cast<std::int64_t>(block.tuples.size());
    address = block.address;
    ++address.low;
    if (!block.tuples.empty()) write_columns(out, block.tuples, dictionary, dictionary.field(i), before);
  }
}

std::vector<TupleBlock> decode_blocks(Reader& in) {
  const std::size_t most =
      static_cast<std::size_t>(std::min<std::uint64_t>(kMaxProcesses, in.remit().processes));
  std::vector<std::string_view> entries;  // at most one for each process
  for (std::size_t left = in.count(most); left > 0 && in.ok(); --left)
    entries.push_back(in.raw(static_cast<std::size_t>(in.bounded(kMaxTuple))));
  std::vector<TupleBlock> blocks;
  ColumnReader columns{in, entries};
  std::uint64_t host = 0, process = 0;  // unsigned: hostile differences may wrap
  Address address;
  std::uint64_t total = 0;
  const auto step = [&in](std::uint64_t& value) { value += wrapped(in.svarint()); };
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    step(host);
    step(process);
    step(address.high);
    step(address.low);
    TupleBlock block{static_cast<std::uint32_t>(host), static_cast<std::uint32_t>(process), address, {}};
    const std::size_t size = in.bounded(most - total);
    if (size > 0) columns.read(size, block.tuples);
    total += size;
    ++host;
    process += size;
    ++address.low;
    blocks.push_back(std::move(block));
  }
  if (!in.ok()) blocks.clear();
  return blocks;
}

/// A host keeps one block, unless one of its processes has moved: then the blocks are cut there.
bool renew(std::vector<TupleBlock>& blocks, const TupleBlock& renewed) {
  if (blocks.empty() || renewed.tuples.empty()) return renewed.tuples.empty();
  const std::uint64_t last = std::uint64_t{renewed.first_process} + renewed.tuples.size() - 1;
  if (last >= std::uint64_t{blocks.back().first_process} + blocks.back().tuples.size()) return false;
  for (std::size_t i = 0; i < renewed.tuples.size(); ++i) {
    const auto process = renewed.first_process + static_cast<std::uint32_t>(i);
    const auto after =
        std::upper_bound(blocks.begin(), blocks.end(), process,
                         [](std::uint32_t p, const TupleBlock& block) { return p < block.first_process; });
    auto block = std::prev(after);
    if (block->host != renewed.host || block->address != renewed.address) {
      const auto place = static_cast<std::ptrdiff_t>(process - block->first_process);
      TupleBlock behind{
          block->host, process + 1, block->address, {block->tuples.begin() + place + 1, block->tuples.end()}};
      block->tuples.resize(static_cast<std::size_t>(place));
      if (!behind.tuples.empty()) block = std::prev(blocks.insert(std::next(block), std::move(behind)));
      const TupleBlock moved{renewed.host, process, renewed.address, {Tuple{}}};
      if (block->tuples.empty())
        *block = moved;
      else
        block = blocks.insert(std::next(block), moved);
    }
    block->tuples[process - block->first_process] = renewed.tuples[i];
  }
  return true;
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
