// SPDX-License-Identifier: Apache-2.0
// Why a file could not be written, in words.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace charmtree::io {

/// Returns the reason for this errno of a write. EFBIG is a limit of the user's, and is named.
inline std::string write_error(int error) {
  return error == EFBIG ? "larger than files may be (ulimit -f)" : std::strerror(error);
}

}  // namespace charmtree::io
