// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/nearness.hpp"

#include <hwloc.h>
#include <hwloc/distances.h>

#include <algorithm>
#include <vector>

namespace charmtree::ibverbs {

namespace {
constexpr unsigned kWithin = 10, kBetween = 20;  // nodes, where the kernel has not told

struct Bitmap {
  hwloc_bitmap_t bits = hwloc_bitmap_alloc();
  explicit Bitmap(const std::string& list) {
    if (bits != nullptr && hwloc_bitmap_list_sscanf(bits, list.c_str()) < 0) hwloc_bitmap_zero(bits);
  }
  Bitmap(const Bitmap&) = delete;
  ~Bitmap() { hwloc_bitmap_free(bits); }
};

std::vector<hwloc_obj_t> nodes_of(hwloc_topology_t topology, const std::string& list) {
  const Bitmap processors{list};
  std::vector<hwloc_obj_t> nodes;
  hwloc_obj_t node = nullptr;
  if (processors.bits == nullptr) return nodes;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_intersects(node->cpuset, processors.bits) != 0) nodes.push_back(node);
  }
  return nodes;
}

/// The first of them that is there.
struct Latencies {
  hwloc_topology_t topology;
  hwloc_distances_s* matrix = nullptr;
  explicit Latencies(hwloc_topology_t of) : topology(of) {
    unsigned count = 1;
    if (hwloc_distances_get_by_type(of, HWLOC_OBJ_NUMANODE, &count, &matrix,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
        count == 0)
      matrix = nullptr;
  }
  Latencies(const Latencies&) = delete;
  ~Latencies() {
    if (matrix != nullptr) hwloc_distances_release(topology, matrix);
  }
  unsigned between(hwloc_obj_t here, hwloc_obj_t there) const {
    hwloc_uint64_t forth = 0, back = 0;
    if (matrix != nullptr && hwloc_distances_obj_pair_values(matrix, here, there, &forth, &back) == 0)
      return static_cast<unsigned>(forth);
    return here == there ? kWithin : kBetween;
  }
};
}  // namespace

void Nearness::Destroys::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

Nearness::Nearness(std::string_view xml) {
  hwloc_topology_t topology = nullptr;
  if (xml.empty() || hwloc_topology_init(&topology) != 0) return;
  topology_.reset(topology);
  if (hwloc_topology_set_xmlbuffer(topology, xml.data(), static_cast<int>(xml.size())) != 0 ||
      hwloc_topology_load(topology) != 0)
    topology_.reset();
}

unsigned Nearness::distance(const std::string& here, const std::string& there) const {
  if (!topology_) return kUnknown;
  const Latencies latencies{topology_.get()};
  unsigned least = kUnknown;
  for (const hwloc_obj_t near : nodes_of(topology_.get(), here)) {
    for (const hwloc_obj_t far : nodes_of(topology_.get(), there))
      least = std::min(least, latencies.between(near, far));
  }
  return least;
}

}  // namespace charmtree::ibverbs
