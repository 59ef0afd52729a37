// SPDX-License-Identifier: Apache-2.0
#include "staging/component.hpp"

#include <algorithm>

#include "tests/unit/part_bench.hpp"

namespace charmtree::staging_test {

using namespace charmtree::proto;
using namespace charmtree::staging;
using test::PartBench;

namespace {

wire::JobSpec job_with(std::vector<std::uint64_t> sizes) {
  wire::JobSpec job;
  for (const std::uint64_t size : sizes)
    job.spawn.staged.files.push_back({"files/f", "/here/f", size, "digest", false});
  return job;
}

/// Returns the requests to the parent since the last call.
std::vector<PieceWanted> wanted(PartBench& b) {
  std::vector<PieceWanted> all;
  for (const wire::Message& each : std::exchange(b.handed_up, {})) all.push_back(get<PieceWanted>(each));
  return all;
}

std::vector<StagedPiece> pieces_for(LinkId link, PartBench& b) {
  std::vector<StagedPiece> all;
  for (auto& [to, message] : std::exchange(b.handed_down, {})) {
    if (to == link) all.push_back(get<StagedPiece>(message));
  }
  return all;
}

/// A launcher below the root whose host has no file, and has opened the first.
struct Fetching {
  explicit Fetching(std::vector<std::uint64_t> sizes, std::uint64_t left = 0)
      : b(PartBench::Role::below, job_with(sizes)) {
    part.begin(b);
    part.on(FilesFound{std::vector<std::uint64_t>(sizes.size())}, b);
    part.on(FileWritten{0, left}, b);
  }
  /// A piece arrives and is written.
  void comes(std::uint32_t file, std::uint64_t offset, std::uint64_t size) {
    part.down(StagedPiece{file, offset, std::string(size, 'x')}, b);
    part.on(FileWritten{file, offset + size}, b);
  }
  PartBench b;
  StagingComponent part;
};

std::optional<FilesStaged> end_of(PartBench& b) {
  const auto ends = b.take<FilesStaged>();
  REQUIRE(ends.size() <= 1);
  return ends.empty() ? std::nullopt : std::optional{ends.front()};
}

}  // namespace

TEST_CASE("a job without files requests nothing", "[staging]") {
  PartBench b{PartBench::Role::below};
  StagingComponent part;
  part.begin(b);
  CHECK((b.actions.empty() && b.handed_up.empty()));
}

TEST_CASE("a file that the host has is not requested", "[staging]") {
  PartBench b{PartBench::Role::below, job_with({10, 0, 20})};
  StagingComponent part;
  part.begin(b);
  CHECK(b.take<FindFiles>().size() == 1);
  part.on(FilesFound{{10, 0, 20}}, b);
  CHECK(b.handed_up.empty());
  const auto end = end_of(b);
  REQUIRE(end);
  CHECK_FALSE(end->error);
}

TEST_CASE("files are requested one after the other, each from the end of what the host has of it",
          "[staging]") {
  Fetching f{{100, 50}, 30};
  auto asked = wanted(f.b);
  REQUIRE(asked.size() == 1);
  CHECK((asked[0].file == 0 && asked[0].offset == 30 && asked[0].until == 100));
  f.comes(0, 30, 70);
  f.part.on(FileWritten{1, 0}, f.b);
  asked = wanted(f.b);
  REQUIRE(asked.size() == 1);
  CHECK((asked[0].file == 1 && asked[0].offset == 0 && asked[0].until == 50));
  CHECK_FALSE(end_of(f.b));
  f.comes(1, 0, 50);
  CHECK(end_of(f.b));
}

TEST_CASE("a request is no larger than the window, and the next follows after half of it", "[staging]") {
  const std::uint64_t size = 3 * kWindow;
  Fetching f{{size}};
  CHECK(wanted(f.b).at(0).until == kWindow);
  std::uint64_t most = 0, count = 0;
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    f.comes(0, at, kPiece);
    for (const auto& each : wanted(f.b)) {
      CHECK(each.until - each.offset <= kWindow);
      most = std::max(most, each.until);
      ++count;
    }
  }
  CHECK(most == size);
  CHECK(count == 4);  // each half of the window but the first, which came with the second
  CHECK(end_of(f.b));
}

TEST_CASE("a piece that was not requested is ignored", "[staging]") {
  Fetching f{{100}};
  f.b.actions.clear();
  f.part.down(StagedPiece{0, 10, "x"}, f.b);                   // a hole
  f.part.down(StagedPiece{1, 0, "x"}, f.b);                    // another file
  f.part.down(StagedPiece{0, 0, {}}, f.b);                     // nothing
  f.part.down(StagedPiece{0, 0, std::string(101, 'x')}, f.b);  // more than there is
  CHECK(f.b.actions.empty());
  f.part.down(StagedPiece{0, 0, std::string(100, 'x')}, f.b);
  CHECK(f.b.take<WritePiece>().size() == 1);
}

TEST_CASE("a file with a wrong digest is requested again, but not for ever", "[staging]") {
  Fetching f{{100}, 40};
  wanted(f.b);
  for (std::uint32_t repeat = 0; repeat < StagingComponent::kMostRepeats; ++repeat) {
    const std::uint64_t from = repeat == 0 ? 40 : 0;
    f.part.down(StagedPiece{0, from, std::string(100 - from, 'x')}, f.b);
    f.part.on(FileWritten{0, 0}, f.b);
    const auto asked = wanted(f.b);
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].offset == 0);
  }
  f.part.down(StagedPiece{0, 0, std::string(100, 'x')}, f.b);
  f.part.on(FileWritten{0, 0}, f.b);
  const auto end = end_of(f.b);
  REQUIRE((end && end->error));
  CHECK(end->error->what.find("/here/f") != std::string::npos);
}

