// SPDX-License-Identifier: Apache-2.0
#include "tree/job/provision.hpp"

#include <catch2/catch.hpp>

namespace charmtree::provision_test {

using namespace charmtree::proto;
using wire::Provision;

namespace {

constexpr Topology kSmall{1, 2, 2}, kDual{2, 8, 16}, kBig{2, 64, 128}, kFlat{1, 16, 16};

std::vector<ProvisionSite> sites(const std::vector<Topology>& topologies, std::uint32_t processes = 0) {
  static const std::vector<std::string> kNames = {"h00", "h01", "h02", "h03", "h04", "h05", "h06", "h07"};
  std::vector<ProvisionSite> all;
  for (std::size_t i = 0; i < topologies.size(); ++i) all.push_back({kNames[i], topologies[i], processes});
  return all;
}

Provision wish(CpuUnit process_unit, std::uint32_t processes, CpuUnit thread_unit = CpuUnit::none) {
  return {process_unit, processes, thread_unit, false};
}

std::string failure(const Provision& provision_wish, const std::vector<ProvisionSite>& all) {
  const auto result = provision(provision_wish, 1, all);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == Errc::bad_input);
  return to_string(result.error());
}

}  // namespace

TEST_CASE("processes and worker threads of one host follow from its topology", "[provision]") {
  struct Row {
    Topology host;
    CpuUnit process_unit;
    std::uint32_t n;
    CpuUnit thread_unit;
    std::uint32_t processes, pes;
  };
  const auto none = CpuUnit::none, host = CpuUnit::host, socket = CpuUnit::socket, core = CpuUnit::core,
             pu = CpuUnit::pu;
  const Row rows[] = {
      {kDual, host, 3, none, 3, 1},
      {kDual, socket, 1, none, 2, 1},
      {kDual, socket, 3, none, 6, 1},
      {kDual, core, 1, none, 8, 1},
      {kDual, core, 2, none, 16, 1},
      {kDual, pu, 1, none, 16, 1},
      // Room for the communication threads on the second PU of a core.
      {kDual, host, 1, core, 1, 8},
      {kDual, socket, 1, core, 2, 4},
      {kDual, host, 2, core, 2, 4},
      // No room: one worker less in each process.
      {kDual, host, 1, pu, 1, 15},
      {kDual, socket, 1, pu, 2, 7},
      {kDual, core, 1, pu, 8, 1},
      {kFlat, host, 1, core, 1, 15},
      {kFlat, host, 2, core, 2, 7},
      {kBig, socket, 1, pu, 2, 63},
      {kBig, socket, 1, core, 2, 32},
      // As many threads as processes: nothing to give up.
      {kDual, host, 1, host, 1, 1},
      {kDual, socket, 1, socket, 2, 1},
      {kDual, core, 1, core, 8, 1},
      {kDual, pu, 1, pu, 16, 1},
      {kSmall, host, 1, socket, 1, 1},
      {kSmall, host, 1, core, 1, 1},
      {{1, 1, 1}, socket, 1, pu, 1, 1},
  };
  for (const Row& row : rows) {
    CAPTURE(to_string(row.host), name(row.process_unit), row.n, name(row.thread_unit));
    const auto result = provision(wish(row.process_unit, row.n, row.thread_unit), 1, sites({row.host}));
    REQUIRE(result.ok());
    CHECK(result->processes == std::vector<std::uint32_t>{row.processes});
    CHECK(result->pes_per_process == row.pes);
  }
}

TEST_CASE("hosts that differ get as many processes as they have units", "[provision]") {
  const auto by_core = provision(wish(CpuUnit::core, 1), 1, sites({kSmall, kDual, kSmall, kBig}));
  REQUIRE(by_core.ok());
  CHECK(by_core->processes == std::vector<std::uint32_t>{2, 8, 2, 64});
  CHECK(by_core->pes_per_process == 1);
  const auto with_ppn = provision(wish(CpuUnit::socket, 2), 3, sites({kSmall, kDual}));
  REQUIRE(with_ppn.ok());
  CHECK(with_ppn->processes == std::vector<std::uint32_t>{2, 4});
  CHECK(with_ppn->pes_per_process == 3);
  // One socket of 8 cores and two of 8 each: as many PEs in each process.
  const auto alike = provision(wish(CpuUnit::socket, 1, CpuUnit::core), 1, sites({{1, 8, 16}, {2, 16, 32}}));
  REQUIRE(alike.ok());
  CHECK(alike->processes == std::vector<std::uint32_t>{1, 2});
  CHECK(alike->pes_per_process == 8);
}

