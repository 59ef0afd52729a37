// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/own_line.hpp"

#include "tree/base/visible.hpp"

namespace charmtree {

std::string own_line(proto::Tone tone, std::string_view text) {
  const std::string_view head = tone == proto::Tone::error ? "charmrun: error: " : "charmrun: ";
  return std::string{head}.append(visible(text)) += '\n';
}

std::string error_lines(const Error& error) {
  const std::string text = error.fix.empty() ? error.what : error.what + "; " + error.fix;
  if (error.phase != Phase::nodelist) return own_line(proto::Tone::error, text);
  std::size_t end = text.find('\n');
  std::string lines = own_line(proto::Tone::error, text.substr(0, end));
  while (end != std::string::npos) {
    const std::size_t begin = end + 1;
    end = text.find('\n', begin);
    const std::string line = visible(text.substr(begin, end == std::string::npos ? end : end - begin));
    lines.append(line.starts_with("  ") ? "" : "  ").append(line) += '\n';
  }
  return lines;
}

}  // namespace charmtree
