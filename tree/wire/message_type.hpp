// SPDX-License-Identifier: Apache-2.0
// Defines the type of a message, in one file of its service, by a row (namespace rows):
//   CT_MESSAGE_TYPE(Assign, down());
//   CT_MESSAGE_TYPE(AbortUp, up(process<&AbortUp::process>).most(kPiece));
// That file knows the members of the struct (CT_MEMBERS). A message without a type does not link. A message
// from below whose row does not say for whom it speaks does not compile.
#pragma once

#include <algorithm>
#include <vector>

#include "tree/wire/describe.hpp"
#include "tree/wire/message.hpp"
#include "tree/wire/message_limits.hpp"

namespace charmtree::wire {

inline bool owns_all(const Ownership& sender, Owned what, std::uint32_t number) {
  return sender.owns(what, number);
}
inline bool owns_all(const Ownership& sender, Owned what, ProcessSet::Range processes) {
  return sender.owns(what, processes);
}
template <class T>
bool owns_all(const Ownership& sender, Owned what, const std::vector<T>& all) {
  return std::all_of(all.begin(), all.end(), [&](const T& each) { return owns_all(sender, what, each); });
}

namespace rows {

/// A member of a message names what its sender must own: a number, a list of these, or a list of ranges.
template <Owned kWhat, auto kMember>
struct Names {
  template <class M>
  static bool are_own(const M& message, const Ownership& sender) {
    return owns_all(sender, kWhat, message.*kMember);
  }
};
/// The message names no host and no process, or as many as it likes.
struct Nobody {
  template <class M>
  static bool are_own(const M&, const Ownership&) {
    return true;
  }
};
/// The launcher that receives the message looks at more than these: proto::Trust.
struct Judged : Nobody {};

template <auto kMember>
inline constexpr Names<Owned::host, kMember> host;
template <auto kMember>
inline constexpr Names<Owned::process, kMember> process;
template <auto kMember>
inline constexpr Names<Owned::process_once, kMember> process_once;
/// The limit of lists of numbers: one of a host or a process takes five bytes, a range two of them.
inline constexpr Limit kNumbers{kMaxSaid, 16, 16};
inline constexpr Nobody nobody;
inline constexpr Judged judged;

/// A row: the limits and claims of one type of message. `Says...`: Names, Nobody, Judged.
template <class... Says>
struct MessageRow {
  bool goes_down = false;
  Limit limit{kMaxSaid};
  bool is_counted = true;
  bool is_asked_again = false;
  constexpr MessageRow most(Limit most) const {
    MessageRow row = *this;
    row.limit = most;
    return row;
  }
  constexpr MessageRow uncounted() const {
    MessageRow row = *this;
    row.is_counted = false;
    return row;
  }
  constexpr MessageRow asked_again() const {
    MessageRow row = *this;
    row.is_asked_again = true;
    return row;
  }
};

/// A parent is trusted: what goes down has no limit but that of every frame.
constexpr MessageRow<> down() {
  return {true};
}
template <class... Says>
constexpr MessageRow<Says...> up(Says...) {
  static_assert(sizeof...(Says) > 0, "for whom does it speak?");
  return {};
}

}  // namespace rows

template <class M, class... Says>
struct MessageFunctions {
  static void put(Writer& out, [[maybe_unused]] const void* message) {
    wire::put(out, *static_cast<const M*>(message));
  }
  static std::optional<Message> decode(std::string_view payload, const Remit& remit) {
    return decode_as<M, Message>(payload, remit);
  }
  static bool names_own([[maybe_unused]] const void* message, [[maybe_unused]] const Ownership& sender) {
    return (Says::are_own(*static_cast<const M*>(message), sender) && ...);
  }
  static void cut_texts([[maybe_unused]] void* message, [[maybe_unused]] TextCutter& cut) {
    for_each_text(*static_cast<M*>(message), cut);
  }
};

template <class M, class... Says>
constexpr MessageType type_of_message(rows::MessageRow<Says...> row) {
  using Functions = MessageFunctions<M, Says...>;
  return {.number = M::kNumber,
          .route = M::kRoute,
          .name = Members<M>::kName.substr(Members<M>::kName.rfind(':') + 1),
          .limit = row.limit,
          .is_judged = (std::is_same_v<Says, rows::Judged> || ...),
          .is_counted = row.is_counted,
          .is_asked_again = row.is_asked_again,
          .functions = kFunctionsOf<M>,
          .put = Functions::put,
          .decode = Functions::decode,
          .names_own = Functions::names_own,
          .cut_texts = Functions::cut_texts};
}

#define CT_MESSAGE_TYPE(Type, row)                                                          \
  static constexpr auto kRowOf##Type = row;                                                 \
  static_assert(kRowOf##Type.goes_down == (Type::kRoute == ::charmtree::wire::Route::down), \
                #Type " goes up and down");                                                 \
  constinit const ::charmtree::wire::MessageType Type::kType =                              \
      ::charmtree::wire::type_of_message<Type>(kRowOf##Type)

}  // namespace charmtree::wire
