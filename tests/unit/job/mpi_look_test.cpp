// SPDX-License-Identifier: Apache-2.0
#include "tree/job/mpi_look.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"

namespace charmtree::mpi_look_test {

using namespace charmtree::proto;

namespace {

/// The host of process 0, which has begun.
struct Bench {
  explicit Bench(wire::MpiService::Pmix pmix = wire::MpiService::Pmix::offered, std::uint32_t total = 2,
                 std::uint32_t first = 0) {
    job.processes = total;
    job.spawn.mpi.pmix = pmix;
    host.first_process = first;
    host.processes = 1;
    own.emplace(host, total);
    own->at(first).state = OwnProcess::State::running;
    HostTurn turn = turn_at(kBegun);
    look.on(Spawned{first}, turn);
  }
  HostTurn turn_at(Instant now) { return {job, 3, *own, now, out, up}; }
  /// Lets time pass until a look is due, and answers it. False: none is.
  bool answer(const std::string& library) {
    if (look.next_deadline() == kNever) return false;
    looked_at = look.next_deadline();
    HostTurn turn = turn_at(looked_at);
    look.tick(turn);
    if (test::only<LookForMpi>(out).empty()) return false;
    out.clear();
    look.on(MpiLoaded{0, library}, turn);
    return true;
  }
  std::vector<wire::Note> notes() const { return test::only<wire::Note>(up.messages); }

  static constexpr Instant kBegun{1s};
  wire::JobSpec job;
  Host host;
  std::optional<OwnProcesses> own;
  Actions out;
  Upward up;
  MpiLook look;
  Instant looked_at{};
};

}  // namespace

TEST_CASE("a process that has loaded MPI at two looks, and has not spoken, is told of once", "[mpi_look]") {
  Bench bench;
  CHECK(bench.answer(""));
  CHECK(bench.answer("libmpi.so.40"));
  CHECK(bench.notes().empty());
  CHECK(bench.answer("libmpi.so.40"));
  REQUIRE(bench.notes().size() == 1);
  CHECK((bench.notes()[0].for_everybody && bench.notes()[0].host == 3));
  CHECK(
      bench.notes()[0].text.starts_with("process 0 has loaded libmpi.so.40 and has not asked its launcher"));
  CHECK(bench.notes()[0].text.find("++pmi pmix") != std::string::npos);
  CHECK_FALSE(bench.answer("libmpi.so.40"));
}

TEST_CASE("looks become rare and end", "[mpi_look]") {
  Bench bench;
  int looks = 0;
  while (bench.answer("")) ++looks;
  CHECK(looks == 7);
  CHECK(bench.looked_at - Bench::kBegun < 65s);
}

TEST_CASE("nobody looks where a process has spoken, is alone, or is known", "[mpi_look]") {
  Bench spoken;
  spoken.own->at(0).register_with(ClientKind::pmi, ProgramKind::plain);
  CHECK_FALSE(spoken.answer("libmpi.so.40"));
  Bench over;
  over.own->at(0).state = OwnProcess::State::gone;
  CHECK_FALSE(over.answer("libmpi.so.40"));
  CHECK(Bench(wire::MpiService::Pmix::offered, 1).look.next_deadline() == kNever);
  CHECK(Bench(wire::MpiService::Pmix::needed).look.next_deadline() == kNever);
  CHECK(Bench(wire::MpiService::Pmix::none).look.next_deadline() == kNever);
  CHECK(Bench(wire::MpiService::Pmix::offered, 2, 1).look.next_deadline() == kNever);
}

}  // namespace charmtree::mpi_look_test
