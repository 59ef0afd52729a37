// SPDX-License-Identifier: Apache-2.0
// The processes of whose restart this one has heard: what has changed in the table by it, and which of them
// its program has not been told.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "client-lib/table.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::client {

/// Returns whether the program wants to be let out of the call that it is in.
using RestartHandler = std::function<bool(const std::vector<int>& ranks)>;

class Restarts {
public:
  /// It is told of those that are heard of from now on.
  void set_handler(RestartHandler handler) {
    handler_ = std::move(handler);
    untold_.clear();
  }
  /// False: there is no such process among `total`.
  bool add(wire::native::Renewed message, std::uint32_t total);
  /// What has changed since the last call goes into the table.
  void apply_to(Table& table);
  /// Something has.
  bool pending() const { return !blocks_.empty(); }
  /// There is something for the handler.
  bool untold() const { return handler_ && !untold_.empty(); }
  /// The handler is running.
  bool telling() const { return telling_; }
  /// Calls the handler, unless that is running; what it returns.
  bool tell();

private:
  std::vector<wire::TupleBlock> blocks_;
  std::uint32_t epoch_ = 0;
  std::vector<int> untold_;
  RestartHandler handler_;
  bool telling_ = false;
};

}  // namespace charmtree::client
