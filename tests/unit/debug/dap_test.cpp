// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/dap.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace charmtree::dap_test {

using nlohmann::json;

namespace {

constexpr std::int64_t kPid = 4711;

std::string framed_json(const json& message) {
  const std::string text = message.dump();
  return fmt::format("Content-Length: {}\r\n\r\n{}", text.size(), text);
}
json content(const std::string& message) {
  return json::parse(message.substr(message.find("\r\n\r\n") + 4));
}
json attach_with(const json& arguments) {
  return {{"seq", 2}, {"type", "request"}, {"command", "attach"}, {"arguments", arguments}};
}

}  // namespace

TEST_CASE("an editor's request to attach gets the pid that it cannot know", "[dap]") {
  const json arguments = GENERATE(json{{"stopOnEntry", true}}, json{{"stopOnEntry", true}, {"pid", 0}},
                                  json{{"pid", ""}}, json{});
  DapRequests requests{kPid};
  DapRequests::Out out;
  requests.feed(framed_json(attach_with(arguments)), out);
  CHECK(content(out.to_adapter)["arguments"]["pid"] == kPid);
  CHECK(content(out.to_adapter)["seq"] == 2);
  CHECK(out.to_editor.empty());
}

TEST_CASE("a pid that an editor names stays, and so does everything else", "[dap]") {
  DapRequests requests{kPid};
  const json first = {{"seq", 1}, {"type", "request"}, {"command", "initialize"}};
  const json other = {{"seq", 3}, {"type", "response"}, {"command", "attach"}};
  const std::string all = framed_json(first) + "Content-Type: x\r\n" +
                          framed_json(attach_with({{"pid", 7}})) + framed_json(other);
  DapRequests::Out out;
  for (const char byte : all) requests.feed(std::string{byte}, out);
  CHECK(out.to_adapter == framed_json(first) + framed_json(attach_with({{"pid", 7}})) + framed_json(other));
}

TEST_CASE("an editor that wants to start the program is told what to do", "[dap]") {
  DapRequests requests{kPid};
  DapRequests::Out out;
  requests.feed(framed_json({{"seq", 9}, {"type", "request"}, {"command", "launch"}}), out);
  CHECK(out.to_adapter.empty());
  const json refused = content(out.to_editor);
  CHECK((refused["request_seq"] == 9 && refused["success"] == false && refused["command"] == "launch"));
  CHECK(refused["message"].get<std::string>().find("attach") != std::string::npos);
}

TEST_CASE("what is no message goes to the adapter, whose business it is", "[dap]") {
  const std::string text = GENERATE(std::string(5000, 'x'), "no head\r\n\r\n{}", "Content-Length: x\r\n\r\n",
                                    "Content-Length: 99999999999\r\n\r\n",
                                    "Content-Length: 3\r\n\r\n{]}Content-Length: 2\r\n\r\n[]");
  DapRequests requests{kPid};
  DapRequests::Out out;
  requests.feed(text, out);
  CHECK((out.to_adapter == text && out.to_editor.empty()));
}

}  // namespace charmtree::dap_test
