// SPDX-License-Identifier: Apache-2.0
// The process that is to be started in place of one that is not gone yet: the order for it, and the input
// that it is to read.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Successor {
public:
  struct Start {
    wire::Restart order;
    std::string input;
  };

  /// Is to be started, now by this order; what there is to read stays.
  void order(const wire::Restart& restart) { order_ = restart; }
  bool is_ordered() const { return order_.has_value(); }
  /// Precondition: is_ordered().
  void write(const std::string& bytes, bool end) {
    input_ += bytes;
    order_->input_ended = order_->input_ended || end;
  }
  /// Precondition: is_ordered(). It is started, and there is none any more.
  Start take() { return {*std::exchange(order_, std::nullopt), std::exchange(input_, {})}; }

private:
  std::optional<wire::Restart> order_;
  std::string input_;
};

}  // namespace charmtree::proto
