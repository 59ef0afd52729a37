// SPDX-License-Identifier: Apache-2.0
// What the options about output say together.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "charmrun/cli/options.hpp"

namespace charmtree::output_options_test {

namespace {

Result<Options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "charmrun");
  words.emplace_back("./app");
  return parse_options(words, {});
}
Options good(std::vector<std::string> words) {
  const auto options = parse(std::move(words));
  REQUIRE(options);
  return *options;
}
std::string failure(std::vector<std::string> words) {
  const auto options = parse(std::move(words));
  REQUIRE_FALSE(options);
  return options.error().what;
}
std::string label(std::vector<std::string> words, bool folding = false) {
  const auto label = label_of(good(std::move(words)), folding);
  REQUIRE(label);
  return label->empty() ? "" : label->print({"7", "node1", 0, proto::Stream::err});
}

}  // namespace

TEST_CASE("labels by options", "[options]") {
  CHECK(label({}).empty());
  CHECK(label({"++label"}) == "[7] ");
  CHECK(label({"++label", "++label-format", "%h:%s "}) == "node1:stderr ");
  CHECK(label({"++timestamp"}) == print_time(0) + " ");
  CHECK(label({"++timestamp", "++label"}) == print_time(0) + " [7] ");
  CHECK(label({}, true) == "[7] ");
  CHECK(label({"++label-format", "<%r> "}, true) == "<7> ");
  CHECK(failure({"++label-format", "%x"}) == "++label-format cannot be '%x': %x means nothing");
}

TEST_CASE("raw bytes have no lines, so neither labels nor folds", "[options]") {
  CHECK(good({"++raw"}).output.raw);
  CHECK(failure({"++raw", "++label"}) == "++raw and ++label exclude each other");
  CHECK(failure({"++raw", "++label-format", "x"}) == "++raw and ++label-format exclude each other");
  CHECK(failure({"++timestamp", "++raw"}) == "++raw and ++timestamp exclude each other");
  CHECK(failure({"++fold", "++raw"}) == "++fold and ++raw exclude each other");
  CHECK(good({"++no-fold", "++raw"}).output.fold == false);
}

TEST_CASE("a terminal for stdout can be asked for, or refused", "[options]") {
  CHECK_FALSE(good({}).output.line_buffered.has_value());
  CHECK(good({"++line-buffered"}).output.line_buffered == true);
  CHECK(good({"++no-line-buffered"}).output.line_buffered == false);
}

TEST_CASE("folded lines must say whose they are", "[options]") {
  CHECK(may_fold(good({"++fold", "++label-format", "%r "})));
  CHECK(good({"++fold-window", "0.2"}).output.fold_window == 200ms);
  CHECK_FALSE(may_fold(good({"++label-format", "%h "})));
  CHECK(failure({"++fold", "++label-format", "%h "}) == "++fold needs %r in ++label-format");
  CHECK(failure({"++fold", "++output", "%r"}) == "++fold and ++output exclude each other");
}

TEST_CASE("each process's file has its number in its name", "[options]") {
  const auto name = file_name_of(good({"++output", "out/%h.%r"}));
  REQUIRE(name);
  CHECK(name->print({"7", "node1", 0, proto::Stream::out}) == "out/node1.7");
  CHECK(file_name_of(good({}))->empty());
  CHECK_FALSE(may_fold(good({"++output", "%r"})));
  CHECK(failure({"++output", "out/%h"}) == "++output cannot be 'out/%h'");
  CHECK(failure({"++output", "%t/%r"}) == "++output cannot be '%t/%r': %t means nothing");
}

TEST_CASE("the spool's size has a unit", "[options]") {
  CHECK(good({}).output.spool.bytes == 1U << 30);
  CHECK(good({"++spool", "0"}).output.spool.bytes == 0);
  CHECK(good({"++spool", "4096"}).output.spool.bytes == 4096);
  CHECK(good({"++spool", "3K"}).output.spool.bytes == 3072);
  CHECK(good({"++spool", "20M"}).output.spool.bytes == 20U << 20);
  CHECK(good({"++spool", "1024G"}).output.spool.bytes == std::uint64_t{1} << 40);
  for (const char* bad : {"1025G", "1g", "-1", "1.5G", "G", "1GB", "99999999999"})
    CHECK(failure({"++spool", bad}) == fmt::format("++spool cannot be '{}'", bad));
}

}  // namespace charmtree::output_options_test
