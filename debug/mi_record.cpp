// SPDX-License-Identifier: Apache-2.0
#include "debug/mi_record.hpp"

#include <algorithm>
#include <charconv>

namespace charmtree::debug {

namespace {

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

/// Where the C string that begins with the quote at `from` ends: behind its last quote.
std::size_t string_end(std::string_view text, std::size_t from) {
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

/// `quoted`: with its quotes.
std::string unquoted(std::string_view quoted) {
  std::string text;
  if (quoted.size() < 2) return text;
  quoted = quoted.substr(1, quoted.size() - 2);
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      text += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    if (is_octal(c)) {
      unsigned value = 0;
      const std::size_t end = std::min(i + 3, quoted.size());
      for (; i < end && is_octal(quoted[i]); ++i) value = 8 * value + static_cast<unsigned>(quoted[i] - '0');
      --i;
      text += static_cast<char>(value);
    } else {
      text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'e' ? '\x1b' : c;
    }
  }
  return text;
}

/// The end of the value that begins at `from`: a string, a list or a tuple.
std::size_t value_end(std::string_view text, std::size_t from) {
  std::size_t depth = 0;
  for (std::size_t i = from; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      i = string_end(text, i);
      if (depth == 0) return i;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
    if (c == ',' && depth == 0) return i;
    ++i;
  }
  return text.size();
}

}  // namespace

std::string MiRecord::field(std::string_view key) const {
  for (std::size_t at = 0; at < fields.size();) {
    const std::size_t equals = fields.find('=', at);
    if (equals == std::string_view::npos) return {};
    const std::size_t begin = equals + 1, end = value_end(fields, begin);
    if (fields.substr(at, equals - at) == key && begin < end && fields[begin] == '"')
      return unquoted(fields.substr(begin, end - begin));
    at = end + 1;
  }
  return {};
}

MiRecord read_mi(std::string_view line) {
  MiRecord record;
  const auto digits = static_cast<std::size_t>(
      std::find_if(line.begin(), line.end(), [](char c) { return c < '0' || c > '9'; }) - line.begin());
  std::from_chars(line.data(), line.data() + digits, record.token);
  line.remove_prefix(digits);
  if (line.empty()) return record;
  using Kind = MiRecord::Kind;
  switch (line.front()) {
    case '^':
      record.kind = Kind::result;
      break;
    case '*':
      record.kind = Kind::exec;
      break;
    case '=':
      record.kind = Kind::notify;
      break;
    case '~':
      record.kind = Kind::console;
      break;
    case '&':
      record.kind = Kind::log;
      break;
    default:
      return record;
  }
  line.remove_prefix(1);
  if (record.kind == Kind::console || record.kind == Kind::log) {
    record.text = unquoted(line);
    return record;
  }
  const std::size_t comma = std::min(line.find(','), line.size());
  record.name = line.substr(0, comma);
  record.fields = line.substr(std::min(comma + 1, line.size()));
  return record;
}

}  // namespace charmtree::debug
