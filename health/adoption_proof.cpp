// SPDX-License-Identifier: Apache-2.0
#include "health/adoption_proof.hpp"

#include "tree/overlay/keyed_hash.hpp"

namespace charmtree::health {

std::string make_nonce(const wire::JobSpec& job, Random& random) {
  return keyed_hash(job.secret, "nonce" + std::to_string(random.next()));
}

std::string adoption_proof(const wire::JobSpec& job, const char* what, std::uint32_t host,
                           const Nonces& nonces) {
  const std::string about = what + (" " + job.id) + " " + std::to_string(host) + " ";
  return keyed_hash(job.secret, about + nonces.adopted + nonces.adopter);
}

}  // namespace charmtree::health
