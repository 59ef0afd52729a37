// SPDX-License-Identifier: Apache-2.0
// What others ask this process for that it has not offered, and whom of its program that concerns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "tree/wire/native_message.hpp"

namespace charmtree::client {

using AskHandler = std::function<void(std::uint32_t process, const std::string& key)>;

class Listeners {
public:
  /// Of keys that begin so; null: nobody is told of these.
  void set(const std::string& prefix, AskHandler handler);
  bool has(const std::string& prefix) const { return handlers_.contains(prefix); }
  std::size_t count() const { return handlers_.size(); }
  /// False: there is no such process among `total`.
  bool heard(wire::native::Asked asked, std::uint32_t total);
  /// A handler is running.
  bool telling() const { return telling_; }
  /// Calls a handler for what came first, that of the longest prefix, if there is one. False: nothing has
  /// come, or a handler is running.
  bool tell_one();

private:
  std::map<std::string, AskHandler> handlers_;  // by prefix
  std::deque<wire::native::Asked> untold_;
  bool telling_ = false;
};

}  // namespace charmtree::client
