// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/machines.hpp"

#include <catch2/catch.hpp>

namespace charmtree::machines_test {

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

TEST_CASE("a host whose first label is this machine's name is another one", "[machines]") {
  const ThisMachine vm{"vm", "", {0x0A000001}};
  for (const char* name : {"vm.cluster-b.example.org", "vm2", "v", "10.0.0.2", "::2", ""})
    CHECK_FALSE(vm.has_name(name));
  for (const char* name : {"vm", "VM", "vm.", "localhost", "127.0.0.1", "127.0.1.1", "10.0.0.1", "::1"})
    CHECK(vm.has_name(name));
}

TEST_CASE("a name is this machine if the hosts file gives it an address of ours, or that of our name",
          "[machines]") {
  const std::string_view file =
      "127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 vm.site.example vm\n"
      "10.0.0.1 front # ours\n10.0.0.2 vm.cluster-b.example.org\n";
  const ThisMachine vm{"vm", file, {0x0A000001}};
  for (const char* name : {"vm.site.example", "VM.Site.Example", "front", "ip6-localhost"})
    CHECK(vm.has_name(name));
  CHECK_FALSE(vm.has_name("vm.cluster-b.example.org"));
  // Behind address translation no interface has the address by which all know it.
  const ThisMachine cloud{"vm", "192.0.2.7 vm.site.example vm\n192.0.2.8 vm.other.example\n", {0x0A000001}};
  CHECK(cloud.has_name("vm.site.example"));
  CHECK_FALSE(cloud.has_name("vm.other.example"));
}

TEST_CASE("a name without a domain is completed by our own one", "[machines]") {
  const ThisMachine whole{"vm.site.example", "", {}};
  CHECK(whole.has_name("vm.site.example"));
  CHECK(whole.has_name("vm"));
  CHECK_FALSE(whole.has_name("vm.other.example"));
  CHECK_FALSE(whole.has_name("vm.site"));
  CHECK_FALSE(ThisMachine("vm.site.example", "10.0.0.2 vm\n", {}).has_name("vm"));
  CHECK(ThisMachine("vm.site.example", "10.0.0.2 vm.site.example vm\n", {}).has_name("vm"));
}

}  // namespace charmtree::machines_test
