// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client-lib/listeners.hpp"

namespace charmtree::client_lib_listeners_test {

using charmtree::client::Listeners;
using Told = std::vector<std::pair<std::uint32_t, std::string>>;

TEST_CASE("the handler of the longest prefix is told, and of what none is for nobody", "[client]") {
  Listeners listeners;
  Told all, ports;
  listeners.set("p", [&](std::uint32_t process, const std::string& key) { all.emplace_back(process, key); });
  listeners.set("port",
                [&](std::uint32_t process, const std::string& key) { ports.emplace_back(process, key); });
  for (const std::string key : {"path", "port 7", "else", "p"}) CHECK(listeners.heard({3, key}, 4));
  CHECK_FALSE(listeners.heard({4, "path"}, 4));
  int told = 0;
  while (listeners.tell_one()) ++told;
  CHECK(told == 4);
  CHECK(all == Told{{3, "path"}, {3, "p"}});
  CHECK(ports == Told{{3, "port 7"}});
  listeners.set("p", {});
  CHECK((!listeners.has("p") && listeners.count() == 1));
  CHECK(listeners.heard({3, "path"}, 4));
  CHECK((listeners.tell_one() && !listeners.tell_one() && all.size() == 2));
}

TEST_CASE("what is heard while a handler runs is told behind it", "[client]") {
  Listeners listeners;
  Told told;
  listeners.set("p", [&](std::uint32_t process, const std::string& key) {
    CHECK(listeners.telling());
    CHECK_FALSE(listeners.tell_one());
    if (told.empty()) CHECK(listeners.heard({2, "path"}, 4));
    told.emplace_back(process, key);
    listeners.set("p",
                  [&](std::uint32_t other, const std::string&) { told.emplace_back(other, "by another"); });
  });
  CHECK(listeners.heard({1, "port"}, 4));
  while (listeners.tell_one()) continue;
  CHECK(told == Told{{1, "port"}, {2, "by another"}});
  CHECK_FALSE(listeners.telling());
}

}  // namespace charmtree::client_lib_listeners_test
