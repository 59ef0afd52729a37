// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/nearness.hpp"

#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/export.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace charmtree::nearness_test {

using charmtree::ibverbs::Nearness;

namespace {

/// Four nodes of two processors each; where latencies are known, those of a ring.
std::string four_nodes(bool has_latencies) {
  hwloc_topology_t topology = nullptr;
  REQUIRE(hwloc_topology_init(&topology) == 0);
  REQUIRE(hwloc_topology_set_synthetic(topology, "numa:4 core:2 pu:1") == 0);
  REQUIRE(hwloc_topology_load(topology) == 0);
  if (has_latencies) {
    std::vector<hwloc_obj_t> nodes;
    for (unsigned i = 0; i < 4; ++i) nodes.push_back(hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, i));
    std::vector<hwloc_uint64_t> values{10, 21, 31, 21, 21, 10, 21, 31, 31, 21, 10, 21, 21, 31, 21, 10};
    const auto handle = hwloc_distances_add_create(
        topology, "NUMALatency", HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    REQUIRE(hwloc_distances_add_values(topology, handle, 4, nodes.data(), values.data(), 0) == 0);
    REQUIRE(hwloc_distances_add_commit(topology, handle, 0) == 0);
  }
  char* text = nullptr;
  int size = 0;
  REQUIRE(hwloc_topology_export_xmlbuffer(topology, &text, &size, 0) == 0);
  const std::string xml(text, static_cast<std::size_t>(size));
  hwloc_free_xmlbuffer(topology, text);
  hwloc_topology_destroy(topology);
  return xml;
}

}  // namespace

TEST_CASE("a device is as far as the nearest node of it is from those of the process", "[ibverbs]") {
  const std::string xml = four_nodes(true);
  const Nearness nearness{xml};
  CHECK(nearness.distance("0-1", "1") == 10);
  CHECK(nearness.distance("0-1", "2-3") == 21);
  CHECK(nearness.distance("0-1", "4-5") == 31);
  CHECK(nearness.distance("0,7", "4-5") == 21);
  CHECK(nearness.distance("0-7", "4-5") == 10);
}

TEST_CASE("where no latencies are told, another node is farther", "[ibverbs]") {
  const std::string xml = four_nodes(false);
  const Nearness nearness{xml};
  CHECK(nearness.distance("0-1", "0") == 10);
  CHECK(nearness.distance("0-1", "4-5") > 10);
}

TEST_CASE("what is not known is farther than all", "[ibverbs]") {
  const std::string xml = four_nodes(true), garbage{"<topology>\0", 11};
  CHECK(Nearness{std::string_view{}}.distance("0", "1") == Nearness::kUnknown);
  CHECK(Nearness{garbage}.distance("0", "1") == Nearness::kUnknown);
  const Nearness nearness{xml};
  for (const std::string odd : {"", "nonsense", "64"})
    CHECK(nearness.distance("0", odd) == Nearness::kUnknown);
}

}  // namespace charmtree::nearness_test
