// SPDX-License-Identifier: Apache-2.0
// A file in memory, without a name, that nobody can change any more: for those who are handed its descriptor.
#pragma once

#include <string_view>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// At its beginning. `name` is for /proc. Empty: errno says why not.
UniqueFd sealed_file(const char* name, std::string_view content);

}  // namespace charmtree::io
