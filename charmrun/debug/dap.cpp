// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/dap.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace charmtree {

namespace {

using nlohmann::json;

/// gdb speaks the protocol from version 14 on; lldb's adapter had another name before version 18.
constexpr const char* kFindAdapter = R"(
version=$(gdb --version 2>/dev/null | sed -n '1s/.* \([0-9][0-9]*\).*/\1/p')
[ "${version:-0}" -ge 14 ] && exec gdb -q -i dap
for each in lldb-dap $(seq -f lldb-dap-%g 30 -1 18) lldb-vscode $(seq -f lldb-vscode-%g 17 -1 11); do
  command -v $each >/dev/null && exec $each
done
echo "$(uname -n): no debugger here speaks DAP: install gdb 14 or lldb (lldb-dap), or name one by ++debugger" >&2
exit 127
)";

constexpr std::string_view kHeadEnd = "\r\n\r\n", kLength = "Content-Length:";
constexpr std::size_t kMostHead = 4096, kMostMessage = 16U << 20;

/// The number behind Content-Length, if the head has one.
std::optional<std::size_t> length_in(std::string_view head) {
  const std::size_t at = head.find(kLength);
  if (at == std::string_view::npos) return {};
  std::string_view digits = head.substr(at + kLength.size());
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  std::size_t length = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  return read.ec == std::errc{} ? std::optional{length} : std::nullopt;
}

std::string framed(std::string_view text) {
  return fmt::format("{} {}{}{}", kLength, text.size(), kHeadEnd, text);
}

bool is_missing(const json& arguments, const char* key) {
  const auto found = arguments.find(key);
  return found == arguments.end() || *found == 0 || *found == "" || found->is_null();
}

json refusal_of(const json& request) {
  constexpr const char* kWhy = "charmrun ++dap attaches to a process that runs: \"request\": \"attach\"";
  return {{"seq", 0},
          {"type", "response"},
          {"request_seq", request.value("seq", 0)},
          {"success", false},
          {"command", "launch"},
          {"message", kWhy},
          {"body", {{"error", {{"id", 1}, {"format", kWhy}, {"showUser", true}}}}}};
}

}  // namespace

std::vector<std::string> dap_adapter(const std::string& debugger) {
  return {"sh", "-c", debugger.empty() ? kFindAdapter : "exec " + debugger};
}

void DapRequests::feed(std::string_view bytes, Out& out) {
  bytes_ += bytes;
  while (!passes_all_) {
    const std::size_t end = bytes_.find(kHeadEnd);
    if (end == std::string::npos && bytes_.size() <= kMostHead) return;
    const auto length = length_in(std::string_view{bytes_}.substr(0, end));
    if (end == std::string::npos || !length || *length > kMostMessage) {
      passes_all_ = true;
      break;
    }
    const std::size_t begin = end + kHeadEnd.size();
    if (bytes_.size() - begin < *length) return;
    message(std::string_view{bytes_}.substr(begin, *length), out);
    bytes_.erase(0, begin + *length);
  }
  out.to_adapter += bytes_;
  bytes_.clear();
}

void DapRequests::message(std::string_view text, Out& out) const {
  json request = json::parse(text, nullptr, false);
  const bool is_request = request.is_object() && request.value("type", json{}) == "request";
  const json command = is_request ? request.value("command", json{}) : json{};
  if (command == "launch") {
    out.to_editor += framed(refusal_of(request).dump());
    return;
  }
  if (command != "attach") {
    out.to_adapter += framed(text);
    return;
  }
  json& arguments = request["arguments"];
  if (!arguments.is_object()) arguments = json::object();
  if (is_missing(arguments, "pid")) arguments["pid"] = pid_;
  out.to_adapter += framed(request.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace charmtree
