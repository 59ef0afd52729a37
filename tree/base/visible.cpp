// SPDX-License-Identifier: Apache-2.0
#include "tree/base/visible.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace charmtree {

namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

/// Length of the well-formed UTF-8 sequence (beyond ASCII) at the start of `text`; 0: there is none. Rejects
/// overlong forms, surrogates and what lies above U+10FFFF (Unicode 15, table 3-7).
std::size_t utf8_sequence(std::string_view text) {
  const auto tail = [&](std::size_t i) { return (byte_at(text, i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte_at(text, 0);
  const unsigned second = byte_at(text, 1);
  if (!tail(1)) return 0;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (!tail(2)) return 0;
  if (lead == 0xE0) return second >= 0xA0 ? 3 : 0;
  if (lead == 0xED) return second < 0xA0 ? 3 : 0;
  if (lead > 0xE0 && lead <= 0xEF) return 3;
  if (!tail(3)) return 0;
  if (lead == 0xF0) return second >= 0x90 ? 4 : 0;
  if (lead == 0xF4) return second < 0x90 ? 4 : 0;
  return lead > 0xF0 && lead < 0xF4 ? 4 : 0;
}

/// C1 controls: some terminals obey them in this form, too.
bool is_c1(std::string_view sequence) {
  return sequence.size() == 2 && byte_at(sequence, 0) == 0xC2 && byte_at(sequence, 1) < 0xA0;
}

/// Of a well-formed sequence. U+200E-F, U+2028-E, U+2066-9 and U+061C separate lines or turn the direction of
/// writing; U+FFFE-F are no characters, and not allowed in XML.
bool misleads(std::string_view sequence) {
  const unsigned first = byte_at(sequence, 0), second = byte_at(sequence, 1), third = byte_at(sequence, 2);
  if (is_c1(sequence)) return true;
  if (first == 0xD8) return second == 0x9C;
  if (first == 0xEF) return second == 0xBF && third >= 0xBE;
  if (first != 0xE2) return false;
  if (second == 0x80) return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

void add_visible(std::string_view bytes, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    out += '\\';
    if (c == '\n' || c == '\r') {
      out += c == '\n' ? 'n' : 'r';
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'x', kDigits[byte >> 4], kDigits[byte & 0xFU]};
  }
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7F';
}

/// Length of the "select graphic rendition" (ECMA-48, 8.3.117) at the start of `text`; 0: there is none.
std::size_t colour(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Length of what may stand in a line as it is; 0: the first byte may not. Text in another encoding than
/// UTF-8 may, but for the bytes that are C1 controls in all of them.
std::size_t harmless(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return is_control(text[0]) ? colour(text) : 1;
  const std::size_t length = utf8_sequence(text);
  if (length == 0) return first >= 0xA0 ? 1 : 0;
  return is_c1(text.substr(0, length)) ? 0 : length;
}

/// Without the end of the line.
std::string_view body(std::string_view line) {
  if (line.ends_with("\r\n"))
    line.remove_suffix(2);
  else if (line.ends_with('\n'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const bool ascii = byte_at(text, 0) < 0x80;
    const std::size_t length = ascii ? 1 : std::max<std::size_t>(utf8_sequence(text), 1);
    const std::string_view sequence = text.substr(0, length);
    const bool bad = ascii ? is_control(text[0]) : length == 1 || misleads(sequence);
    if (bad)
      add_visible(sequence, out);
    else
      out += sequence;
    text.remove_prefix(length);
  }
  return out;
}

namespace {

/// Sixteen bytes of text, looked at together, as every byte behind a label is: vectors of GCC and Clang, on
/// any machine.
using Bytes = unsigned char __attribute__((vector_size(16)));
using SignedBytes = signed char __attribute__((vector_size(16)));
using Words = std::uint64_t __attribute__((vector_size(16)));
constexpr std::size_t kBlock = 8 * sizeof(Bytes);

/// All bits are set in those bytes that are plain. One is added: then all signed bytes above ' ' are what is
/// printable in ASCII, and '\t' and '\n' differ in their lowest bit only.
Bytes plain_bytes(const char* text) {
  Bytes bytes;
  std::memcpy(&bytes, text, sizeof bytes);
  bytes += 1;
  return Bytes(SignedBytes(bytes) > ' ') | Bytes((bytes | 1) == '\n' + 1);
}

bool is_plain_block(const char* text) {
  Bytes plain = plain_bytes(text);
  for (std::size_t at = sizeof(Bytes); at < kBlock; at += sizeof(Bytes)) plain &= plain_bytes(text + at);
  const auto words = Words(plain);
  return (words[0] & words[1]) == UINT64_MAX;
}

}  // namespace

bool is_plain(std::string_view text) {
  for (; text.size() >= kBlock; text.remove_prefix(kBlock)) {
    if (!is_plain_block(text.data())) return false;
  }
  std::array<char, kBlock> rest;
  rest.fill(' ');
  std::copy(text.begin(), text.end(), rest.begin());
  return is_plain_block(rest.data());
}

bool leaves_line(std::string_view line) {
  line = body(line);
  if (is_plain(line)) return false;
  while (!line.empty()) {
    const std::size_t length = harmless(line);
    if (length == 0) return true;
    line.remove_prefix(length);
  }
  return false;
}

std::string kept_in_line(std::string_view line, std::string_view label) {
  std::string_view rest = body(line);
  const std::string_view end = line.substr(rest.size());
  std::string out;
  while (!rest.empty()) {
    const std::size_t length = harmless(rest);
    if (length > 0)
      out += rest.substr(0, length);
    else if (rest[0] == '\r')
      (out += '\r') += label;
    else
      add_visible(rest.substr(0, 1), out);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out += end;
}

}  // namespace charmtree
