// SPDX-License-Identifier: Apache-2.0
// Values that this process offers, and what it asks of others, one by one. Functions return CT_OK (or the
// number asked for) or a negative CT_E... value; charmtree.h documents them for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "client-lib/fences.hpp"
#include "client-lib/listeners.hpp"
#include "client-lib/peers.hpp"

namespace charmtree::client {

class Asks {
public:
  /// They must outlive the object.
  Asks(Job& job, Fences& fences, Peers& peers) : job_(job), fences_(fences), peers_(peers) {}

  int offer(std::string_view key, std::string_view value);
  /// The number of a request.
  int begin(std::uint32_t process, std::string_view key);
  /// Waits for it, unless it is known; it is, until the job has a newer table in use.
  int ask(std::uint32_t process, std::string_view key, std::string_view& value,
          const Fences::Progress& progress);

  /// From now on the handler is told what others ask for under keys that begin so; null: no more.
  int listen(std::string_view prefix, AskHandler handler);
  /// To that process alone, for what it has asked for.
  int answer(std::uint32_t process, std::string_view key, std::string_view value);

private:
  using Key = std::pair<std::uint32_t, std::string>;

  Job& job_;
  Fences& fences_;
  Peers& peers_;
  std::map<std::string, std::string, std::less<>> own_;  // as offered
  std::size_t own_bytes_ = 0;
  std::map<Key, std::string> known_;
  std::uint32_t epoch_ = 0;        // of these
  std::map<Key, int> waited_for_;  // requests of ask() that timed out
};

}  // namespace charmtree::client
