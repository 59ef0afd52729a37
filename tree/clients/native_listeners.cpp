// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_listeners.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

namespace native = wire::native;

bool NativeListeners::Listener::wants(const std::string& key) const {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); });
}

std::string NativeListeners::listen(ClientId client, std::uint32_t process, native::Listen listen) {
  Listener& listener = listeners_[process];
  listener.client = client;
  if (!listen.is_on) {
    listener.prefixes.erase(listen.prefix);
    std::erase_if(listener.told, [&](const auto& each) { return !listener.wants(each.first); });
  } else if (!listener.prefixes.contains(listen.prefix)) {
    if (listener.prefixes.size() >= native::kMostListeners) return "listens for too much";
    listener.prefixes.insert(std::move(listen.prefix));
  }
  return {};
}

std::set<std::string> NativeListeners::prefixes(std::uint32_t process) const {
  const auto found = listeners_.find(process);
  return found == listeners_.end() ? std::set<std::string>{} : found->second.prefixes;
}

bool NativeListeners::wants(std::uint32_t process, const std::string& key) const {
  const auto found = listeners_.find(process);
  return found != listeners_.end() && found->second.wants(key);
}

std::vector<std::uint32_t> NativeListeners::forget(ClientId client) {
  std::vector<std::uint32_t> processes;
  std::erase_if(listeners_, [&](const auto& each) {
    const bool is_of_it = each.second.client == client;
    if (is_of_it) processes.push_back(each.first);
    return is_of_it;
  });
  return processes;
}

void NativeListeners::asked(std::uint32_t process, const std::string& key, std::uint32_t asker,
                            ClientOutputs& out) {
  const auto found = listeners_.find(process);
  if (found == listeners_.end()) return;
  Listener& listener = found->second;
  if (!listener.wants(key) || listener.told.contains({key, asker})) return;
  if (listener.told.size() >= kMostTold) {
    listener.has_missed = true;
    return;
  }
  listener.told.emplace(key, asker);
  out.push_back(ToClient{listener.client, native::to_frame(native::Asked{asker, key})});
}

void NativeListeners::settled(std::uint32_t process, const std::string& key, std::uint32_t asker) {
  const auto found = listeners_.find(process);
  if (found != listeners_.end()) found->second.told.erase({key, asker});
}

bool NativeListeners::has_missed(std::uint32_t process) const {
  const auto found = listeners_.find(process);
  return found != listeners_.end() && found->second.has_missed;
}

/// Half of it, since looking for what it has missed is dear.
bool NativeListeners::has_room_again(std::uint32_t process) {
  const auto found = listeners_.find(process);
  if (found == listeners_.end() || found->second.told.size() > kMostTold / 2) return false;
  return std::exchange(found->second.has_missed, false);
}

}  // namespace charmtree::proto
