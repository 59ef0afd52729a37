// SPDX-License-Identifier: Apache-2.0
// Files that can be executed, looked at without executing them.
#pragma once

#include <string>

namespace charmtree::io {

/// What execve would say of the file, as an errno; 0: it would run. ENOEXEC is said of ELF files for other
/// processors alone (text without `#!` is a script), ENOENT also of a missing interpreter or loader.
int execution_error(const std::string& path);

/// The loader that an ELF file of this machine's kind names (PT_INTERP); empty: it has none, or is no such
/// file.
std::string loader_of(const std::string& path);

/// The interpreter that a script names by its first line, also through `env`, if it is a Python; else empty.
std::string python_of_script(const std::string& path);

}  // namespace charmtree::io
