// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/binding.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/cpu_maps.hpp"

using namespace charmtree;
using namespace charmtree::proto;
using test::make_cpus;

namespace {

wire::JobSpec job(CpuUnit bind, std::uint32_t pes = 1) {
  wire::JobSpec spec;
  spec.bind = bind;
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
  spec.report_bindings = true;
  CHECK(needs_cpus(spec));
}

TEST_CASE("equal hosts are reported as one", "[binding]") {
  std::vector<Host> hosts(9);
  std::vector<wire::Bindings> bindings;
  for (std::uint32_t i = 0; i < 9; ++i) {
    hosts[i].name = fmt::format("h{:02}", i);
    hosts[i].first_process = 2 * i;
    const CpuMap cpus = make_cpus(1, i == 8 ? 1 : 2, 2);
    bindings.push_back(
        {i, {binding_of(job(CpuUnit::core), cpus, 0), binding_of(job(CpuUnit::core), cpus, 1)}});
  }
  const auto two = [&] { return describe({bindings[0], bindings[1], bindings[8]}, hosts); };
  CHECK(two() == std::vector<std::string>{
                     "h[00-01]: processes 0,2: core 0 (PUs 0,2)", "h[00-01]: processes 1,3: core 1 (PUs 1,3)",
                     "h08: process 16: core 0 (PUs 0-1)", "h08: process 17: core 0 (PUs 0-1)"});
  CHECK(describe(bindings, hosts).front() == "h[00-07]: processes 0,2,...,14: core 0 (PUs 0,2)");
  CHECK(describe({{3, {wire::Binding{}}}}, hosts) == std::vector<std::string>{"h03: process 6: not bound"});
}

TEST_CASE("bindings are told in words", "[binding]") {
  wire::Binding binding = binding_of(job(CpuUnit::core, 4), make_cpus(1, 8, 1), 1);
  CHECK(wire::to_string(binding) == "cores 4-7 (PUs 4-7)");
  binding.by = wire::Binding::By::itself;
  CHECK(wire::to_string(binding) == "cores 4-7 (PUs 4-7), as Charm++ programs bind themselves");
  CHECK(wire::to_string(binding_of(job(CpuUnit::numa), make_cpus(1, 1, 1), 0)) == "NUMA node 0 (PU 0)");
}
