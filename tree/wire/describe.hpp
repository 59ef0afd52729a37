// SPDX-License-Identifier: Apache-2.0
// A struct that travels is described once, by its members in their order (CT_MEMBERS); put() and get() walk
// that description. No memory is taken for a list before it is known that so much can follow, and may.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::wire {

/// The members of a struct: CT_MEMBERS. with(value, f) calls f(members...): a tuple of them would be slow to
/// compile.
template <class S>
struct Members;

/// In namespace charmtree::wire: CT_MEMBERS(Point, s.x, s.y). A member left out does not compile.
#define CT_MEMBERS(Type, ...)                                         \
  template <>                                                         \
  struct Members<Type> {                                              \
    [[maybe_unused]] static constexpr std::string_view kName = #Type; \
    template <class S, class F>                                       \
    static constexpr auto with([[maybe_unused]] S& s, const F& f) {   \
      return f(__VA_ARGS__);                                          \
    }                                                                 \
  };                                                                  \
  static_assert(kNamesAll<Type>, #Type " has more members, or fewer");

template <class S>
concept Described = requires {
  Members<std::remove_const_t<S>>::kName;
};

/// The types of some members.
template <class... Each>
struct TypesOf {
  static constexpr std::size_t kSize = sizeof...(Each);
};
struct ToTypes {
  template <class... Each>
  TypesOf<Each...> operator()(const Each&...) const {
    return {};
  }
};
template <class S>
using MemberTypes = decltype(Members<S>::with(std::declval<S&>(), ToTypes{}));

/// Stands for a member of whatever type.
struct AnyMember {
  template <class M>
  operator M() const;  // NOLINT(google-explicit-constructor)
};
/// S{...} may have so many initialisers.
template <class S, std::size_t... Each>
constexpr bool takes(std::index_sequence<Each...>) {
  return requires {
    S{(static_cast<void>(Each), AnyMember{})...};
  };
}
/// As many members are described as S has: it takes an initialiser for each, and no more. What has
/// constructors (Error, CcsMerge) hides their number, and is believed.
template <class S>
inline constexpr bool kNamesAll = [] {
  constexpr std::size_t kNamed = MemberTypes<S>::kSize;
  return !std::is_aggregate_v<S> ||
         (takes<S>(std::make_index_sequence<kNamed>{}) && !takes<S>(std::make_index_sequence<kNamed + 1>{}));
}();

/// The last value of an enumeration that travels, whose values count from 0.
template <class E>
inline constexpr E kLast = [] { static_assert(sizeof(E) == 0, "which one is its last?"); }();

/// Bytes of each text in such a struct; a longer one is refused.
template <class S>
inline constexpr std::size_t kMostText = kMaxLinkFrame;
/// Elements of each list in such a struct; one with more is refused.
template <class S>
inline constexpr std::uint64_t kMostElements = UINT64_MAX;
/// Its signed numbers travel as the bits of their two's complement, not by zig-zag.
template <class S>
inline constexpr bool kTwosComplement = false;
/// Its texts may be cut, and are before they are sent: people read them.
template <class S>
inline constexpr bool kMayBeCut = false;

/// So many bytes a T takes at least.
template <class T>
struct Least : std::integral_constant<std::size_t, 1> {};
template <class... Each>
struct Least<TypesOf<Each...>> : std::integral_constant<std::size_t, (Least<Each>::value + ... + 0)> {};
template <Described S>
struct Least<S> : Least<MemberTypes<S>> {};

template <class T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;

// ---- put

template <Number T>
void put(Writer& out, T v) {
  if constexpr (std::is_signed_v<T>)
    out.svarint(v);
  else
    out.varint(static_cast<std::uint64_t>(v));
}
inline void put(Writer& out, const std::string& v) {
  out.string(v);
}
inline void put(Writer& out, const Blob& v) {
  out.string(v ? std::string_view{*v} : std::string_view{});
}
inline void put(Writer& out, Duration v) {
  out.svarint(v.count());
}
inline void put(Writer& out, Instant v) {
  out.varint(v == kNever ? 0 : 1);
  if (v != kNever) out.svarint(v.time_since_epoch().count());
}
template <class T>
void put(Writer& out, const std::vector<T>& v) {
  out.varint(v.size());
  for (const T& item : v) put(out, item);
}
template <class T, std::size_t N>
void put(Writer& out, const std::array<T, N>& v) {
  for (const T& item : v) put(out, item);
}
template <class T>
void put(Writer& out, const std::optional<T>& v) {
  put(out, v.has_value());
  if (v) put(out, *v);
}
template <class S, class M>
void put_member(Writer& out, const M& member) {
  if constexpr (std::is_same_v<M, std::string> && kMayBeCut<S>)
    out.string(std::string_view{member}.substr(0, kMostText<S>));
  else if constexpr (std::is_signed_v<M> && kTwosComplement<S>)
    put(out, static_cast<std::make_unsigned_t<M>>(member));
  else
    put(out, member);
}
template <Described S>
void put(Writer& out, const S& value) {
  Members<S>::with(value, [&](const auto&... member) { (put_member<S>(out, member), ...); });
}

// ---- get

template <Number T>
void get(Reader& in, T& v) {
  if constexpr (std::is_enum_v<T>)
    v = static_cast<T>(in.bounded(static_cast<std::uint64_t>(kLast<T>)));
  else if constexpr (std::is_signed_v<T>)
    v = static_cast<T>(in.sbounded(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  else
    v = static_cast<T>(in.bounded(std::numeric_limits<T>::max()));
}
inline void get(Reader& in, std::string& v) {
  v = in.string(kMaxLinkFrame);
}
inline void get(Reader& in, Blob& v) {
  v = std::make_shared<const std::string>(in.string(kMaxLinkFrame));
}
inline void get(Reader& in, Duration& v) {
  constexpr std::int64_t kMost = kFarthest.time_since_epoch().count();
  v = Duration{in.sbounded(-kMost, kMost)};
}
inline void get(Reader& in, Instant& v) {
  Duration since{0};
  if (!in.boolean()) {
    v = kNever;
    return;
  }
  get(in, since);
  v = Instant{since};
}
template <class T>
void get_list(Reader& in, std::vector<T>& v, std::uint64_t most) {
  const std::size_t size = in.count();
  v.clear();
  if (size > in.left() / Least<T>::value || size > most) return in.poison();
  v.reserve(size);
  for (std::size_t i = 0; i < size && in.ok(); ++i) get(in, v.emplace_back());
}
template <class T>
void get(Reader& in, std::vector<T>& v) {
  get_list(in, v, in.remit().most_elements());
}
template <class T, std::size_t N>
void get(Reader& in, std::array<T, N>& v) {
  for (T& item : v) get(in, item);
}
template <class T>
void get(Reader& in, std::optional<T>& v) {
  if (in.boolean()) get(in, v.emplace());
}
template <class S, class M>
void get_member(Reader& in, M& member) {
  if constexpr (std::is_same_v<M, std::string>)
    member = in.string(kMostText<S>);
  else if constexpr (std::is_signed_v<M> && kTwosComplement<S>)
    member = static_cast<M>(in.bounded(std::numeric_limits<std::make_unsigned_t<M>>::max()));
  else
    get(in, member);
}
template <class S, class T>
requires(kMostElements<S> < UINT64_MAX) void get_member(Reader& in, std::vector<T>& member) {
  get_list(in, member, std::min(kMostElements<S>, in.remit().most_elements()));
}
/// What must hold between members says `bool is_sound(const S&)` beside S.
template <Described S>
void get(Reader& in, S& value) {
  Members<S>::with(value, [&](auto&... member) { (get_member<S>(in, member), ...); });
  if constexpr (requires { is_sound(value); }) {
    if (in.ok() && !is_sound(value)) in.poison();
  }
}

// ---- texts

/// f(text) for each text in the value that may be cut (kMayBeCut), in the order of members.
template <class F, class T>
void for_each_text(T&, F&) {}
template <class F, Described S>
void for_each_text(S& value, F& f);
template <class F, Described S>
void for_each_text(std::vector<S>& all, F& f) {
  for (S& each : all) for_each_text(each, f);
}
template <class F, Described S>
void for_each_text(std::optional<S>& maybe, F& f) {
  if (maybe) for_each_text(*maybe, f);
}
template <class F, Described S>
void for_each_text(S& value, F& f) {
  const auto look = [&]<class M>(M& member) {
    if constexpr (std::is_same_v<M, std::string> && kMayBeCut<S>)
      f(member);
    else
      for_each_text(member, f);
  };
  Members<S>::with(value, [&](auto&... member) { (look(member), ...); });
}

// ---- whole ones

template <class T>
Blob encode_whole(const T& value) {
  Writer out;
  put(out, value);
  return std::make_shared<const std::string>(out.take());
}

/// Nothing: it is malformed.
template <class T>
std::optional<T> decode_whole(std::string_view bytes, const Remit& remit = {}) {
  Reader in{bytes, remit};
  T value;
  get(in, value);
  if (!in.finished()) return {};
  return value;
}

template <class T, class As>
std::optional<As> decode_as(std::string_view bytes, const Remit& remit) {
  auto value = decode_whole<T>(bytes, remit);
  if (!value) return {};
  return std::optional<As>{std::in_place, std::move(*value)};
}
template <class As, template <class...> class List, class... Ts>
std::optional<As> decode_nth(std::size_t index, std::string_view bytes, const Remit& remit,
                             const List<Ts...>*) {
  using Decode = std::optional<As> (*)(std::string_view, const Remit&);
  static constexpr std::array<Decode, sizeof...(Ts)> kDecoders{decode_as<Ts, As>...};
  if (index >= kDecoders.size()) return {};
  return kDecoders[index](bytes, remit);
}
/// The alternative with that index; nothing: there is none, or it is malformed.
template <class Variant, class As = Variant>
std::optional<As> decode_alternative(std::size_t index, std::string_view bytes, const Remit& remit = {}) {
  return decode_nth<As>(index, bytes, remit, static_cast<const Variant*>(nullptr));
}

}  // namespace charmtree::wire
