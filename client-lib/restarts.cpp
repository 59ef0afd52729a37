// SPDX-License-Identifier: Apache-2.0
#include "client-lib/restarts.hpp"

#include <iterator>

namespace charmtree::client {

bool Restarts::add(wire::native::Renewed message, std::uint32_t total) {
  for (const wire::TupleBlock& block : message.blocks) {
    if (block.tuples.size() > total || block.first_process > total - block.tuples.size()) return false;
  }
  epoch_ = message.epoch;
  for (wire::TupleBlock& block : message.blocks) {
    for (std::size_t i = 0; handler_ && i < block.tuples.size(); ++i)
      untold_.push_back(static_cast<int>(block.first_process + i));
    blocks_.push_back(std::move(block));
  }
  return true;
}

void Restarts::apply_to(Table& table) {
  table.renew(std::exchange(blocks_, {}), epoch_);
}

/// A copy: it may set another.
bool Restarts::tell() {
  if (!untold() || telling_) return false;
  const std::vector<int> ranks = std::exchange(untold_, {});
  const RestartHandler handler = handler_;
  telling_ = true;
  const bool leave = handler(ranks);
  telling_ = false;
  return leave;
}

}  // namespace charmtree::client
