// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/transcript.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace charmtree::transcript_test {

using namespace charmtree::test;

namespace {

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(CHARMTREE_TRANSCRIPTS)) {
    if (entry.path().extension() == ".txt") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kSmall =
    "job first=0 count=1 total=1 pes=1 hosts=1@7f000001\n"
    "start\n"
    "C0> 00000002 'printsyn'/12 'x' 00\n"
    "=> print 0 out sync 'x'\n"
    "<= printed 0\n"
    "L>C0 00000001 'printdone'/12 00\n";

std::string changed(std::string_view from, std::string_view to) {
  std::string text = kSmall;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("every transcript is replayed byte by byte, in every way", "[transcripts]") {
  CHECK(files().size() >= 15);
  for (const auto& path : files()) {
    const Transcript transcript = parse_transcript(text_of(path));
    for (const Replay how : {Replay::as_written, Replay::dribbled, Replay::merged, Replay::disturbed}) {
      CAPTURE(path.filename().string(), static_cast<int>(how));
      CHECK(replay(transcript, how) == "");
    }
  }
}

TEST_CASE("a replay finds what differs from its transcript", "[transcripts]") {
  const auto fault = [](const std::string& text) {
    return replay(parse_transcript(text), Replay::as_written);
  };
  CHECK(fault(kSmall).empty());
  CHECK(fault(changed("00000001 'pr", "00000002 'pr")).starts_with("line 6: C0 got"));
  CHECK(fault(changed("L>C0 00000001 'printdone'/12 00\n", "")).starts_with("line 0: before: C0 got"));
  CHECK(fault(changed("12 00\n", "12 00 00\n")).starts_with("line 6: C0 got"));
  CHECK(
      fault(changed("=> print 0 out sync 'x'\n", "")).starts_with("line 4: before: the tree heard print 0"));
  CHECK(fault(changed("sync 'x'", "sync 'y'")).starts_with("line 4: the tree heard"));
  CHECK(fault(changed("out sync", "out")).starts_with("line 4: the tree heard"));
  CHECK(fault(std::string{kSmall} + "L-C0\n") == "line 7: C0 was not closed");
  CHECK(fault(std::string{kSmall} + "=> ended 0 0\n") == "line 7: the tree heard nothing, not ended 0 0");
  CHECK_THROWS_WITH(fault("C0: 00\n"), "line 1: not a line of a transcript");
  CHECK_THROWS_WITH(fault("C0> 0\n"), Catch::StartsWith("line 1: not bytes"));
}

}  // namespace charmtree::transcript_test
