// SPDX-License-Identifier: Apache-2.0
// The members of the messages of debug/, in the order in which they travel. A change is another protocol
// (kProtocol in tree/wire/greeting.cpp).
#pragma once

#include <algorithm>

#include "debug/messages.hpp"
#include "debug/tool_messages.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/table_members.hpp"

namespace charmtree::wire {

template <>
inline constexpr debug::DebugOrder::What kLast<debug::DebugOrder::What> = debug::DebugOrder::What::end;
template <>
inline constexpr debug::ToolOrder::What kLast<debug::ToolOrder::What> = debug::ToolOrder::What::end;
template <>
inline constexpr debug::ToolSaid::What kLast<debug::ToolSaid::What> = debug::ToolSaid::What::failed;
template <>
inline constexpr debug::DebugAnswer::Kind kLast<debug::DebugAnswer::Kind> = debug::DebugAnswer::Kind::gone;
template <>
inline constexpr std::size_t kMostText<debug::DebugAnswer> = debug::kMostDebugText;
template <>
inline constexpr std::size_t kMostText<debug::NumberSpan> = debug::kMostDebugNumber;
template <>
inline constexpr std::uint64_t kMostElements<debug::DebugAnswer> = std::max(debug::kMostDebugSpans,
                                                                            kMostGroupRanges);
template <>
inline constexpr std::uint64_t kMostElements<debug::DebugAnswers> = debug::kMostDebugAnswers;

CT_MEMBERS(debug::DebugOrder, s.session, s.number, s.what, s.each, s.line, s.which)
CT_MEMBERS(debug::NumberSpan, s.low, s.high)
CT_MEMBERS(debug::DebugAnswer, s.kind, s.text, s.spans, s.processes, s.which)
CT_MEMBERS(debug::DebugAnswers, s.answers, s.left_out)
CT_MEMBERS(debug::DebugUp, s.session, s.done, s.said)
CT_MEMBERS(debug::ToolOrder, s.session, s.what, s.has_input, s.number, s.words, s.bytes, s.which)
CT_MEMBERS(debug::ToolSaid, s.session, s.what, s.number, s.bytes, s.which)

}  // namespace charmtree::wire
