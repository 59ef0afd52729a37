// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/slow_reply.hpp"

#include <fmt/format.h>

#include "tree/wire/charm_message.hpp"

namespace charmtree::proto {

using wire::kCharmHeader;

std::string SlowReply::next(Instant now) {
  const std::string header = wire::charm_header(type_, kRoom);
  const std::string byte = sent_ < kCharmHeader ? header.substr(sent_, 1) : " ";
  ++sent_;
  const std::size_t most = kCharmHeader + (blanks_ == Blanks::skipped ? kRoom - 1 : 0);
  due_ = sent_ < most ? now + kPause : kNever;
  return byte;
}

Result<std::string> SlowReply::finish(std::string_view text) const {
  if (sent_ == 0) return wire::make_charm_message(type_, std::string{text} + '\0');
  const std::size_t blanks = sent_ < kCharmHeader ? 0 : sent_ - kCharmHeader;
  if (blanks + text.size() + 1 > kRoom) {
    return Error{Errc::bad_input,
                 Phase::run,
                 fmt::format("waited so long that no more than {} characters can be given to it", kRoom),
                 {}};
  }
  std::string rest = sent_ < kCharmHeader ? wire::charm_header(type_, kRoom).substr(sent_) : "";
  rest += text;
  return rest.append(kRoom - blanks - text.size(), '\0');
}

}  // namespace charmtree::proto
