// SPDX-License-Identifier: Apache-2.0
// The processes whose loss this one has heard of, and those of them that its program has not been told.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tree/wire/native_message.hpp"

namespace charmtree::client {

using LossHandler = std::function<void(const std::vector<int>& ranks)>;

class Losses {
public:
  void set_handler(LossHandler handler) { handler_ = std::move(handler); }
  /// False: there is no such process among `total`.
  bool add(const wire::native::Lost& lost, std::uint32_t total);
  bool contains(std::uint32_t process) const { return lost_.contains(process); }
  /// The handler is running.
  bool telling() const { return telling_; }
  /// There is something for the handler.
  bool untold() const { return handler_ && !untold_.empty(); }
  /// Calls the handler, unless that is running.
  void tell();

private:
  wire::ProcessSet lost_;
  std::vector<int> untold_;
  LossHandler handler_;
  bool telling_ = false;
};

}  // namespace charmtree::client
