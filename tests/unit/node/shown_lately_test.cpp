// SPDX-License-Identifier: Apache-2.0
#include "tree/node/shown_lately.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/small_world.hpp"
#include "tree/job/last_words.hpp"

namespace charmtree::shown_lately_test {

using namespace charmtree::test;
using proto::Stream;
using Words = std::vector<std::string>;

namespace {

wire::Output output(std::uint32_t process, const std::string& text, Stream stream = Stream::err) {
  return {process, static_cast<std::uint8_t>(stream), false, text};
}

}  // namespace

TEST_CASE("the last words of a process can be seen as long as not much was shown behind them",
          "[shown_lately]") {
  ShownLately shown;
  CHECK_FALSE(shown.has(1, {"b"}));
  shown.show(output(1, "a\n"));
  shown.show(output(1, "b\n"));
  CHECK(shown.has(1, {"a", "b"}));
  CHECK_FALSE(shown.has(1, {"a"}));  // there is more behind it, so it was another line
  CHECK_FALSE(shown.has(2, {"a", "b"}));
  shown.show(output(1, "on stdout\n", Stream::out));
  CHECK(shown.has(1, {"a", "b"}));
  for (std::size_t i = 3; i < ShownLately::kScreenful; ++i) shown.show(output(0, "x\n", Stream::out));
  CHECK(shown.has(1, {"a", "b"}));
  shown.show(output(0, "x\n", Stream::out));
  CHECK_FALSE(shown.has(1, {"a", "b"}));
  CHECK(shown.has(1, {"b"}));
}

TEST_CASE("of a long text the end counts", "[shown_lately]") {
  ShownLately shown;
  std::string text;
  for (int i = 1; i <= 500; ++i) text += std::to_string(i) + "\n";
  shown.show(output(3, text));
  CHECK(shown.has(3, proto::lines_of_last_words(text)));
  shown.show(output(3, std::string(5000, 'x')));
  CHECK(shown.has(3, proto::lines_of_last_words(text + std::string(5000, 'x'))));
}

TEST_CASE("last words are said where they cannot be seen", "[shown_lately]") {
  const proto::Ending why{.process = 1, .last_words = {"a", "b"}};
  const auto lines = [&](const ShownLately& shown) {
    proto::Actions out;
    shown.say_last_words(why, out);
    return out.size();
  };
  ShownLately shown;
  CHECK(lines(shown) == 3);
  shown.show(output(1, "a\nb\n"));
  CHECK(lines(shown) == 0);
  ShownLately elsewhere{false};
  elsewhere.show(output(1, "a\nb\n"));
  CHECK(lines(elsewhere) == 3);
}

}  // namespace charmtree::shown_lately_test
