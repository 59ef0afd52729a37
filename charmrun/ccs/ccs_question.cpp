// SPDX-License-Identifier: Apache-2.0
#include "charmrun/ccs/ccs_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tree/base/visible.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

Result<void> read_pe(const std::string& word, wire::CcsRequest& request) {
  if (word == "all") {
    request.pe = -1;
    return {};
  }
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    std::int32_t pe = 0;
    const auto [stop, error] = std::from_chars(word.data() + at, word.data() + end, pe);
    if (error != std::errc{} || stop != word.data() + end || pe < 0)
      return Error{Errc::bad_input, Phase::options, fmt::format("'{}' is no PE", quotable(word)),
                   "a number from 0, several with commas, or all"};
    request.pes.push_back(static_cast<std::uint32_t>(pe));
    at = end + 1;
  }
  request.pe = request.pes.size() == 1 ? static_cast<std::int32_t>(request.pes.front())
                                       : -static_cast<std::int32_t>(request.pes.size());
  if (request.pe >= 0) request.pes.clear();
  return {};
}

}  // namespace

Result<CcsQuestion> read_ccs_question(const std::vector<std::string>& words) {
  const Error usage{Errc::bad_input, Phase::options, "HOST:PORT and a handler are needed",
                    "charmrun ++ccs HOST:PORT HANDLER [PE [DATA]]"};
  if (words.size() < 2 || words.size() > 4) return usage;
  CcsQuestion question;
  const std::size_t colon = words[0].rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == words[0].size()) return usage;
  question.host = words[0].substr(0, colon);
  question.port = words[0].substr(colon + 1);
  question.request.handler = words[1];
  if (words[1].empty() || words[1].size() >= wire::kCcsHandler) {
    return Error{Errc::bad_input, Phase::options,
                 fmt::format("'{}' is no handler's name", quotable(words[1])), "they have 1 to 31 bytes"};
  }
  if (words.size() > 2) {
    if (auto read = read_pe(words[2], question.request); !read) return read.error();
  }
  question.data_from_stdin = words.size() > 3 && words[3] == "-";
  if (words.size() > 3 && !question.data_from_stdin) question.request.data = words[3];
  return question;
}

std::string show_reply(std::string reply, bool on_terminal) {
  if (!on_terminal || reply.empty()) return reply;
  constexpr std::size_t kRow = 16;
  std::string one_line = reply;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  if (visible(one_line) == one_line) return reply.back() == '\n' ? reply : reply + "\n";
  std::string dump;
  for (std::size_t at = 0; at < reply.size(); at += kRow) {
    const std::string row = reply.substr(at, kRow);
    dump += fmt::format("{:08x} ", at);
    for (const char c : row) dump += fmt::format(" {:02x}", static_cast<unsigned char>(c));
    dump.append(3 * (kRow - row.size()) + 2, ' ');
    for (const char c : row) dump.push_back(c >= ' ' && c < '\x7f' ? c : '.');
    dump.push_back('\n');
  }
  return dump;
}

}  // namespace charmtree
