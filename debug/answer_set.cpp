// SPDX-License-Identifier: Apache-2.0
#include "debug/answer_set.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "tree/wire/words.hpp"

namespace charmtree::debug {

namespace {

bool is_of_name(char c) {
  return is_hex_digit(c) || (c >= 'g' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/// A number that begins at `from`: its end; `from` if there is none. Digits of a name are no number.
std::size_t number_end(std::string_view text, std::size_t from) {
  if (!is_digit(text[from]) || (from > 0 && is_of_name(text[from - 1]))) return from;
  std::size_t end = from + 1;
  const bool hex = text[from] == '0' && end < text.size() && text[end] == 'x';
  if (hex) ++end;
  while (end < text.size() && (hex ? is_hex_digit(text[end]) : is_digit(text[end]))) ++end;
  const bool has_fraction = !hex && end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]);
  if (has_fraction)
    for (++end; end < text.size() && is_digit(text[end]);) ++end;
  const bool is_name = end < text.size() && is_of_name(text[end]);
  return is_name || end - from > kMostDebugNumber ? from : end;
}

/// A minus sign is of the number unless it stands between two things.
bool has_sign(std::string_view text, std::size_t from) {
  return from > 0 && text[from - 1] == '-' && (from == 1 || text[from - 2] == ' ' || text[from - 2] == '=');
}

struct Parted {
  std::string form;
  std::vector<std::string> numbers;
};
/// Numbers behind the first `most` are text.
Parted part(std::string_view text, std::size_t most = kMostDebugSpans) {
  Parted parted;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = parted.numbers.size() < most ? number_end(text, i) : i;
    if (end == i) {
      parted.form += text[i] == DebugAnswer::kHole ? '?' : text[i];
      ++i;
      continue;
    }
    const bool sign = has_sign(text, i) && end - i < kMostDebugNumber;
    if (sign) parted.form.pop_back();
    parted.form += DebugAnswer::kHole;
    parted.numbers.emplace_back(text.substr(sign ? i - 1 : i, end - i + (sign ? 1 : 0)));
    i = end;
  }
  return parted;
}

long double value_of(std::string_view number) {
  if (number.starts_with("0x")) {
    std::uint64_t value = 0;
    std::from_chars(number.data() + 2, number.data() + number.size(), value, 16);
    return static_cast<long double>(value);
  }
  const auto read = [&](auto value) -> std::optional<long double> {
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || end != number.data() + number.size()) return {};
    return static_cast<long double>(value);
  };
  if (const auto whole = read(std::int64_t{})) return *whole;
  if (const auto whole = read(std::uint64_t{})) return *whole;
  return read(double{}).value_or(0);  // what is out of its range, too
}

void widen(NumberSpan& span, const std::string& low, const std::string& high) {
  if (value_of(low) < value_of(span.low)) span.low = low;
  if (value_of(high) > value_of(span.high)) span.high = high;
}

/// The form with these numbers in its holes, and a hole wherever one differs.
DebugAnswer answer_of(AnswerSet::Kind kind, const std::string& form, const std::vector<NumberSpan>& spans,
                      const wire::ProcessGroup& group) {
  DebugAnswer answer{kind, {}, {}, group.processes(), group.which()};
  auto span = spans.begin();
  for (const char c : form) {
    if (c != DebugAnswer::kHole) {
      answer.text += c;
    } else if (const NumberSpan& next = *span++; next.low == next.high) {
      answer.text += next.low;
    } else {
      answer.text += c;
      answer.spans.push_back(next);
    }
  }
  return answer;
}

std::size_t size_of(const DebugAnswer& answer) {
  std::size_t size = answer.text.size();
  for (const NumberSpan& span : answer.spans) size += span.low.size() + span.high.size();
  return size;
}

std::vector<NumberSpan> spans_of(const std::vector<std::string>& numbers) {
  std::vector<NumberSpan> spans;
  spans.reserve(numbers.size());
  for (const std::string& number : numbers) spans.push_back({number, number});
  return spans;
}

}  // namespace

void AnswerSet::add(Kind kind, std::string_view text, std::uint32_t process) {
  add(kind, text, {{process, process}});
}

