// SPDX-License-Identifier: Apache-2.0
// What people's fingers know: options of mpirun, srun and clush in front of the program, said in charmrun's
// own words where these mean the same, and explained where not. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree {

struct SaidInOurs {
  std::vector<std::string> words;  // maybe none: there is nothing to say
  std::size_t used = 1;            // so many of theirs
};

/// `words` begin with one that begins with '-'; what stands behind it may be its value. Error bad_input:
/// which of charmrun's words to take instead, or that the word is not known.
Result<SaidInOurs> say_in_ours(std::span<const std::string> words);

}  // namespace charmtree
