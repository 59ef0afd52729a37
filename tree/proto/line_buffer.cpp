// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/line_buffer.hpp"

#include <utility>

namespace charmtree::proto {

std::string LineBuffer::append(std::string_view bytes, Instant now, Duration hold, bool raw) {
  if (partial_.empty()) deadline_ = now + hold;
  const std::size_t newline = bytes.rfind('\n');
  std::size_t whole = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t rest = bytes.size() - whole + (whole == 0 ? partial_.size() : 0);
  if (raw || rest > kMaxLine) whole = bytes.size();
  if (whole == 0 && !raw) {
    partial_.append(bytes);
    return {};
  }
  std::string ready = flush();
  ready.append(bytes.substr(0, whole));
  partial_ = bytes.substr(whole);
  deadline_ = now + hold;
  return ready;
}

std::string LineBuffer::expired(Instant now) {
  return now >= deadline() ? flush() : std::string{};
}

std::string LineBuffer::flush() {
  return std::exchange(partial_, {});
}

}  // namespace charmtree::proto
