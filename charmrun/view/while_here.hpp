// SPDX-License-Identifier: Apache-2.0
// For an owner of writers: these post their callbacks to the event loop, which may go on when the owner is no
// more. A callback that went through `guarded` then does nothing.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace charmtree {

/// The owner's first member, so that it outlives the writers. Callbacks must be called on the loop's thread.
class WhileHere {
public:
  std::function<void()> guarded(std::function<void()> action) const {
    return [here = std::weak_ptr<const bool>{here_}, action = std::move(action)] {
      if (!here.expired()) action();
    };
  }

private:
  std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
};

}  // namespace charmtree
