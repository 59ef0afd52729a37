// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/binding.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/cpu_maps.hpp"

namespace charmtree::binding_test {

using namespace charmtree::proto;
using test::make_cpus;

namespace {

wire::JobSpec job(CpuUnit bind, std::uint32_t pes = 1) {
  wire::JobSpec spec;
  spec.spawn.bind = bind;
  spec.pes_per_process = pes;
  return spec;
}

CpuSet pus(CpuUnit bind, const CpuMap& cpus, std::uint32_t rank, std::uint32_t pes = 1) {
  return binding_of(job(bind, pes), cpus, rank).pus;
}

}  // namespace

TEST_CASE("a process goes to the unit of its rank, and beyond the last to the first again", "[binding]") {
  const CpuMap cpus = make_cpus(2, 4, 2);
  CHECK(cpus.topology() == Topology{2, 8, 16});
  CHECK(pus(CpuUnit::core, cpus, 0) == CpuSet{0, 8});
  CHECK(pus(CpuUnit::core, cpus, 7) == CpuSet{7, 15});
  CHECK(pus(CpuUnit::core, cpus, 9) == CpuSet{1, 9});
  CHECK(pus(CpuUnit::socket, cpus, 1) == CpuSet{4, 5, 6, 7, 12, 13, 14, 15});
  CHECK(pus(CpuUnit::numa, cpus, 2) == CpuSet{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(pus(CpuUnit::none, cpus, 0).empty());
}

TEST_CASE("a process of several PEs gets as many cores in a row", "[binding]") {
  const CpuMap cpus = make_cpus(2, 4, 1);
  CHECK(pus(CpuUnit::core, cpus, 0, 3) == CpuSet{0, 1, 2});
  CHECK(pus(CpuUnit::core, cpus, 1, 3) == CpuSet{3, 4, 5});
  CHECK(pus(CpuUnit::core, cpus, 2, 3) == CpuSet{0, 1, 2});  // two cores are no place for three
  CHECK(pus(CpuUnit::core, cpus, 1, 100) == CpuSet{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(pus(CpuUnit::socket, cpus, 1, 3) == CpuSet{4, 5, 6, 7});
}

TEST_CASE("nothing is bound by a map of another machine", "[binding]") {
  CpuMap cpus = make_cpus(1, 2, 1);
  cpus.bindable = false;
  CHECK(binding_of(job(CpuUnit::core), cpus, 0) == wire::Binding{});
}

TEST_CASE("by hints a Charm++ program binds itself, and the launcher does not", "[binding]") {
  wire::JobSpec spec;
  spec.provision = {CpuUnit::socket, 2, CpuUnit::none, false};
  const wire::Binding binding = binding_of(spec, make_cpus(2, 2, 1), 3);
  CHECK(binding.by == wire::Binding::By::itself);
  CHECK(binding.pus == CpuSet{2, 3});
  spec.provision.process_unit = CpuUnit::host;
  CHECK(binding_of(spec, make_cpus(2, 2, 1), 3) == wire::Binding{});
  spec.provision.hints = false;
  CHECK(binding_of(spec, make_cpus(2, 2, 1), 3) == wire::Binding{});
  CHECK(needs_cpus(job(CpuUnit::core)));
  CHECK_FALSE(needs_cpus(spec));
  spec.reports.bindings = true;
  CHECK(needs_cpus(spec));
}

TEST_CASE("equal hosts are reported as one, and so are processes in a row", "[binding]") {
  std::vector<Host> hosts(9);
  std::vector<wire::Bindings> bindings;
  for (std::uint32_t i = 0; i < 9; ++i) {
    hosts[i].name = fmt::format("h{:02}", i);
    hosts[i].first_process = 3 * i;
    const CpuMap cpus = make_cpus(1, i == 8 ? 1 : 2, 2);
    bindings.push_back({i, {}});
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      bindings.back().processes.push_back(binding_of(job(CpuUnit::core), cpus, rank));
  }
  using Lines = std::vector<std::string>;
  CHECK(describe({bindings[0], bindings[1], bindings[8]}, hosts) ==
        Lines{"h[00-01]: processes 0-1,3-4: one each of cores 0-1 (PUs 0-3)",
              "h[00-01]: processes 2,5: core 0 (PUs 0,2)", "h08: process 24: core 0 (PUs 0-1)",
              "h08: process 25: core 0 (PUs 0-1)", "h08: process 26: core 0 (PUs 0-1)"});
  CHECK(describe(bindings, hosts)[0] ==
        "h[00-07]: processes 0-1,3-4,...,21-22: one each of cores 0-1 (PUs 0-3)");
  CHECK(describe(bindings, hosts)[1] == "h[00-07]: processes 2,5,...,23: core 0 (PUs 0,2)");
  const std::vector<wire::Binding> nowhere(3);
  CHECK(describe({{3, nowhere}, {4, nowhere}}, hosts) == Lines{"h[03-04]: processes 9-14: not bound"});
  const CpuMap eight = make_cpus(1, 8, 1);
  const auto two = [&](std::uint32_t rank) { return binding_of(job(CpuUnit::core, 2), eight, rank); };
  CHECK(describe({{0, {two(0), two(1), two(2)}}}, hosts) ==
        Lines{"h00: processes 0-2: 2 each of cores 0-5 (PUs 0-5)"});
}

TEST_CASE("bindings are told in words", "[binding]") {
  wire::Binding binding = binding_of(job(CpuUnit::core, 4), make_cpus(1, 8, 1), 1);
  CHECK(wire::to_string(binding) == "cores 4-7 (PUs 4-7)");
  binding.by = wire::Binding::By::itself;
  CHECK(wire::to_string(binding) == "cores 4-7 (PUs 4-7), as Charm++ programs bind themselves");
  CHECK(wire::to_string(binding_of(job(CpuUnit::numa), make_cpus(1, 1, 1), 0)) == "NUMA node 0 (PU 0)");
  wire::JobSpec by_pu;
  by_pu.provision = {CpuUnit::pu, 1};
  CHECK(wire::to_string(binding_of(by_pu, make_cpus(1, 4, 2), 2)) ==
        "PU 1, as Charm++ programs bind themselves");
}

}  // namespace charmtree::binding_test
