// SPDX-License-Identifier: Apache-2.0
// By what a launcher and who adopts it show each other that they are of the same job.
#pragma once

#include <string>

#include "tree/base/random.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::health {

/// What both have drawn, as the one who is adopted sees them: its own comes first.
struct Nonces {
  std::string adopted, adopter;
};

std::string make_nonce(const wire::JobSpec& job, Random& random);
/// `what`: claim, claimed, taken. `host`: of who is adopted.
std::string adoption_proof(const wire::JobSpec& job, const char* what, std::uint32_t host,
                           const Nonces& nonces);

}  // namespace charmtree::health
