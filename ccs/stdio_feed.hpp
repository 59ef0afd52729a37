// SPDX-License-Identifier: Apache-2.0
// What the job prints, for a client that shows it elsewhere (CharmDebug): `redirect stdio` begins to keep a
// copy, each `fetch stdio` takes what there is, or waits for it; a second one releases the first. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "ccs/clients.hpp"

namespace charmtree::ccs {

class StdioFeed {
public:
  /// What nobody fetches; of more the oldest is left out, and the next reply says so.
  static constexpr std::size_t kMost = 4U << 20;

  void redirect() { on_ = true; }
  void printed(std::string_view text);
  /// `to` is to get what has been printed since the last time. Returned: who need not wait any more.
  std::optional<ReplyTo> fetch(ReplyTo to);
  void left(proto::ClientId client);
  /// Text for the client that waits, if there are both: a string that ends with NUL.
  struct Due {
    ReplyTo to;
    std::string text;
  };
  std::optional<Due> due();

private:
  bool on_ = false;
  std::deque<std::string> pieces_;
  std::size_t bytes_ = 0, left_out_ = 0;
  std::optional<ReplyTo> waiting_;
};

}  // namespace charmtree::ccs
