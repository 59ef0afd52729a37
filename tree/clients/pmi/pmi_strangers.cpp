// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_strangers.hpp"

#include <fmt/format.h>

#include <utility>

#include "tree/clients/pmi/pmi_words.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

void PmiStrangers::opened(ClientId client, Instant now, ClientOutputs& out) {
  said_.try_emplace(client);
  if (const auto evicted = pending_.enter(client, now))
    drop(*evicted, "too many connections that do not say who they are", out);
}

std::optional<PmiStrangers::Named> PmiStrangers::received(ClientId client, std::string_view bytes,
                                                          ClientOutputs& out) {
  std::string& said = said_.at(client);
  said += bytes;
  const PmiExtent line = first_request(PmiVersion::one, said);
  const std::string first = said.substr(0, line.size);
  const PmiWords words{PmiVersion::one, first};
  std::uint32_t process = 0;
  if (line.end == 0 && said.size() <= kMostHello) return {};
  if (line.end > kMostHello || words.command() != "initack" || !read_whole(words.value("pmiid"), process)) {
    drop(client, "its first line does not say which process it is", out);
    return {};
  }
  Named named{process, said.substr(line.end)};
  closed(client);
  return named;
}

void PmiStrangers::closed(ClientId client) {
  pending_.leave(client);
  said_.erase(client);
}

void PmiStrangers::drop(ClientId client, const std::string& why, ClientOutputs& out) {
  closed(client);
  out.push_back(CloseClient{client});
  if (std::exchange(has_noted_, true)) return;
  out.push_back(ClientNote{fmt::format("dropped a connection for PMI: {}", why)});
}

void PmiStrangers::tick(Instant now, ClientOutputs& out) {
  while (const auto late = pending_.expire(now)) drop(*late, "it has not said who it is in time", out);
}

}  // namespace charmtree::proto
