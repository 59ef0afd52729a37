// SPDX-License-Identifier: Apache-2.0
// What a process was that has left a core file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace charmtree::io {

struct CoreFile {
  pid_t pid;
  std::string path;
};
/// By process.
using Cores = std::map<std::uint32_t, CoreFile>;

}  // namespace charmtree::io
