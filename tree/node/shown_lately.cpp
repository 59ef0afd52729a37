// SPDX-License-Identifier: Apache-2.0
#include "tree/node/shown_lately.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tree/clients/client_server.hpp"
#include "tree/job/last_words.hpp"

namespace charmtree {

/// Of a long text only the end counts, as of a screen. What is no whole line counts as one.
void ShownLately::show(const wire::Output& output) {
  if (!is_seen_ || output.text.empty()) return;
  constexpr std::size_t kMost = proto::LastWords::kMaxBytes;
  const std::string_view end =
      std::string_view{output.text}.substr(output.text.size() - std::min(output.text.size(), kMost));
  const bool err = static_cast<proto::Stream>(output.stream) == proto::Stream::err;
  const auto newlines = static_cast<std::size_t>(std::count(end.begin(), end.end(), '\n'));
  pieces_.push_back({output.process, std::string{err ? end : ""}, std::max<std::size_t>(newlines, 1)});
  lines_ += pieces_.back().lines;
  while (lines_ - pieces_.front().lines >= kScreenful) {
    lines_ -= pieces_.front().lines;
    pieces_.pop_front();
  }
}

bool ShownLately::has(std::uint32_t process, const std::vector<std::string>& last_words) const {
  std::string shown;
  for (const Piece& piece : pieces_) {
    if (piece.process == process) shown += piece.end;
  }
  const std::vector<std::string> lines = proto::lines_of_last_words(shown);
  return lines.size() >= last_words.size() &&
         std::equal(last_words.rbegin(), last_words.rend(), lines.rbegin());
}

void ShownLately::say_last_words(const proto::Ending& why, proto::Actions& out) const {
  if (why.last_words.empty() || has(*why.process, why.last_words)) return;
  out.push_back(proto::Say{proto::Tone::info, fmt::format("process {} last wrote on stderr:", *why.process)});
  for (const std::string& line : why.last_words) out.push_back(proto::Say{proto::Tone::info, "  | " + line});
}

}  // namespace charmtree
