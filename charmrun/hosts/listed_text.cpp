// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/listed_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace charmtree {
namespace {

constexpr std::size_t kShownBefore = 60;  // bytes of a long line shown around the mistake
constexpr std::size_t kShownAfter = 40;

constexpr bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// The line, and a caret below the byte at `offset`.
std::string show_line(std::string_view line, std::size_t offset) {
  const std::size_t start = offset > kShownBefore ? offset - kShownBefore : 0;
  const std::size_t end = std::min(line.size(), offset + kShownAfter);
  std::string shown = start > 0 ? "..." : "";
  std::size_t caret = shown.size();
  for (std::size_t i = start; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte == '\t')
      shown += ' ';
    else
      shown += byte < 0x20 || byte == 0x7F ? '?' : line[i];
    if (i < offset && !is_continuation(line[i])) ++caret;
  }
  if (end < line.size()) shown += "...";
  return fmt::format("  {}\n  {:>{}}", shown, '^', caret + 1);
}

}  // namespace

Error error_at(std::string_view file, std::size_t number, std::string_view line, const Mistake& mistake) {
  return {Errc::bad_input, Phase::nodelist,
          fmt::format("{}:{}:{}: {}\n{}", file, number, mistake.offset + 1, mistake.message,
                      show_line(line, mistake.offset))};
}

std::optional<Mistake> find_control(std::string_view text) {
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
  if (control == text.end()) return std::nullopt;
  return Mistake{static_cast<std::size_t>(control - text.begin()),
                 fmt::format("control character 0x{:02x}", static_cast<unsigned char>(*control))};
}

std::string_view without_mark(std::string_view text) {
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

Result<void> read_lines(std::string_view text, std::string_view file,
                        const std::function<std::optional<Mistake>(std::string_view line)>& read) {
  if (text.size() > kMaxNodelistBytes)
    return Error{Errc::bad_input, Phase::nodelist,
                 fmt::format("{}: larger than {} MiB", file, kMaxNodelistBytes >> 20)};
  text = without_mark(text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto mistake =
        line.size() > kMaxNodelistLine
            ? Mistake{kMaxNodelistLine, fmt::format("longer than {} bytes", kMaxNodelistLine)}
            : read(line);
    if (mistake) return error_at(file, number, line, *mistake);
  }
  return {};
}

}  // namespace charmtree
