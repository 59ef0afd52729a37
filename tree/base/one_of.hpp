// SPDX-License-Identifier: Apache-2.0
// One value of many types (wire::Message, proto::Action). It is no std::variant, because g++ takes seconds to
// compile one of eighty types, in each file that knows it (tests/bench/results/build.txt): here, what copies,
// moves and destroys the types is compiled in one file, which includes type_functions.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

namespace charmtree {

template <class T, class List>
struct IndexIn;
/// The place of T among the types of a variant; their number: it is none of them.
template <class T, template <class...> class List, class... Ts>
struct IndexIn<T, List<Ts...>> {
  static constexpr std::size_t find() {
    std::size_t index = 0;
    static_cast<void>(((__is_same(T, Ts) || (++index, false)) || ...));
    return index;
  }
  static constexpr std::size_t value = find();
  static constexpr bool kIsOne = value < sizeof...(Ts);
};

template <class T, class List>
concept OneOf = IndexIn<std::remove_cvref_t<T>, List>::kIsOne;

/// What copies, moves and destroys a value of one type. `to` is memory without a value.
struct TypeFunctions {
  void (*copy)(void* to, const void* from);
  void (*move)(void* to, void* from) noexcept;
  void (*destroy)(void* value) noexcept;
};
/// For each type of an AnyOf, in their order. One file says `template struct FunctionsOf<Any>;`, and the
/// header that declares Any says the same behind `extern`.
template <class Any>
struct FunctionsOf {
  static const std::array<TypeFunctions, Any::kTypes> kAll;
};

/// A value of one of these types, of which each can be moved without an exception. It always has one.
template <class... Ts>
class AnyOf {
public:
  static constexpr std::size_t kTypes = sizeof...(Ts);

  template <OneOf<AnyOf> T>
  AnyOf(T value) : index_(IndexIn<T, AnyOf>::value) {  // NOLINT(google-explicit-constructor)
    new (room_) T(std::move(value));
  }
  AnyOf(const AnyOf& other) : index_(other.index_) { functions().copy(room_, other.room_); }
  AnyOf(AnyOf&& other) noexcept : index_(other.index_) { functions().move(room_, other.room_); }
  AnyOf& operator=(const AnyOf& other) {
    *this = AnyOf{other};
    return *this;
  }
  AnyOf& operator=(AnyOf&& other) noexcept {
    if (this == &other) return *this;
    functions().destroy(room_);
    index_ = other.index_;
    functions().move(room_, other.room_);
    return *this;
  }
  ~AnyOf() { functions().destroy(room_); }

  /// The place of the value's type.
  std::size_t index() const { return index_; }
  /// Precondition: the value is a T.
  template <OneOf<AnyOf> T>
  T& as() {
    return *std::launder(reinterpret_cast<T*>(room_));
  }
  template <OneOf<AnyOf> T>
  const T& as() const {
    return *std::launder(reinterpret_cast<const T*>(room_));
  }

private:
  static_assert(kTypes <= UINT8_MAX);
  const TypeFunctions& functions() const { return FunctionsOf<AnyOf>::kAll[index_]; }

  alignas(Ts...) std::byte room_[std::max({sizeof(Ts)...})];
  std::uint8_t index_;
};

template <class T, class... Ts>
bool holds_alternative(const AnyOf<Ts...>& any) {
  return any.index() == IndexIn<T, AnyOf<Ts...>>::value;
}
/// Null: it is not a T.
template <class T, class... Ts>
T* get_if(AnyOf<Ts...>* any) {
  return holds_alternative<T>(*any) ? &any->template as<T>() : nullptr;
}
template <class T, class... Ts>
const T* get_if(const AnyOf<Ts...>* any) {
  return holds_alternative<T>(*any) ? &any->template as<T>() : nullptr;
}
/// Throws std::bad_variant_access: it is not a T.
template <class T, class... Ts>
T& get(AnyOf<Ts...>& any) {
  return holds_alternative<T>(any) ? any.template as<T>() : throw std::bad_variant_access{};
}
template <class T, class... Ts>
const T& get(const AnyOf<Ts...>& any) {
  return holds_alternative<T>(any) ? any.template as<T>() : throw std::bad_variant_access{};
}
template <class T, class... Ts>
T get(AnyOf<Ts...>&& any) {
  return std::move(get<T>(any));
}

template <class R, class T, class F, class Any>
R call_with(F& f, Any& any) {
  return f(any.template as<T>());
}

/// f(value), whichever type it has.
template <class F, class T, class... Ts>
decltype(auto) dispatch(F&& f, AnyOf<T, Ts...>& any) {
  using R = decltype(f(std::declval<T&>()));
  using Call = R (*)(F&, AnyOf<T, Ts...>&);
  static constexpr std::array<Call, 1 + sizeof...(Ts)> kCalls{call_with<R, T>, call_with<R, Ts>...};
  return kCalls[any.index()](f, any);
}
template <class F, class T, class... Ts>
decltype(auto) dispatch(F&& f, const AnyOf<T, Ts...>& any) {
  using R = decltype(f(std::declval<const T&>()));
  using Call = R (*)(F&, const AnyOf<T, Ts...>&);
  static constexpr std::array<Call, 1 + sizeof...(Ts)> kCalls{call_with<R, T>, call_with<R, Ts>...};
  return kCalls[any.index()](f, any);
}

template <class... Ts>
bool operator==(const AnyOf<Ts...>& a, const AnyOf<Ts...>& b) {
  if (a.index() != b.index()) return false;
  return dispatch([&b]<class T>(const T& value) { return value == get<T>(b); }, a);
}

}  // namespace charmtree
