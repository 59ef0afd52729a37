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
  DapSession session{kPid};
  DapSession::Out out;
  REQUIRE(session.from_editor(framed_json(attach_with(arguments)), out).ok());
  CHECK(content(out.to_adapter)["arguments"]["pid"] == kPid);
  CHECK(content(out.to_adapter)["seq"] == 2);
  CHECK(out.to_editor.empty());
}

TEST_CASE("a pid that an editor names stays, and so does everything else", "[dap]") {
  DapSession session{kPid};
  const json first = {{"seq", 1}, {"type", "request"}, {"command", "threads"}};
  const json other = {{"seq", 3}, {"type", "response"}, {"command", "attach"}};
  const std::string all = framed_json(first) + "Content-Type: x\r\n" +
                          framed_json(attach_with({{"pid", 7}})) + framed_json(other);
  DapSession::Out out;
  for (const char byte : all) REQUIRE(session.from_editor(std::string{byte}, out).ok());
  CHECK(out.to_adapter == framed_json(first) + framed_json(attach_with({{"pid", 7}})) + framed_json(other));
}

TEST_CASE("an editor that wants to start the program is told what to do", "[dap]") {
  DapSession session{kPid};
  DapSession::Out out;
  REQUIRE(
      session.from_editor(framed_json({{"seq", 9}, {"type", "request"}, {"command", "launch"}}), out).ok());
  CHECK(out.to_adapter.empty());
  const json refused = content(out.to_editor);
  CHECK((refused["request_seq"] == 9 && refused["success"] == false && refused["command"] == "launch"));
  CHECK(refused["message"].get<std::string>().find("attach") != std::string::npos);
}

TEST_CASE("an adapter is told that it may send no requests", "[dap]") {
  const json arguments = {
      {"adapterID", "x"}, {"supportsRunInTerminalRequest", true}, {"supportsStartDebuggingRequest", true}};
  DapSession session{kPid};
  DapSession::Out out;
  const json request = {{"seq", 1}, {"type", "request"}, {"command", "initialize"}, {"arguments", arguments}};
  REQUIRE(session.from_editor(framed_json(request), out).ok());
  const json passed = content(out.to_adapter)["arguments"];
  CHECK(passed["supportsRunInTerminalRequest"] == false);
  CHECK(passed["supportsStartDebuggingRequest"] == false);
  CHECK(passed["adapterID"] == "x");
}

TEST_CASE("no request of an adapter reaches the editor, and each is answered with a failure", "[dap]") {
  const char* command = GENERATE("runInTerminal", "startDebugging", "anything");
  DapSession session{kPid};
  DapSession::Out out;
  const json request = {
      {"seq", 7}, {"type", "request"}, {"command", command}, {"arguments", {{"args", {"sh"}}}}};
  const json event = {{"seq", 8}, {"type", "event"}, {"event", "stopped"}};
  const json response = {{"seq", 9}, {"type", "response"}, {"request_seq", 1}, {"success", true}};
  const std::string all = framed_json(request) + framed_json(event) + framed_json(response);
  for (const char byte : all) REQUIRE(session.from_adapter(std::string{byte}, out).ok());
  CHECK(out.to_editor == framed_json(event) + framed_json(response));
  const json refused = content(out.to_adapter);
  CHECK((refused["type"] == "response" && refused["request_seq"] == 7 && refused["success"] == false));
  CHECK(refused["command"] == command);
}

TEST_CASE("a message that two readers could understand differently leaves with one meaning", "[dap]") {
  const std::string text = R"({"type":"request","command":"runInTerminal","type":"event","event":"x"})";
  DapSession session{kPid};
  DapSession::Out out;
  const std::string two_lengths =
      fmt::format("Content-Length: {}\r\nContent-Length: 3\r\n\r\n{}", text.size(), text);
  REQUIRE(session.from_adapter(two_lengths, out).ok());
  CHECK(out.to_editor.find("request") == std::string::npos);
}

TEST_CASE("what is no message of the protocol ends the session", "[dap]") {
  const std::string deep = std::string(2000, '[') + std::string(2000, ']');
  const std::string text =
      GENERATE_COPY(std::string(5000, 'x'), "no head\r\n\r\n{}", "Content-Length: x\r\n\r\n",
                    "Content-Length: 99999999999\r\n\r\n", "Content-Length: 3\r\n\r\n{]}",
                    "Content-Length: 2\r\n\r\n[]", "Content-Length: 15\r\n\r\n{\"type\":\"call\"}",
                    fmt::format("Content-Length: {}\r\n\r\n{}", deep.size(), deep));
  DapSession session{kPid};
  DapSession::Out out;
  CHECK_FALSE(session.from_adapter(text, out).ok());
  CHECK_FALSE(session.from_editor(text, out).ok());
  CHECK((out.to_adapter.empty() && out.to_editor.empty()));
}

}  // namespace charmtree::dap_test
