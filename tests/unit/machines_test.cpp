// SPDX-License-Identifier: Apache-2.0
#include "charmrun/machines.hpp"

#include <catch2/catch.hpp>

using namespace charmtree;

namespace {
std::vector<std::uint32_t> machines(const std::vector<std::string>& names, std::string_view file) {
  std::vector<Host> hosts(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) hosts[i].name = names[i];
  number_machines(hosts, file);
  std::vector<std::uint32_t> numbers;
  for (const Host& host : hosts) numbers.push_back(host.machine);
  return numbers;
}
using Numbers = std::vector<std::uint32_t>;
}  // namespace

TEST_CASE("names with one address are one machine", "[machines]") {
  const std::string_view file =
      "# all\n10.0.0.1 a a.site  alias # b\n\n10.0.0.2\tb\r\n10.0.0.3 a  # the first counts\n10.0.0.2 c";
  CHECK(machines({"a", "b", "x", "10.0.0.1", "c", "alias", "y"}, file) == Numbers{1, 2, 0, 1, 2, 1, 0});
  CHECK(machines({"a", "b", "x"}, file) == Numbers{0, 0, 0});
  CHECK(machines({"x", "x", "10.0.0.9", "10.0.0.9"}, "") == Numbers{1, 1, 2, 2});
  CHECK(machines({}, file).empty());
}

TEST_CASE("what ssh connects to counts, not the name", "[machines]") {
  std::vector<Host> hosts(3);
  hosts[0].name = "n1";
  hosts[0].address = "gate";
  hosts[1].name = "n2";
  hosts[1].address = "10.0.0.7";
  hosts[2].name = "gate2";
  number_machines(hosts, "10.0.0.7 gate\n");
  CHECK(hosts[0].machine == 1);
  CHECK(hosts[1].machine == 1);
  CHECK(hosts[2].machine == 0);
}
