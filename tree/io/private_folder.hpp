// SPDX-License-Identifier: Apache-2.0
// Folders that nobody but their user can read or write.
#pragma once

#include <string>

namespace charmtree::io {

/// It is one: 0700, ours, no symlink.
bool is_private(const std::string& folder);

/// Makes it if it is missing, not the folders above it. True: it is one; false: it is not, errno may say why.
bool make_private(const std::string& folder);

}  // namespace charmtree::io
