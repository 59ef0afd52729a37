// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/provisioning.hpp"

#include <catch2/catch.hpp>

#include "charmrun/plan/placement.hpp"

namespace charmtree::provisioning_test {

namespace {

Options words(std::vector<std::string> argv) {
  argv.insert(argv.begin(), "charmrun");
  argv.push_back("./app");
  const auto options = parse_options(argv, {});
  REQUIRE(options.ok());
  return *options;
}

bool no_smp() {
  return false;
}

std::string failure(std::vector<std::string> argv) {
  const auto wish = wanted_provision(words(std::move(argv)), no_smp);
  REQUIRE_FALSE(wish.ok());
  CHECK(wish.error().code == Errc::bad_input);
  return to_string(wish.error());
}

wire::Provision good(std::vector<std::string> argv) {
  const auto wish = wanted_provision(words(std::move(argv)), no_smp);
  REQUIRE(wish.ok());
  return *wish;
}

Result<Placement> placed(std::vector<std::string> argv, const std::vector<std::uint32_t>& slots) {
  return place(words(argv), slots, good(argv));
}

wire::Provision wish(CpuUnit process_unit, std::uint32_t processes, CpuUnit thread_unit = CpuUnit::none) {
  return {process_unit, processes, thread_unit, false, true};
}

}  // namespace

TEST_CASE("units for processes and worker threads are understood", "[provisioning]") {
  CHECK(good({}) == wire::Provision{});
  CHECK(good({"+p4"}) == wire::Provision{});
  CHECK(good({"++processPerHost", "3"}) == wish(CpuUnit::host, 3));
  CHECK(good({"++processPerSocket", "2", "++ppn", "4"}) == wish(CpuUnit::socket, 2));
  CHECK(good({"++processPerCore", "1"}) == wish(CpuUnit::core, 1));
  CHECK(good({"++processPerPU", "1", "++oneWthPerPU"}) == wish(CpuUnit::pu, 1, CpuUnit::pu));
  CHECK(good({"++processPerSocket", "2", "++oneWthPerCore"}) == wish(CpuUnit::socket, 2, CpuUnit::core));
  CHECK(good({"++n", "4", "++oneWthPerSocket"}) == wish(CpuUnit::none, 0, CpuUnit::socket));
  CHECK(good({"++processPerCore", "0", "+p2"}) == wire::Provision{});
}

TEST_CASE("++auto-provision uses all of every host, by what the program is", "[provisioning]") {
  CHECK(good({"++auto-provision"}) == wish(CpuUnit::core, 1));
  const auto smp = wanted_provision(words({"++autoProvision"}), [] { return true; });
  REQUIRE(smp.ok());
  CHECK(*smp == wish(CpuUnit::socket, 1, CpuUnit::pu));
  const auto asked = [](std::vector<std::string> argv) {
    bool was_asked = false;
    CHECK(wanted_provision(words(std::move(argv)), [&] { return was_asked = true; }).ok());
    return was_asked;
  };
  CHECK(asked({"++auto-provision"}));
  CHECK_FALSE(asked({"++processPerCore", "1", "++oneWthPerPU"}));
}

TEST_CASE("options that exclude each other are named", "[provisioning]") {
  const std::string leave = " exclude each other; leave one of them out";
  CHECK(failure({"++processPerHost", "1", "++processPerCore", "1"}) ==
        "options: ++processPerHost and ++processPerCore" + leave);
  CHECK(failure({"++oneWthPerHost", "++oneWthPerPU"}) ==
        "options: ++oneWthPerHost and ++oneWthPerPU" + leave);
  CHECK(failure({"++auto-provision", "++processPerCore", "1"}) ==
        "options: ++auto-provision and ++processPerCore" + leave);
  CHECK(failure({"++auto-provision", "++oneWthPerPU"}) ==
        "options: ++auto-provision and ++oneWthPerPU" + leave);
  CHECK(failure({"++auto-provision", "+p4"}) == "options: ++auto-provision and +p" + leave);
  CHECK(failure({"++auto-provision", "++n", "4"}) == "options: ++auto-provision and ++n" + leave);
  CHECK(failure({"++auto-provision", "++ppn", "4"}) == "options: ++auto-provision and ++ppn" + leave);
  CHECK(failure({"++processPerPU", "1", "+p4"}) == "options: ++processPerPU and +p" + leave);
  CHECK(failure({"++processPerPU", "1", "++np", "4"}) == "options: ++processPerPU and ++n" + leave);
  CHECK(failure({"++oneWthPerCore", "+p4"}) == "options: ++oneWthPerCore and +p" + leave);
  CHECK(failure({"++oneWthPerCore", "++ppn", "4"}) == "options: ++oneWthPerCore and ++ppn" + leave);
}

TEST_CASE("every process needs a worker thread of its own", "[provisioning]") {
  CHECK(failure({"++processPerCore", "1", "++oneWthPerSocket"}) ==
        "options: ++oneWthPerSocket counts by a coarser unit than ++processPerCore; every process needs a "
        "worker thread: use the same unit or a finer one for threads");
  CHECK(failure({"++processPerPU", "1", "++oneWthPerCore"}).find("coarser") != std::string::npos);
  CHECK(failure({"++processPerCore", "2", "++oneWthPerCore"}) ==
        "options: ++processPerCore 2 are more processes than worker threads (++oneWthPerCore); use a finer "
        "unit for threads");
}

TEST_CASE("where the launcher binds, or nobody is to, programs are not told to", "[provisioning]") {
  CHECK(good({"++processPerCore", "1"}).hints);
  CHECK_FALSE(good({"++processPerCore", "1", "++bind", "core"}).hints);
  CHECK_FALSE(good({"++processPerCore", "1", "++bind", "none"}).hints);
  CHECK(bound_to(words({"++bind", "numa"}).placement.binding) == CpuUnit::numa);
  CHECK(bound_to(words({"++bind", "socket"}).placement.binding) == CpuUnit::socket);
  CHECK(bound_to(words({"++bind", "core"}).placement.binding) == CpuUnit::core);
  CHECK(bound_to(words({"++bind", "none"}).placement.binding) == CpuUnit::none);
  CHECK(bound_to(words({}).placement.binding) == CpuUnit::none);
}

TEST_CASE("processes for each host are placed at once, others when the hosts have told", "[provisioning]") {
  using Shares = std::vector<HostShare>;
  const std::vector<std::uint32_t> slots{1, 0, 3};
  auto placement = placed({"++processPerHost", "2"}, slots);
  REQUIRE(placement.ok());
  CHECK(placement->hosts == Shares{{0, 0, 2}, {2, 2, 2}});
  CHECK(placement->counts.processes == 4);
  CHECK(placement->counts.notes.empty());
  CHECK_FALSE(placement->provision.by_topology());

  placement = placed({"++processPerSocket", "2", "++ppn", "3"}, slots);
  REQUIRE(placement.ok());
  CHECK(placement->hosts == Shares{{0, 0, 1}, {2, 1, 1}});
  CHECK(placement->counts.pes_per_process == 3);
  CHECK(placement->provision.by_topology());

  placement = placed({"++n", "8", "++oneWthPerCore"}, slots);
  REQUIRE(placement.ok());
  CHECK(placement->hosts == Shares{{0, 0, 2}, {2, 2, 6}});
  CHECK(placement->provision.by_topology());
  CHECK(placed({"++oneWthPerCore"}, slots)->counts.notes.empty());

  const auto many = placed({"++processPerHost", "16777216"}, slots);
  REQUIRE_FALSE(many.ok());
  CHECK(to_string(many.error()).find("are too many processes") != std::string::npos);
}

}  // namespace charmtree::provisioning_test
