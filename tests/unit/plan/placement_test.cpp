// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/placement.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "tree/base/random.hpp"

namespace charmtree::placement_test {

namespace {

using Slots = std::vector<std::uint32_t>;
using Shares = std::vector<HostShare>;

Options counts(std::uint32_t p, std::uint32_t n, std::uint32_t ppn) {
  Options options;
  options.counts.pes = p;
  options.counts.processes = n;
  options.counts.pes_per_process = ppn;
  return options;
}

// {processes, PEs in each}, or {0, 0} for an error.
std::pair<std::uint32_t, std::uint32_t> count(std::uint32_t p, std::uint32_t n, std::uint32_t ppn) {
  const auto result = count_processes(counts(p, n, ppn));
  if (!result) return {0, 0};
  return {result->processes, result->pes_per_process};
}

std::string failure(const Options& options, const Slots& slots = {1}) {
  const auto placement = place(options, slots);
  REQUIRE_FALSE(placement.ok());
  CHECK(placement.error().code == Errc::bad_input);
  return to_string(placement.error());
}

}  // namespace

TEST_CASE("processes and PEs follow from +p, ++n and ++ppn") {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  CHECK(count(4, 0, 0) == Pair{4, 1});
  CHECK(count(0, 3, 0) == Pair{3, 1});
  CHECK(count(0, 3, 4) == Pair{3, 4});
  CHECK(count(0, 0, 4) == Pair{1, 4});
  CHECK(count(8, 0, 2) == Pair{4, 2});
  CHECK(count(8, 0, 1) == Pair{8, 1});
  CHECK(count(8, 2, 0) == Pair{2, 4});
  CHECK(count(8, 8, 0) == Pair{8, 1});
  CHECK(count(8, 2, 4) == Pair{2, 4});
  CHECK(count(kMaxPes, 0, kMaxPes) == Pair{1, kMaxPes});
}

TEST_CASE("counts that do not agree are refused with the reason") {
  CHECK(failure(counts(8, 2, 3)) ==
        "options: +p8 is not ++n 2 times ++ppn 3; leave one of the three out, or use +p6");
  CHECK(failure(counts(5, 2, 0)).find("+p5 cannot be divided among ++n 2; ") != std::string::npos);
  CHECK(
      failure(counts(2, 4, 0)) ==
      "options: +p2 cannot be divided among ++n 4; every process has as many PEs: leave one of the two out, "
      "or use +p4");
  CHECK(failure(counts(5, 0, 2)).find("+p5 cannot be divided by ++ppn 2") != std::string::npos);
  CHECK(failure(counts(0, kMaxProcesses, kMaxPes)).find("too many PEs") != std::string::npos);
  CHECK(failure(counts(kMaxPes, 0, 0)).find("at most 16777216 are possible") != std::string::npos);
}

TEST_CASE("counts that do not agree are named as they were typed") {
  const auto said = [](const std::vector<std::string>& words) {
    const auto options = parse_options(words, {});
    REQUIRE(options.ok());
    return failure(*options);
  };
  CHECK(said({"charmrun", "+p2", "+n4", "./app"}).starts_with("options: +p2 cannot be divided among +n4; "));
  CHECK(said({"charmrun", "++p", "2", "++np", "4", "./app"})
            .starts_with("options: ++p 2 cannot be divided among ++np 4; "));
  CHECK(said({"charmrun", "+p", "5", "++ppn", "2", "./app"})
            .starts_with("options: +p 5 cannot be divided by ++ppn 2"));
}

TEST_CASE("no count at all is one process and a note") {
  const auto result = count_processes({});
  REQUIRE(result.ok());
  CHECK(result->processes == 1);
  CHECK(result->notes.size() == 1);
  CHECK(count_processes(counts(1, 0, 0))->notes.empty());
}

TEST_CASE("++ppn above +p is cut with a note, as Charm++ does") {
  const auto result = count_processes(counts(2, 0, 4));
  REQUIRE(result.ok());
  CHECK(result->processes == 1);
  CHECK(result->pes_per_process == 2);
  CHECK(result->notes.size() == 1);
}

TEST_CASE("processes are spread in blocks, numbers contiguous on each host") {
  CHECK(share_out(7, Slots{1, 1, 1}) == Shares{{0, 0, 3}, {1, 3, 2}, {2, 5, 2}});
  CHECK(share_out(6, Slots{1, 1, 1}) == Shares{{0, 0, 2}, {1, 2, 2}, {2, 4, 2}});
  CHECK(share_out(1, Slots{1}) == Shares{{0, 0, 1}});
}

TEST_CASE("fewer processes than hosts use the first hosts") {
  CHECK(share_out(2, Slots{1, 1, 1, 1}) == Shares{{0, 0, 1}, {1, 1, 1}});
}

TEST_CASE("slots weight the shares") {
  CHECK(share_out(6, Slots{2, 1}) == Shares{{0, 0, 4}, {1, 4, 2}});
  CHECK(share_out(7, Slots{4, 1}) == Shares{{0, 0, 6}, {1, 6, 1}});
  CHECK(share_out(2, Slots{2, 2}) == Shares{{0, 0, 1}, {1, 1, 1}});
  CHECK(share_out(1, Slots{1, 3}) == Shares{{1, 0, 1}});
  CHECK(share_out(3, Slots{0, 1}) == Shares{{1, 0, 3}});
  CHECK(share_out(3, Slots{}).empty());
}

TEST_CASE("slots that were given are filled host by host, and again when all are taken") {
  const Slots slots{4, 4, 1};
  CHECK(fill_slots(4, slots) == Shares{{0, 0, 4}});
  CHECK(fill_slots(6, slots) == Shares{{0, 0, 4}, {1, 4, 2}});
  CHECK(fill_slots(9, slots) == Shares{{0, 0, 4}, {1, 4, 4}, {2, 8, 1}});
  CHECK(fill_slots(11, slots) == Shares{{0, 0, 6}, {1, 6, 4}, {2, 10, 1}});
  CHECK(fill_slots(3, Slots{0, 0}) == Shares{{0, 0, 2}, {1, 2, 1}});
  CHECK(fill_slots(3, Slots{0, 2}) == Shares{{1, 0, 3}});
  CHECK(fill_slots(3, Slots{}).empty());
}

TEST_CASE("without a number there is a process for each slot that was given, or one on each host") {
  CHECK(place({}, HostSlots{{2, 1}, true})->hosts == Shares{{0, 0, 2}, {1, 2, 1}});
  HostSlots plain{{2, 1}};
  plain.one_each = true;
  CHECK(place({}, plain)->hosts == Shares{{0, 0, 1}, {1, 1, 1}});
  CHECK(place({}, Slots{1, 2})->hosts == Shares{{1, 0, 1}});
  Options limited;
  limited.counts.host_limit = 1;
  CHECK(place(limited, HostSlots{{2, 1}, true})->counts.processes == 2);
  CHECK(place(counts(0, 0, 4), HostSlots{{2, 1}, true})->counts.pes_per_process == 4);
  CHECK(failure({}, {}).find("there is no host to run on") != std::string::npos);
}

TEST_CASE("hosts without processes are in the job where processes may be started there later") {
  HostSlots slots{{2, 1, 3}, true};
  CHECK(place(counts(0, 2, 0), slots)->hosts == Shares{{0, 0, 2}});
  slots.with_idle = true;
  CHECK(place(counts(0, 2, 0), slots)->hosts == Shares{{0, 0, 2}, {1, 2, 0}, {2, 2, 0}});
  CHECK(slots.total() == 6);
  Options limited = counts(0, 1, 0);
  limited.counts.host_limit = 2;
  CHECK(place(limited, slots)->hosts == Shares{{0, 0, 1}, {1, 1, 0}});
}

TEST_CASE("++n and ++processPerHost place so many on each host until there are all") {
  auto options = counts(0, 5, 0);
  options.placement.processes_per_host = 2;
  CHECK(place(options, Slots{1, 7, 1, 1})->hosts == Shares{{0, 0, 2}, {1, 2, 2}, {2, 4, 1}});
  CHECK(place(options, Slots{1, 1})->hosts == Shares{{0, 0, 3}, {1, 3, 2}});
}

TEST_CASE("++numHosts uses the first hosts and needs as many") {
  auto options = counts(4, 0, 0);
  options.counts.host_limit = 2;
  CHECK(place(options, Slots{1, 1, 1})->hosts == Shares{{0, 0, 2}, {1, 2, 2}});
  options.counts.host_limit = 4;
  CHECK(failure(options, {1, 1, 1}).find("++numHosts 4 is more than the 3 hosts there are") !=
        std::string::npos);
  CHECK(failure(counts(4, 0, 0), {}).find("there is no host") != std::string::npos);
}

TEST_CASE("any share-out is complete, contiguous, in order and within one of the exact share") {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    Slots slots(1 + random.below(40));
    for (auto& s : slots) s = static_cast<std::uint32_t>(random.below(5));
    const auto processes = static_cast<std::uint32_t>(1 + random.below(1000));
    const std::uint64_t all = std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
    if (all == 0) continue;

    std::uint32_t next = 0;
    std::int64_t last_host = -1;
    for (const HostShare& share : share_out(processes, slots)) {
      REQUIRE(share.first_process == next);
      REQUIRE(share.host > last_host);
      REQUIRE(share.processes > 0);
      const std::uint64_t floor = std::uint64_t{processes} * slots[share.host] / all;
      REQUIRE((share.processes == floor || share.processes == floor + 1));
      next += share.processes;
      last_host = share.host;
    }
    REQUIRE(next == processes);
  }
}

TEST_CASE("a doctor sees every host, with the processes that it would have") {
  Options options = counts(3, 0, 0);
  options.mode = Mode::doctor;
  CHECK(place(options, Slots{1, 0, 1, 0, 1, 0})->hosts ==
        Shares{{0, 0, 1}, {1, 1, 0}, {2, 1, 1}, {3, 2, 0}, {4, 2, 1}, {5, 3, 0}});
  options.counts.pes = 0;
  options.counts.host_limit = 2;
  CHECK(place(options, Slots{1, 1, 1})->counts.notes.empty());
  CHECK(place(options, Slots{1, 1, 1})->hosts == Shares{{0, 0, 1}, {1, 1, 0}});
}

}  // namespace charmtree::placement_test
