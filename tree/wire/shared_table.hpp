// SPDX-License-Identifier: Apache-2.0
// The node table as all processes of a host read it: written once by their launcher into memory that none of
// them can change, and laid out so that an entry is found at once and that caches hold as much of it as can
// be: that of a million processes with two bytes each has 3.2 megabytes. A header, a row for each block of
// processes, for each group of as many processes the row of the first, then addresses and tuples; numbers are
// in the machine's own byte order, and stand at any address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tree/wire/node_table.hpp"

namespace charmtree::wire {

/// The bytes of a complete table.
std::string shared_form(const NodeTable& table);

/// Reads them where they are. What it finds is within them, whatever they are.
class SharedTable {
public:
  /// Nothing: these are no table's bytes.
  static std::optional<SharedTable> in(std::string_view bytes);

  std::uint32_t epoch() const { return header_.epoch; }
  std::uint32_t processes() const { return header_.processes; }

  struct Entry {
    std::uint32_t host = 0;    // index in the job's host list
    std::string_view address;  // as people write it; empty: none is known
    std::string_view tuple;
  };
  /// Nothing: there is no such process, or its entry is damaged.
  std::optional<Entry> find(std::uint32_t process) const;

  struct Header {
    std::uint64_t magic = 0;
    std::uint32_t epoch = 0, processes = 0, rows = 0, group_bits = 0;
  };

private:
  SharedTable(std::string_view bytes, const Header& header) : bytes_(bytes), header_(header) {}

  std::string_view bytes_;
  Header header_;
};

}  // namespace charmtree::wire
