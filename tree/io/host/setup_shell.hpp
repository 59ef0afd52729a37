// SPDX-License-Identifier: Apache-2.0
// The text that one bash runs to make the environment of a host (~/.charmrunrc, then the setup command), and
// the reading of what comes back. The environment comes over a descriptor that neither of them has; before
// it the shell names each part that it begins, and after it stands a mark. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::io {

/// Returns `environment` for that bash: what would load the user's libraries into it has other names until
/// the script has begun.
std::vector<std::string> setup_environment(const std::vector<std::string>& environment);

/// Returns the text for `bash -c`. `setup` may be empty. The environment is written to descriptor `fd`.
std::string setup_script(bool has_rc, const std::string& setup, int fd);

/// What bash wrote to the descriptor.
class SetupText {
public:
  /// Most bytes that an environment may have.
  static constexpr std::size_t kMax = 4U << 20;

  /// Keeps at most kMax bytes.
  void append(std::string_view bytes);
  /// Returns the environment, or nothing if its end has not arrived.
  std::optional<std::vector<std::string>> environment() const;
  /// Returns the name of the part that ran last: the file of BASH_ENV, ~/.charmrunrc, or the setup command.
  std::string part() const;
  /// Returns the error of a shell that ended with status 0 without an environment.
  Error no_environment() const;

private:
  std::string text_;
  bool is_too_long_ = false;
};

}  // namespace charmtree::io
