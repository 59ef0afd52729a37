// SPDX-License-Identifier: Apache-2.0
#include "ccs/stdio_feed.hpp"

#include <fmt/format.h>

#include <utility>

namespace charmtree::ccs {

void StdioFeed::printed(std::string_view text) {
  if (!on_ || text.empty()) return;
  pieces_.emplace_back(text);
  bytes_ += text.size();
  while (bytes_ > kMost && pieces_.size() > 1) {
    bytes_ -= pieces_.front().size();
    left_out_ += pieces_.front().size();
    pieces_.pop_front();
  }
}

std::optional<ReplyTo> StdioFeed::fetch(ReplyTo to) {
  return std::exchange(waiting_, std::move(to));
}

void StdioFeed::left(proto::ClientId client) {
  if (waiting_ && waiting_->client == client) waiting_.reset();
}

std::optional<StdioFeed::Due> StdioFeed::due() {
  if (!waiting_ || pieces_.empty()) return {};
  Due due{*std::exchange(waiting_, std::nullopt), {}};
  if (left_out_ > 0)
    due.text = fmt::format("charmrun: {} bytes of output are left out here\n", std::exchange(left_out_, 0));
  for (const std::string& piece : std::exchange(pieces_, {})) due.text += piece;
  bytes_ = 0;
  due.text.push_back('\0');
  return due;
}

}  // namespace charmtree::ccs