TEST_CASE("worker threads are divided among processes that were counted otherwise", "[provision]") {
  const auto result = provision(wish(CpuUnit::none, 0, CpuUnit::core), 1, sites({kDual, kDual}, 2));
  REQUIRE(result.ok());
  CHECK(result->processes == std::vector<std::uint32_t>{2, 2});
  CHECK(result->pes_per_process == 4);
}

TEST_CASE("unequal numbers of PEs are refused with hosts and numbers", "[provision]") {
  CHECK(failure(wish(CpuUnit::socket, 1, CpuUnit::core), sites({kDual, kSmall, kDual})) ==
        "start: ++oneWthPerCore gives processes of different hosts different numbers of PEs "
        "(h[00,02]: 4, h01: 1); Charm++ needs as many in each: choose the number by ++ppn, or hosts that "
        "are alike");
  const auto many = sites({{1, 3, 6}, {1, 4, 8}, {1, 5, 10}, {1, 6, 12}, {1, 7, 14}, {1, 8, 16}});
  CHECK(failure(wish(CpuUnit::host, 1, CpuUnit::core), many)
            .find("(h00: 3, h01: 4, h02: 5, h03: 6 and 2 more kinds)") != std::string::npos);
}

TEST_CASE("threads that cannot be divided among the processes are refused", "[provision]") {
  CHECK(failure(wish(CpuUnit::host, 3, CpuUnit::core), sites({kDual})) ==
        "start: h00: 8 worker threads (++oneWthPerCore) cannot be divided among 3 processes; it has 2 "
        "sockets, 8 cores, 16 PUs; choose the number by ++ppn, or another unit");
  CHECK(failure(wish(CpuUnit::host, 3, CpuUnit::pu), sites({kDual}))
            .find("13 worker threads (++oneWthPerPU) cannot be divided among 3 processes; it has 2 sockets, "
                  "8 cores, 16 PUs, and each process needs a PU for its communication") != std::string::npos);
  CHECK(failure(wish(CpuUnit::none, 0, CpuUnit::host), sites({kDual}, 2))
            .find("1 worker thread (++oneWthPerHost) cannot be divided among 2") != std::string::npos);
}

TEST_CASE("a program that needs as many processes on every host is refused others", "[provision]") {
  Provision pxshm = wish(CpuUnit::core, 1);
  pxshm.same_everywhere = true;
  CHECK(failure(pxshm, sites({kDual, kSmall}))
            .find("hosts would get different numbers of processes (h00: 8, h01: 2)") != std::string::npos);
  CHECK(provision(pxshm, 1, sites({kDual, kDual})).ok());
}

TEST_CASE("too many of anything is refused", "[provision]") {
  CHECK(failure(wish(CpuUnit::pu, 200'000), sites({kBig})).find("at most 16777216") != std::string::npos);
  CHECK_FALSE(provision(wish(CpuUnit::pu, 100'000), 1'000'000, sites({kBig})).ok());
}

TEST_CASE("hints are those of the units that were asked for", "[provision]") {
  CHECK(cpu_hints({}).empty());
  Provision both = wish(CpuUnit::socket, 2, CpuUnit::pu);
  CHECK(cpu_hints(both) == std::vector<std::string>{"CmiProcessPerSocket=2", "CmiOneWthPerPU=1"});
  CHECK(cpu_hints(wish(CpuUnit::host, 4)) == std::vector<std::string>{"CmiProcessPerHost=4"});
  CHECK(cpu_hints(wish(CpuUnit::none, 0, CpuUnit::core)) == std::vector<std::string>{"CmiOneWthPerCore=1"});
  both.hints = false;
  CHECK(cpu_hints(both).empty());
}

}  // namespace charmtree::provision_test
