// SPDX-License-Identifier: Apache-2.0
// The node table as this process reads it: in the memory that its host's processes share, with what has
// changed in it since kept beside it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/mapping.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/shared_table.hpp"

namespace charmtree::client {

class Table {
public:
  /// That of the launcher; nothing if it is damaged, or not of so many processes. The descriptor stays the
  /// caller's.
  static std::optional<Table> shared(int fd, std::uint32_t processes);
  /// That of a job of one.
  static Table of_one(std::string_view tuple);

  std::uint32_t epoch() const { return epoch_; }
  /// Valid until the process is renewed, or the table goes. Nothing: its entry is damaged.
  std::optional<wire::SharedTable::Entry> find(std::uint32_t process) const;
  /// These processes were started again; the table is of this epoch now, or a later one.
  void renew(const std::vector<wire::TupleBlock>& blocks, std::uint32_t epoch);

private:
  struct Renewed {
    std::uint32_t host = 0;
    std::string address, tuple;
  };
  explicit Table(wire::SharedTable entries) : entries_(entries), epoch_(entries.epoch()) {}

  Mapping mapping_;
  wire::Blob own_;             // of a job of one
  wire::SharedTable entries_;  // in either
  std::uint32_t epoch_ = 0;
  std::map<std::uint32_t, Renewed> renewed_;
};

}  // namespace charmtree::client
