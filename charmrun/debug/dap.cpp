// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/dap.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

#include "tree/base/visible.hpp"

namespace charmtree {

namespace {

using SortedJson = nlohmann::json;  // an adapter may send an object of very many members

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

std::string framed(const SortedJson& message) {
  const std::string text = message.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
  return fmt::format("{} {}{}{}", kLength, text.size(), kHeadEnd, text);
}

/// Quotes the beginning of what should be a message.
Error no_message(std::string_view sender, std::string_view bytes) {
  constexpr std::size_t kShown = 80;
  return {Errc::bad_peer, Phase::run,
          fmt::format("the {} has sent what is no message of the Debug Adapter Protocol: '{}'", sender,
                      visible(bytes.substr(0, kShown))),
          "the session is over"};
}

bool is_missing(const SortedJson& arguments, const char* key) {
  const auto found = arguments.find(key);
  return found == arguments.end() || *found == 0 || *found == "" || found->is_null();
}

/// The response that refuses a request.
SortedJson refusal_of(const SortedJson& request, const char* why) {
  const auto member = [&](const char* key) { return request.value(key, SortedJson{}); };
  return {{"seq", 0},
          {"type", "response"},
          {"request_seq", member("seq")},
          {"success", false},
          {"command", member("command")},
          {"message", why},
          {"body", {{"error", {{"id", 1}, {"format", why}, {"showUser", true}}}}}};
}

/// Returns the request with what the adapter must know: the pid to attach to, and that it may send no
/// requests.
void complete(SortedJson& request, std::int64_t pid) {
  SortedJson& arguments = request["arguments"];
  if (!arguments.is_object()) arguments = SortedJson::object();
  if (request["command"] == "attach" && is_missing(arguments, "pid")) arguments["pid"] = pid;
  if (request["command"] != "initialize") return;
  for (const char* ability : {"supportsRunInTerminalRequest", "supportsStartDebuggingRequest"})
    arguments[ability] = false;
}

/// True if the text has objects and arrays within each other to a depth that no message needs: they are
/// written by recursion. Brackets in strings count, too.
bool is_deep(std::string_view text) {
  constexpr std::ptrdiff_t kMostDepth = 1000;
  std::ptrdiff_t depth = 0;
  return std::any_of(text.begin(), text.end(), [&](char c) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    return depth > kMostDepth;
  });
}

/// Hands each message of the stream to `take`, with its type. `sender`: for the error.
template <class Take>
Result<void> each_message(DapStream& stream, std::string_view bytes, std::string_view sender, Take take) {
  stream.feed(bytes);
  for (;;) {
    const auto text = stream.next();
    if (!text) return no_message(sender, text.error().what);
    if (!*text) return {};
    SortedJson message = is_deep(**text) ? SortedJson{} : SortedJson::parse(**text, nullptr, false);
    const SortedJson type = message.is_object() ? message.value("type", SortedJson{}) : SortedJson{};
    if (type != "request" && type != "response" && type != "event") return no_message(sender, **text);
    take(message, type == "request");
  }
}

}  // namespace

std::vector<std::string> dap_adapter(const std::string& debugger) {
  return {"sh", "-c", debugger.empty() ? kFindAdapter : "exec " + debugger};
}

Result<std::optional<std::string>> DapStream::next() {
  const std::size_t end = bytes_.find(kHeadEnd);
  if (end == std::string::npos && bytes_.size() <= kMostHead) return std::optional<std::string>{};
  const auto length = length_in(std::string_view{bytes_}.substr(0, end));
  if (end == std::string::npos || end > kMostHead || !length || *length > kMostMessage)
    return Error{Errc::bad_peer, Phase::run, bytes_, {}};
  const std::size_t begin = end + kHeadEnd.size();
  if (bytes_.size() - begin < *length) return std::optional<std::string>{};
  std::optional<std::string> text = bytes_.substr(begin, *length);
  bytes_.erase(0, begin + *length);
  return text;
}

Result<void> DapSession::from_editor(std::string_view bytes, Out& out) {
  constexpr const char* kAttach = "charmrun ++dap attaches to a process that runs: \"request\": \"attach\"";
  return each_message(editor_, bytes, "editor", [&](SortedJson& message, bool is_request) {
    const SortedJson command = is_request ? message.value("command", SortedJson{}) : SortedJson{};
    if (command == "launch") {
      out.to_editor += framed(refusal_of(message, kAttach));
      return;
    }
    if (command == "attach" || command == "initialize") complete(message, pid_);
    out.to_adapter += framed(message);
  });
}

Result<void> DapSession::from_adapter(std::string_view bytes, Out& out) {
  constexpr const char* kNoRequests = "charmrun ++dap lets no adapter start programs where the editor is";
  return each_message(adapter_, bytes, "debug adapter", [&](SortedJson& message, bool is_request) {
    if (is_request)
      out.to_adapter += framed(refusal_of(message, kNoRequests));
    else
      out.to_editor += framed(message);
  });
}

}  // namespace charmtree
