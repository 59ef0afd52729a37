// SPDX-License-Identifier: Apache-2.0
#include "health/adoption_socket.hpp"

#include <fmt/format.h>

#include "tree/overlay/keyed_hash.hpp"

namespace charmtree::health {

std::string adoption_socket(const wire::JobSpec& job, std::uint32_t host) {
  std::string name = "@charmtree-adoption-";
  for (const char c : keyed_hash(job.secret, fmt::format("adoption socket {} {}", job.id, host)))
    name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return name;
}

}  // namespace charmtree::health
