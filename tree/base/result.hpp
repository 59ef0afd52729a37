// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. Expected failures travel in it; exceptions mean a bug or no memory.
#pragma once

#include <optional>
#include <utility>

#include "tree/base/error.hpp"

namespace charmtree {

template <class T>
class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Precondition: ok().
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Precondition: !ok().
  const Error& error() const { return *error_; }

private:
  std::optional<T> value_;  // or:
  std::optional<Error> error_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

private:
  std::optional<Error> error_;
};

}  // namespace charmtree
