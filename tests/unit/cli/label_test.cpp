// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/label.hpp"

#include <catch2/catch.hpp>

namespace charmtree::label_test {

TEST_CASE("a label says number, host, stream and what stands between them", "[label]") {
  const auto label = Label::parse("<%r@%h %s 100%%> ");
  REQUIRE(label);
  CHECK(label->print({"0-3,7", "node1", 0, proto::Stream::err}) == "<0-3,7@node1 stderr 100%> ");
  CHECK(label->print({"4", "node2", 0, proto::Stream::out}) == "<4@node2 stdout 100%> ");
  CHECK((label->names_processes() && label->names_hosts()));
  const auto plain = Label::parse("> ");
  REQUIRE(plain);
  CHECK_FALSE(plain->names_processes());
  CHECK(Label::parse("")->empty());
}

TEST_CASE("a time is a local one with its date and milliseconds", "[label]") {
  const auto label = Label::parse("%t");
  REQUIRE(label);
  const std::string text = label->print({"4", "node2", 1'700'000'000'007, proto::Stream::out});
  CHECK(text.size() == std::string_view{"2023-11-14T22:13:20.007"}.size());
  CHECK(text.starts_with("2023-11-1"));
  CHECK(text.ends_with(":20.007"));
}

TEST_CASE("a label that means nothing is refused with what would", "[label]") {
  const auto what = [](std::string_view text) {
    const auto label = Label::parse(text);
    return label ? std::string{} : label.error().what;
  };
  CHECK(what("%x ") == "++label-format cannot be '%x ': %x means nothing");
  CHECK(what("50%") == "++label-format cannot be '50%': it ends with a single %");
  CHECK(what("a\nb") == "++label-format cannot be 'a?b': there is a newline in it");
  CHECK(Label::parse("%t", {"output", "rhs"}).error().what == "++output cannot be '%t': %t means nothing");
  CHECK(Label::parse("%").error().fix.starts_with("%r is the process's number"));
}

}  // namespace charmtree::label_test