void AnswerSet::add(Kind kind, std::string_view text, const Ranges& processes) {
  constexpr std::string_view kCut = " ...";
  if (processes.empty()) return;
  std::string kept{text.substr(0, kMostDebugText - kCut.size())};
  if (kept.size() < text.size()) kept += kCut;
  Parted parted = part(kept);
  put(kind, parted.form, std::move(parted.numbers), static_cast<std::uint32_t>(wire::size_of(processes)),
      processes);
}

/// Where some numbers differ already, the others of that text are put beside them.
void AnswerSet::add(const DebugAnswers& more) {
  left_out_ += more.left_out;
  for (const DebugAnswer& answer : more.answers) {
    if (answer.spans.empty()) {
      Parted parted = part(answer.text);
      put(answer.kind, parted.form, std::move(parted.numbers), answer.processes, answer.which);
      continue;
    }
    std::string form;
    std::vector<NumberSpan> spans;
    auto given = answer.spans.begin();
    for (std::size_t from = 0; from <= answer.text.size();) {
      const std::size_t hole = std::min(answer.text.find(DebugAnswer::kHole, from), answer.text.size());
      const std::size_t taken = std::min(spans.size(), kMostDebugSpans);
      Parted parted = part(std::string_view{answer.text}.substr(from, hole - from), kMostDebugSpans - taken);
      form += parted.form;
      for (NumberSpan& span : spans_of(parted.numbers)) spans.push_back(std::move(span));
      if (hole < answer.text.size()) {
        form += DebugAnswer::kHole;
        spans.push_back(*given++);
      }
      from = hole + 1;
    }
    put_spans(answer.kind, form, spans, answer.processes, answer.which);
  }
}

AnswerSet::Alike& AnswerSet::place_of(Kind kind, const std::string& form) {
  const auto [place, is_new] = alike_.try_emplace({kind, form});
  if (is_new) place->second.since = ++came_;
  return place->second;
}

void AnswerSet::put(Kind kind, const std::string& form, Numbers numbers, std::uint32_t processes,
                    const Ranges& which) {
  Alike& alike = place_of(kind, form);
  if (!alike.spans.empty()) return put_spans(kind, form, spans_of(numbers), processes, which);
  alike.each[std::move(numbers)].add(processes, which);
  if (apart_ || alike.each.size() <= kFew) return;
  for (const auto& [each, group] : std::exchange(alike.each, {}))
    put_spans(kind, form, spans_of(each), group.processes(), group.which());
}

void AnswerSet::put_spans(Kind kind, const std::string& form, const std::vector<NumberSpan>& spans,
                          std::uint32_t processes, const Ranges& which) {
  Alike& alike = place_of(kind, form);
  if (alike.spans.empty()) {
    alike.spans = spans;
    for (const auto& [each, group] : std::exchange(alike.each, {}))
      put_spans(kind, form, spans_of(each), group.processes(), group.which());
  }
  for (std::size_t i = 0; i < spans.size() && i < alike.spans.size(); ++i)
    widen(alike.spans[i], spans[i].low, spans[i].high);
  alike.all.add(processes, which);
}

DebugAnswers AnswerSet::take() {
  struct Placed {
    std::uint64_t since;
    DebugAnswer answer;
  };
  std::vector<Placed> all;
  for (const auto& [key, alike] : alike_) {
    if (!alike.spans.empty())
      all.push_back({alike.since, answer_of(key.first, key.second, alike.spans, alike.all)});
    for (const auto& [numbers, group] : alike.each)
      all.push_back({alike.since, answer_of(key.first, key.second, spans_of(numbers), group)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    const std::uint32_t first = a.answer.which.front().first, other = b.answer.which.front().first;
    return first != other ? first < other : a.since < b.since;
  });
  DebugAnswers taken{{}, left_out_};
  std::size_t size = 0;
  for (Placed& each : all) {
    size += size_of(each.answer);
    if (taken.answers.size() < kMostDebugAnswers && size <= kMostDebugTexts)
      taken.answers.push_back(std::move(each.answer));
    else
      ++taken.left_out;
  }
  alike_.clear();
  left_out_ = 0;
  return taken;
}

std::string shown(const DebugAnswer& answer) {
  std::string text;
  auto span = answer.spans.begin();
  for (const char c : answer.text) {
    if (c != DebugAnswer::kHole) {
      text += c;
    } else {
      text += '{' + span->low + ".." + span->high + '}';
      ++span;
    }
  }
  return text;
}

}  // namespace charmtree::debug
