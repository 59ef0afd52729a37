// SPDX-License-Identifier: Apache-2.0
// Folders that only their user can read or write, also in a place where all users may make folders, as /tmp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace charmtree::io {

/// Returns true for a folder of our user with mode 0700 that is no symlink.
bool is_private(const std::string& folder);

/// Makes the folder if it is missing, not the folders above it. Returns is_private(); if that is false, errno
/// may say why.
bool make_private(const std::string& folder);

/// A name of folders in a place that all users share. Our user's is <place>/<name>-<uid>. Where another user
/// holds that name, or it cannot be used, ours is one with a random end: <place>/<name>-<uid>-XXXXXX.
class SharedPlace {
public:
  SharedPlace(const std::string& place, const std::string& name);

  /// Returns the first folder that is private and that `use` accepts: the usual one, else one with a random
  /// end that is there, else a new one. `use` is called with each of them in turn. Nothing: none will do;
  /// errno may say why.
  std::optional<std::string> find(const std::function<bool(const std::string& folder)>& use) const;
  /// Returns the folders that find() may have returned before, the usual one first.
  std::vector<std::string> existing() const;
  const std::string& usual() const { return usual_; }

private:
  std::string place_, usual_;
};

}  // namespace charmtree::io
