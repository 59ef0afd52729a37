// SPDX-License-Identifier: Apache-2.0
#include "client-lib/table.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::client {

std::optional<Table> Table::shared(int fd, std::uint32_t processes) {
  Mapping mapping = Mapping::of_sealed(fd);
  const auto entries = wire::SharedTable::in(mapping.bytes());
  if (!entries || entries->processes() != processes) return {};
  Table table{*entries};
  table.mapping_ = std::move(mapping);
  return table;
}

Table Table::of_one(std::string_view tuple) {
  const wire::NodeTable whole{0, 1, {{0, 0, {}, {{0, std::string{tuple}}}}}};
  auto own = std::make_shared<const std::string>(wire::shared_form(whole));
  Table table{*wire::SharedTable::in(*own)};
  table.own_ = std::move(own);
  return table;
}

std::optional<wire::SharedTable::Entry> Table::find(std::uint32_t process) const {
  if (renewed_.empty()) return entries_.find(process);
  const auto found = renewed_.find(process);
  if (found == renewed_.end()) return entries_.find(process);
  const Renewed& entry = found->second;
  return wire::SharedTable::Entry{entry.host, entry.address, entry.tuple};
}

void Table::renew(const std::vector<wire::TupleBlock>& blocks, std::uint32_t epoch) {
  epoch_ = std::max(epoch_, epoch);
  for (const wire::TupleBlock& block : blocks) {
    std::uint32_t process = block.first_process;
    const std::string address = block.address.is_known() ? wire::text_of(block.address) : std::string{};
    for (const wire::Tuple& tuple : block.tuples)
      renewed_.insert_or_assign(process++, Renewed{block.host, address, tuple.data});
  }
}

}  // namespace charmtree::client
