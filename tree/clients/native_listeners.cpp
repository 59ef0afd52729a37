// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_listeners.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

namespace native = wire::native;

std::string NativeListeners::listen(ClientId client, std::uint32_t process, native::Listen listen) {
  Listener& listener = listeners_[process];
  listener.client = client;
  if (!listen.is_on) {
    listener.prefixes.erase(listen.prefix);
    std::erase_if(listener.told, [&](const auto& each) { return each.first.starts_with(listen.prefix); });
  } else if (!listener.prefixes.contains(listen.prefix)) {
    if (listener.prefixes.size() >= kMostPrefixes) return "listens for too much";
    listener.prefixes.insert(std::move(listen.prefix));
  }
  return {};
}

std::set<std::string> NativeListeners::prefixes(std::uint32_t process) const {
  const auto found = listeners_.find(process);
  return found == listeners_.end() ? std::set<std::string>{} : found->second.prefixes;
}

void NativeListeners::asked(std::uint32_t process, const std::string& key, std::uint32_t asker,
                            ClientOutputs& out) {
  const auto found = listeners_.find(process);
  if (found == listeners_.end()) return;
  Listener& listener = found->second;
  const auto begins_so = [&](const std::string& prefix) { return key.starts_with(prefix); };
  if (std::none_of(listener.prefixes.begin(), listener.prefixes.end(), begins_so)) return;
  if (listener.told.contains({key, asker})) return;
  if (listener.told.size() >= kMostTold) {
    listener.is_full = true;
    return;
  }
  listener.told.emplace(key, asker);
  out.push_back(ToClient{listener.client, native::to_frame(native::Asked{asker, key})});
}

void NativeListeners::settled(std::uint32_t process, const std::string& key, std::uint32_t asker) {
  const auto found = listeners_.find(process);
  if (found != listeners_.end()) found->second.told.erase({key, asker});
}

bool NativeListeners::has_room_again(std::uint32_t process) {
  const auto found = listeners_.find(process);
  if (found == listeners_.end() || found->second.told.size() >= kMostTold) return false;
  return std::exchange(found->second.is_full, false);
}

}  // namespace charmtree::proto
