// SPDX-License-Identifier: Apache-2.0
// Which native clients of this host want to know what they are asked for before they offer it, and what of
// that they have been told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeListeners {
public:
  /// That a process is told, and has not answered.
  static constexpr std::size_t kMostTold = 256;

  // Empty, or what is wrong with it.
  std::string listen(ClientId client, std::uint32_t process, wire::native::Listen listen);
  /// The beginnings of keys of which it wants to know.
  std::set<std::string> prefixes(std::uint32_t process) const;

  /// Returns true if `process` is notified of asks for this key.
  bool wants(std::uint32_t process, const std::string& key) const;
  /// `asker` waits for this of `process`. Once, whatever it is called.
  void asked(std::uint32_t process, const std::string& key, std::uint32_t asker, ClientOutputs& out);
  /// That one waits for it no more.
  void settled(std::uint32_t process, const std::string& key, std::uint32_t asker);
  /// There was more than it could be told.
  bool has_missed(std::uint32_t process) const;
  /// The same, and there is room for much of it now. Says so once.
  bool has_room_again(std::uint32_t process);

  /// It does not listen any more.
  void vacate(std::uint32_t process) { listeners_.erase(process); }
  /// Drops the listeners of a connection. Returns their processes.
  std::vector<std::uint32_t> forget(ClientId client);

private:
  struct Listener {
    ClientId client = 0;
    std::set<std::string> prefixes = {};
    std::set<std::pair<std::string, std::uint32_t>> told = {};  // keys, and who asks
    bool has_missed = false;                                    // there was more than it could be told
    bool wants(const std::string& key) const;
  };
  std::map<std::uint32_t, Listener> listeners_;  // by process
};

}  // namespace charmtree::proto
