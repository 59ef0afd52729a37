// SPDX-License-Identifier: Apache-2.0
#include "client-lib/listeners.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::client {

void Listeners::set(const std::string& prefix, AskHandler handler) {
  if (handler)
    handlers_.insert_or_assign(prefix, std::move(handler));
  else
    handlers_.erase(prefix);
}

bool Listeners::heard(wire::native::Asked asked, std::uint32_t total) {
  if (asked.process >= total) return false;
  untold_.push_back(std::move(asked));
  return true;
}

/// One may be told of that is set no more: the launcher has not heard of that yet. A copy of the handler: it
/// may set another.
bool Listeners::tell_one() {
  if (telling_ || untold_.empty()) return false;
  const wire::native::Asked asked = std::move(untold_.front());
  untold_.pop_front();
  const auto found = std::find_if(handlers_.rbegin(), handlers_.rend(),
                                  [&](const auto& each) { return asked.key.starts_with(each.first); });
  if (found == handlers_.rend()) return true;
  const AskHandler handler = found->second;
  telling_ = true;
  handler(asked.process, asked.key);
  telling_ = false;
  return true;
}

}  // namespace charmtree::client
