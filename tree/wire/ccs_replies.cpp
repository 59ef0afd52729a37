// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ccs_replies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <type_traits>

#include "tree/wire/table_members.hpp"

namespace charmtree::wire {

template <>
inline constexpr std::size_t kMostText<CcsReplies::Part> = CcsReplies::kMaxBytes;
CT_MEMBERS(CcsReplies::Part, s.process, s.bytes)
CT_MEMBERS(CcsReplies, s.merge, s.parts)

namespace {

/// Sums of integers wrap around; of a NaN and a number, min and max take the number.
template <class N>
N merged(CcsMerge::Operation operation, N a, N b) {
  if constexpr (std::is_floating_point_v<N>) {
    if (operation == CcsMerge::min) return std::fmin(a, b);
    if (operation == CcsMerge::max) return std::fmax(a, b);
    return a + b;
  } else {
    if (operation == CcsMerge::min) return std::min(a, b);
    if (operation == CcsMerge::max) return std::max(a, b);
    using U = std::make_unsigned_t<N>;
    return static_cast<N>(static_cast<U>(a) + static_cast<U>(b));
  }
}

/// Nothing is known about how the bytes are aligned.
template <class N>
void merge_numbers(CcsMerge::Operation operation, std::string& into, std::string_view from) {
  for (std::size_t at = 0; at + sizeof(N) <= into.size(); at += sizeof(N)) {
    N a, b;
    std::memcpy(&a, into.data() + at, sizeof a);
    std::memcpy(&b, from.data() + at, sizeof b);
    a = merged(operation, a, b);
    std::memcpy(into.data() + at, &a, sizeof a);
  }
}

std::size_t width(CcsMerge::Number number) {
  return number == CcsMerge::int32 ? sizeof(std::int32_t) : sizeof(std::int64_t);
}

bool before(const CcsReplies::Part& a, const CcsReplies::Part& b) {
  return a.process < b.process;
}

std::size_t bytes_of(const std::vector<CcsReplies::Part>& parts) {
  std::size_t bytes = 0;
  for (const CcsReplies::Part& part : parts) bytes += part.bytes.size();
  return bytes;
}

}  // namespace

static bool is_sound(const CcsReplies& replies) {
  const std::vector<CcsReplies::Part>& parts = replies.parts;
  if (parts.empty() || !replies.merge.is_known() || bytes_of(parts) > CcsReplies::kMaxBytes) return false;
  if (replies.merge.operation() != CcsMerge::concat) return parts.size() == 1;
  return std::adjacent_find(parts.begin(), parts.end(), std::not_fn(before)) == parts.end();
}

bool CcsMerge::is_known() const {
  if (operation() == concat) return number() == none;
  return operation() <= max && number() >= int32 && number() <= float64;
}

std::string CcsReplies::add(CcsReplies more) {
  if (more.parts.empty()) return {};
  if (parts.empty()) {
    *this = std::move(more);
    return {};
  }
  const std::uint32_t ours = parts.front().process, theirs = more.parts.front().process;
  if (merge != more.merge)
    return fmt::format("processes {} and {} merge the replies in different ways", ours, theirs);
  if (merge.operation() == CcsMerge::concat) {
    if (bytes_of(parts) + bytes_of(more.parts) > kMaxBytes)
      return fmt::format("the replies have more than {} bytes together", kMaxBytes);
    const auto middle = static_cast<std::ptrdiff_t>(parts.size());
    std::move(more.parts.begin(), more.parts.end(), std::back_inserter(parts));
    std::inplace_merge(parts.begin(), parts.begin() + middle, parts.end(), before);
    return {};
  }
  Part& into = parts.front();
  const std::string& from = more.parts.front().bytes;
  if (into.bytes.size() != from.size() || from.size() % width(merge.number()) != 0) {
    return fmt::format("the replies of processes {} and {} have {} and {} bytes: no arrays of one length",
                       ours, theirs, into.bytes.size(), from.size());
  }
  into.process = std::min(ours, theirs);
  switch (merge.number()) {
    case CcsMerge::int32:
      merge_numbers<std::int32_t>(merge.operation(), into.bytes, from);
      break;
    case CcsMerge::int64:
      merge_numbers<std::int64_t>(merge.operation(), into.bytes, from);
      break;
    default:
      merge_numbers<double>(merge.operation(), into.bytes, from);
  }
  return {};
}

std::string CcsReplies::whole() && {
  if (parts.size() == 1) return std::move(parts.front().bytes);
  std::string bytes;
  bytes.reserve(bytes_of(parts));
  for (const Part& part : parts) bytes += part.bytes;
  return bytes;
}

std::string encode(const CcsReplies& replies) {
  Writer out;
  put(out, replies);
  return out.take();
}

Result<CcsReplies> decode_ccs_replies(std::string_view bytes, std::uint32_t most) {
  auto replies = decode_whole<CcsReplies>(bytes, {.hosts = 0, .processes = most});
  if (!replies || replies->parts.size() > most)
    return Error{Errc::bad_peer, Phase::run, "malformed CCS replies"};
  return std::move(*replies);
}

}  // namespace charmtree::wire
