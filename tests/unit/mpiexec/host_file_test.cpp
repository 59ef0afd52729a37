// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/host_file.hpp"

#include <catch2/catch.hpp>

#include "charmrun/plan/placement.hpp"

namespace charmtree::host_file_test {

namespace {

using namespace mpiexec;
using Hosts = std::vector<SlotHost>;

std::string complaint(std::string_view text) {
  const auto hosts = read_host_file(text, "hosts");
  REQUIRE_FALSE(hosts.ok());
  return hosts.error().what;
}

}  // namespace

TEST_CASE("a file of hosts is read as each mpiexec writes it") {
  const Hosts two{{"a", "", 4}, {"b", "", 1}};
  for (const auto* text : {"a:4\nb\n", "a slots=4\nb slots=1\n", "a 4\nb 1",
                           "# of two\n\na slots = 4 max_slots=8 // best\r\nb\r\n", "a:2\nb\na:2\n",
                           "a\na\na\na\nb", "a:4 binding=user:0 # x\nb:1"}) {
    const auto hosts = read_host_file(text, "hosts");
    INFO(text);
    REQUIRE(hosts.ok());
    CHECK(*hosts == two);
  }
  CHECK(*read_host_file("me@n[08-10]:2", "h") == Hosts{{"n08", "me", 2}, {"n09", "me", 2}, {"n10", "me", 2}});
  CHECK(*read_host_file("n username=you\n", "h") == Hosts{{"n", "you", 1}});
  CHECK(*read_host_list("a,b:2,n[1,3]") == Hosts{{"a", "", 1}, {"b", "", 2}, {"n1", "", 1}, {"n3", "", 1}});
}

TEST_CASE("a line that is no host is named") {
  CHECK(complaint("a\nb:x\n").starts_with("hosts:2: 'b:x': a number of slots belongs behind the ':'"));
  CHECK(complaint("a slots=x").starts_with("hosts:1: 'slots=x' is not understood"));
  CHECK(complaint("a port=22").starts_with("hosts:1: 'port=22' is not understood"));
  CHECK(complaint("-oProxyCommand=x").starts_with("hosts:1: '-oProxyCommand=x' is no host"));
  CHECK(complaint("host a ++cpus 2").find("++nodelist") != std::string::npos);
  CHECK(complaint("# nobody\n").starts_with("hosts: it names no host"));
  CHECK(read_host_file("n[1-9]\nn[1-9]", "h", 12).error().what.starts_with("h:2: too many hosts"));
  CHECK_FALSE(read_host_list("a,,b").ok());
  CHECK_FALSE(read_host_list("a[1,b").ok());
}

TEST_CASE("processes fill slot by slot, and begin again when all are taken") {
  const Hosts hosts{{"a", "", 4}, {"b", "me", 4}, {"c", "", 1}};
  const auto shares = [&hosts](std::uint32_t processes, std::uint32_t per_host) {
    const auto list = parse_nodelist(nodelist_text(hosts, processes, per_host), "hosts");
    REQUIRE(list.ok());
    std::vector<std::uint32_t> slots;
    for (const NodelistHost& host : list->hosts) slots.push_back(host.slots);
    std::vector<std::uint32_t> counts;
    for (const HostShare& share : share_out(processes, slots)) counts.push_back(share.processes);
    return counts;
  };
  using Counts = std::vector<std::uint32_t>;
  CHECK(shares(4, 0) == Counts{4});
  CHECK(shares(6, 0) == Counts{4, 2});
  CHECK(shares(9, 0) == Counts{4, 4, 1});
  CHECK(shares(11, 0) == Counts{6, 4, 1});
  CHECK(shares(36, 0) == Counts{16, 16, 4});
  CHECK(shares(5, 2) == Counts{2, 2, 1});
  CHECK(shares(7, 2) == Counts{3, 2, 2});
  CHECK(nodelist_text(hosts, 6'000'000, 2'000'000) == "host 'a'\nhost 'b' ++login 'me'\nhost 'c'\n");
  CHECK(nodelist_text({{"a", "", 0}, {"b", "", 0}}, 3, 0) == "host 'a'\nhost 'a'\nhost 'b'\n");
}

}  // namespace charmtree::host_file_test
