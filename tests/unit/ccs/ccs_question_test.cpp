// SPDX-License-Identifier: Apache-2.0
#include "charmrun/ccs/ccs_question.hpp"

#include <catch2/catch.hpp>

namespace charmtree::ccs_question_test {

TEST_CASE("a question has a place, a handler, PEs and data") {
  const auto question = read_ccs_question({"host:1234", "ping", "3", "data"});
  REQUIRE(question);
  CHECK((question->host == "host" && question->port == "1234" && !question->data_from_stdin));
  CHECK(question->request == wire::CcsRequest{3, "ping", {}, "data"});
  CHECK(read_ccs_question({"h:1", "x"})->request == wire::CcsRequest{0, "x", {}, ""});
  CHECK(read_ccs_question({"h:1", "x", "all"})->request.pe == -1);
  CHECK(read_ccs_question({"h:1", "x", "3,1,2"})->request == wire::CcsRequest{-3, "x", {3, 1, 2}, ""});
  CHECK(read_ccs_question({"h:1", "x", "0", "-"})->data_from_stdin);
  CHECK(read_ccs_question({"h:1", std::string(31, 'n')}));
}

TEST_CASE("a question that cannot be asked is refused") {
  const auto words = GENERATE(values<std::vector<std::string>>({
      {},
      {"h:1"},
      {"h", "x"},
      {":1", "x"},
      {"h:", "x"},
      {"h:1", ""},
      {"h:1", std::string(32, 'n')},
      {"h:1", "x", ""},
      {"h:1", "x", "-1"},
      {"h:1", "x", "1,"},
      {"h:1", "x", "1,all"},
      {"h:1", "x", "4294967296"},
      {"h:1", "x", "0", "data", "more"},
  }));
  const auto question = read_ccs_question(words);
  REQUIRE_FALSE(question);
  CHECK((question.error().code == Errc::bad_input && !question.error().fix.empty()));
}

TEST_CASE("a reply is written as it is, and for people as text or as a dump") {
  const std::string bytes{"\0\1text", 6};
  CHECK(show_reply(bytes, false) == bytes);
  CHECK(show_reply("", true).empty());
  CHECK(show_reply("no newline", true) == "no newline\n");
  CHECK(show_reply("one\n", true) == "one\n");
  CHECK(show_reply(bytes + std::string(11, 'y'), true) ==
        "00000000  00 01 74 65 78 74 79 79 79 79 79 79 79 79 79 79  ..textyyyyyyyyyy\n"
        "00000010  79" +
            std::string(47, ' ') + "y\n");
}

}  // namespace charmtree::ccs_question_test
