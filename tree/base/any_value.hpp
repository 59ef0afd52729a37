// SPDX-License-Identifier: Apache-2.0
// A value of any type of a family (wire::Message, proto::Event, proto::Action), without a list of these
// types: a service adds a type by declaring it. A value takes a fixed room, so it is moved without an
// allocation.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "tree/base/type_functions.hpp"

namespace charmtree {

/// The name of a type as it is declared, without its namespaces.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <class T>
inline constexpr TypeFunctions kFunctionsOf{TypeFunctionsOf<T>::copy, TypeFunctionsOf<T>::move,
                                            TypeFunctionsOf<T>::destroy};

/// Describes a type. Its address identifies the type.
struct ValueType {
  std::string_view name;
  TypeFunctions functions;
};
template <class T>
inline constexpr ValueType kValueType{type_name<T>(), kFunctionsOf<T>};

/// `Type` describes a type, as ValueType does; `Family::template type_of<T>()` returns the description of T.
template <class Family, class Type, std::size_t kRoom>
class AnyValue {
public:
  AnyValue(const AnyValue& other) : type_(other.type_) { type_->functions.copy(room_, other.room_); }
  AnyValue(AnyValue&& other) noexcept : type_(other.type_) { type_->functions.move(room_, other.room_); }
  AnyValue& operator=(const AnyValue& other) {
    *this = AnyValue{other};
    return *this;
  }
  AnyValue& operator=(AnyValue&& other) noexcept {
    if (this == &other) return *this;
    type_->functions.destroy(room_);
    type_ = other.type_;
    type_->functions.move(room_, other.room_);
    return *this;
  }
  ~AnyValue() { type_->functions.destroy(room_); }

  const Type& type() const { return *type_; }
  template <class T>
  bool is() const {
    return type_ == &Family::template type_of<T>();
  }
  /// Precondition: the value is a T.
  template <class T>
  T& as() {
    return *std::launder(reinterpret_cast<T*>(room_));
  }
  template <class T>
  const T& as() const {
    return *std::launder(reinterpret_cast<const T*>(room_));
  }
  /// Its bytes, for the functions of its type.
  void* bytes() { return room_; }
  const void* bytes() const { return room_; }

protected:
  template <class T>
  AnyValue(const Type& type, T&& value) : type_(&type) {
    using Value = std::remove_cvref_t<T>;
    static_assert(sizeof(Value) <= kRoom && alignof(Value) <= alignof(std::max_align_t));
    new (room_) Value(std::forward<T>(value));
  }

private:
  const Type* type_;
  alignas(std::max_align_t) std::byte room_[kRoom];
};

template <class Value>
concept IsAnyValue = requires(const Value& value) {
  value.type();
  value.bytes();
};

template <class T, IsAnyValue Value>
bool holds_alternative(const Value& value) {
  return value.template is<T>();
}
/// Returns null if the value is no T.
template <class T, IsAnyValue Value>
T* get_if(Value* value) {
  return value->template is<T>() ? &value->template as<T>() : nullptr;
}
template <class T, IsAnyValue Value>
const T* get_if(const Value* value) {
  return value->template is<T>() ? &value->template as<T>() : nullptr;
}
/// Throws std::bad_variant_access if the value is no T.
template <class T, IsAnyValue Value>
T& get(Value& value) {
  return value.template is<T>() ? value.template as<T>() : throw std::bad_variant_access{};
}
template <class T, IsAnyValue Value>
const T& get(const Value& value) {
  return value.template is<T>() ? value.template as<T>() : throw std::bad_variant_access{};
}
template <class T, IsAnyValue Value>
requires(!std::is_lvalue_reference_v<Value>) T get(Value&& value) {
  return std::move(get<T>(value));
}

}  // namespace charmtree
