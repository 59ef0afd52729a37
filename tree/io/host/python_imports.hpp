// SPDX-License-Identifier: Apache-2.0
// Whether a Python program would find what it imports, without running it: its interpreter reads the script
// and looks for the modules that it imports on its outermost level. What is imported in a function, an `if`
// or a `try` may be meant to be missing; and what comes behind a change of sys.path, by the script or by a
// module beside it, may be found elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tree/base/error.hpp"

namespace charmtree::io {

/// A command that looks for the modules of one program.
struct ImportSearch {
  std::string interpreter;             // as the program names it
  std::vector<std::string> arguments;  // with argv[0]
  std::string subject;                 // script or module, for messages
};

/// `file` is what would be executed, `arguments` are those of the job, with argv[0]. Nothing: no Python
/// program, or one that says itself what to run (-c, stdin).
std::optional<ImportSearch> import_search(const std::string& file, const std::vector<std::string>& arguments);

/// What the command has written. Nothing: all is found, or it could not tell (a Python before 3.4).
std::optional<Error> import_failure(const ImportSearch& search, const std::string& said);

}  // namespace charmtree::io