TEST_CASE("a further request does not repeat bytes that have been sent", "[staging]") {
  PartBench b{PartBench::Role::root, job_with({2 * kWindow})};
  const LinkId link = b.child();
  StagingComponent part;
  part.begin(b);
  part.on(FilesFound{{2 * kWindow}}, b);
  const auto sent = [&] {
    std::uint64_t bytes = 0;
    for (part.turn(b);; part.turn(b)) {
      const auto reads = b.take<ReadPiece>();
      if (reads.empty()) return bytes;
      part.on(PieceRead{link, 0, reads[0].offset, std::string(reads[0].size, 'x')}, b);
      bytes += reads[0].size;
    }
  };
  part.up(link, {0, 0, kWindow, true}, b);
  CHECK(sent() == kWindow);
  part.up(link, {0, kWindow / 2, kWindow * 3 / 2}, b);
  CHECK(sent() == kWindow / 2);
  part.up(link, {0, 0, kWindow, true}, b);
  CHECK(sent() == kWindow);
}

TEST_CASE("children get the pieces that the host has, and no more than they have requested", "[staging]") {
  Fetching f{{kWindow}};
  const LinkId link = f.b.child();
  f.part.up(link, {0, 0, kPiece + 10}, f.b);
  f.part.turn(f.b);
  CHECK(f.b.take<ReadPiece>().empty());  // nothing is here
  f.comes(0, 0, 100);
  f.part.turn(f.b);
  auto reads = f.b.take<ReadPiece>();
  REQUIRE(reads.size() == 1);
  CHECK((reads[0].link == link && reads[0].offset == 0 && reads[0].size == 100));
  f.part.turn(f.b);
  CHECK(f.b.take<ReadPiece>().empty());  // one at a time
  f.part.on(PieceRead{link, 0, 0, std::string(100, 'x')}, f.b);
  CHECK(pieces_for(link, f.b).size() == 1);
  f.comes(0, 100, 2 * kPiece);
  f.part.turn(f.b);
  reads = f.b.take<ReadPiece>();
  REQUIRE(reads.size() == 1);
  CHECK((reads[0].offset == 100 && reads[0].size == kPiece - 90));
}

TEST_CASE("a child that has requested another piece meanwhile does not get the old one", "[staging]") {
  Fetching f{{1000}};
  const LinkId link = f.b.child();
  f.comes(0, 0, 500);
  f.part.up(link, {0, 0, 1000}, f.b);
  f.part.turn(f.b);
  f.part.up(link, {0, 300, 1000, true}, f.b);
  f.part.on(PieceRead{link, 0, 0, std::string(500, 'x')}, f.b);
  CHECK(pieces_for(link, f.b).empty());
  f.b.actions.clear();
  f.part.turn(f.b);
  const auto reads = f.b.take<ReadPiece>();
  REQUIRE(reads.size() == 1);
  CHECK((reads[0].offset == 300 && reads[0].size == 200));
}

TEST_CASE("a piece that could not be read is read after the file was fetched anew", "[staging]") {
  Fetching f{{100}, 40};
  const LinkId link = f.b.child();
  f.part.up(link, {0, 0, 100}, f.b);
  f.part.turn(f.b);
  f.part.down(StagedPiece{0, 40, std::string(60, 'x')}, f.b);
  f.part.on(FileWritten{0, 0}, f.b);
  f.part.on(PieceRead{link, 0, 0, {}}, f.b);
  f.b.actions.clear();
  f.part.turn(f.b);
  CHECK((f.b.take<ReadPiece>().empty() && f.b.handed_down.empty()));
  f.comes(0, 0, 100);
  f.part.turn(f.b);
  CHECK(f.b.take<ReadPiece>().size() == 1);
}

TEST_CASE("a launcher that cannot have a file refuses it after its children have what there is",
          "[staging]") {
  Fetching f{{1000}};
  const LinkId first = f.b.child(), second = f.b.child();
  f.comes(0, 0, 100);
  f.part.up(first, {0, 100, 1000}, f.b);
  f.part.up(second, {0, 0, 1000}, f.b);
  f.part.down(PieceRefused{0, {Errc::spawn_failed, Phase::spawn, "no room", {}}}, f.b);
  const auto end = end_of(f.b);
  REQUIRE((end && end->error));
  f.part.turn(f.b);
  const auto told = std::exchange(f.b.handed_down, {});
  REQUIRE(told.size() == 1);
  CHECK(told[0].first == first);
  CHECK(get<PieceRefused>(told[0].second).why.what == "no room");
  f.part.on(PieceRead{second, 0, 0, std::string(100, 'x')}, f.b);
  f.part.turn(f.b);
  REQUIRE(f.b.handed_down.size() == 2);
  CHECK(holds_alternative<PieceRefused>(f.b.handed_down[1].second));
}

TEST_CASE("a child that requests what does not exist is given up", "[staging]") {
  PartBench b{PartBench::Role::root, job_with({2 * kWindow})};
  const LinkId link = b.child();
  StagingComponent part;
  part.begin(b);
  part.on(FilesFound{{2 * kWindow}}, b);
  const auto refused = [&](PieceWanted which) {
    b.given_up.clear();
    part.up(link, which, b);
    return b.given_up.size() == 1;
  };
  CHECK(refused({1, 0, 1}));                              // no such file
  CHECK(refused({0, 0, 2 * kWindow}));                    // more than the window
  CHECK(refused({0, 2 * kWindow - 1, 2 * kWindow + 1}));  // behind its end
  CHECK(refused({0, 5, 5}));                              // nothing
  CHECK_FALSE(refused({0, 5, 6}));
}

}  // namespace charmtree::staging_test
