// SPDX-License-Identifier: Apache-2.0
// Pieces are searched where they lie; only the seam between two is copied.
#include "tree/wire/program_traits.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace charmtree::wire {

namespace {

struct Text {
  std::string_view text;
  bool ProgramTraits::*trait;
};

constexpr std::array kTexts = {
    Text{"Error parsing NETSTART", &ProgramTraits::netstart},
    Text{"Running in SMP mode", &ProgramTraits::smp},
    Text{"non-SMP mode", &ProgramTraits::non_smp},
    Text{"pxshm must be run", &ProgramTraits::pxshm},
    Text{"restartaftercrash", &ProgramTraits::restarts},
    Text{"+shrinkexpand_basedir", &ProgramTraits::resizes},
    Text{"charm4py", &ProgramTraits::charm4py},
};
constexpr std::size_t kSeam =
    std::max_element(kTexts.begin(), kTexts.end(),
                     [](const Text& a, const Text& b) { return a.text.size() < b.text.size(); })
        ->text.size() -
    1;

// memmem, since string_view::find is several times slower on text.
void search(std::string_view bytes, ProgramTraits& found) {
  for (const Text& each : kTexts) {
    if (!(found.*each.trait))
      found.*each.trait = ::memmem(bytes.data(), bytes.size(), each.text.data(), each.text.size()) != nullptr;
  }
}

}  // namespace

void TraitSearch::feed(std::string_view bytes) {
  if (!tail_.empty()) search(tail_.append(bytes.substr(0, kSeam)), found_);
  search(bytes, found_);
  if (bytes.size() >= kSeam) {
    tail_ = bytes.substr(bytes.size() - kSeam);
  } else {
    if (tail_.empty()) tail_ = bytes;
    if (tail_.size() > kSeam) tail_.erase(0, tail_.size() - kSeam);
  }
}

}  // namespace charmtree::wire
