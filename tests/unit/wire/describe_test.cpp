// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/describe.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tree/wire/message_members.hpp"

namespace charmtree::describe_test {

using namespace charmtree::wire;

namespace {

template <class M>
struct Last {
  std::string first;
  std::uint32_t second = 2;
  M last;
};

}  // namespace
}  // namespace charmtree::describe_test

/// Leaves the last member out.
template <class M>
struct charmtree::wire::Members<charmtree::describe_test::Last<M>> {
  static constexpr std::string_view kName = "Last";
  template <class S, class F>
  static constexpr auto with(S& s, const F& f) {
    return f(s.first, s.second);
  }
};

namespace charmtree::describe_test {
namespace {

template <class... Each>
constexpr bool is_missed_whichever_it_is = (!kNamesAll<Last<Each>> && ...);

template <class M>
std::vector<std::string> texts_of(M message) {
  std::vector<std::string> texts;
  const auto note = [&](std::string& text) { texts.push_back(text); };
  for_each_text(message, note);
  return texts;
}

}  // namespace

TEST_CASE("texts that may be cut are found wherever they are in a message, others are not", "[describe]") {
  const Error error{Errc::internal, Phase::run, "what", "fix"};
  using Texts = std::vector<std::string>;
  CHECK(texts_of(HandBack{{{1, error}, {2, error}}}) == Texts{"what", "fix", "what", "fix"});
  Facts facts;
  facts.hosts_failed.push_back({1, error});
  facts.exits.push_back({.process = 3, .text = "text", .last_words = "words"});
  CHECK(texts_of(facts) == Texts{"what", "fix", "text", "words"});
  CHECK(texts_of(Output{1, 1, false, "the program's own", {}, kNever}).empty());
  CHECK(texts_of(Assign{{Host{.index = 1, .name = "name"}}, 0}).empty());
}

TEST_CASE("a description that leaves a member out, of whatever kind, does not compile", "[describe]") {
  STATIC_REQUIRE(is_missed_whichever_it_is<bool, std::int64_t, Tail, std::string, Blob, Duration, Instant>);
  STATIC_REQUIRE(
      is_missed_whichever_it_is<std::vector<std::string>, std::array<Duration, 3>, NodeTable, Error>);
  STATIC_REQUIRE(is_missed_whichever_it_is<std::optional<bool>, std::optional<std::string>,
                                           std::optional<ProcessSet::Range>, std::optional<Error>,
                                           std::optional<std::vector<int>>>);
  STATIC_REQUIRE(kNamesAll<ProcessSet::Range> && kNamesAll<JobSpec> && kNamesAll<Facts>);
}

TEST_CASE("an enumeration has no value behind its last, and a struct must be sound", "[describe]") {
  const auto coded = [](std::uint64_t number) {
    Writer out;
    out.varint(number);
    return out.take();
  };
  CHECK(decode_whole<Tail>(coded(static_cast<std::uint64_t>(Tail::ended))) == Tail::ended);
  CHECK_FALSE(decode_whole<Tail>(coded(static_cast<std::uint64_t>(Tail::ended) + 1)));
  CHECK(decode_whole<ProcessSet::Range>(coded(4) + coded(4)));
  CHECK_FALSE(decode_whole<ProcessSet::Range>(coded(4) + coded(3)));
  CHECK_FALSE(decode_whole<ProcessSet::Range>(coded(4)));
}

TEST_CASE("no memory is taken for a list that cannot follow", "[describe]") {
  Writer out;
  out.varint(std::uint64_t{1} << 40);
  CHECK_FALSE(decode_whole<std::vector<std::uint32_t>>(out.take()));
  const Blob three = encode_whole(std::vector<std::uint32_t>(3, 7));
  CHECK(decode_whole<std::vector<std::uint32_t>>(*three)->size() == 3);
}

}  // namespace charmtree::describe_test
