// SPDX-License-Identifier: Apache-2.0
// CCS requests for this process: its handlers, the requests that have come and have not been handled, and
// those that have not been answered.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "client-lib/charmtree.h"
#include "tree/wire/native_message.hpp"

namespace charmtree::client {

class Requests {
public:
  struct Handler {
    ct_ccs_function function = nullptr;
    void* argument = nullptr;
  };

  void add(const std::string& name, Handler handler) { handlers_[name] = handler; }
  bool has_room_for(std::string_view name) const {
    return handlers_.size() < CT_MAX_CCS_HANDLERS || handlers_.contains(name);
  }
  /// False: nobody asked for it.
  bool arrived(wire::native::Request request);
  bool arrived(const wire::native::RequestData& data);

  /// The oldest complete request.
  std::optional<wire::native::Request> take();
  /// Of a name that was added.
  Handler handler(const std::string& name) const { return handlers_.at(name); }
  bool is_open(std::uint32_t token) const { return open_.contains(token); }
  void answered(std::uint32_t token) { open_.erase(token); }
  std::size_t waiting() const { return whole_.size(); }

private:
  void settle();

  std::map<std::string, Handler, std::less<>> handlers_;
  std::optional<wire::native::Request> coming_;
  std::deque<wire::native::Request> whole_;
  std::set<std::uint32_t> open_;  // tokens of those that were taken
};

}  // namespace charmtree::client
