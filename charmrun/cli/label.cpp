// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "tree/base/visible.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

Result<Label> Label::parse(std::string_view text, Use use) {
  const auto bad = [&](std::string_view why) {
    return Error{Errc::bad_input, Phase::options,
                 fmt::format("++{} cannot be '{}': {}", use.option, quotable(text), why),
                 fmt::format("%r is the process's number, %h its host, {}%s the stream, %% a percent sign",
                             use.codes.find('t') == std::string_view::npos ? "" : "%t the time, ")};
  };
  Label label;
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) label.parts_.push_back({0, std::exchange(plain, {})});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return bad("there is a newline in it");
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (++i == text.size()) return bad("it ends with a single %");
    if (text[i] == '%') {
      plain += '%';
      continue;
    }
    if (use.codes.find(text[i]) == std::string_view::npos)
      return bad(fmt::format("%{} means nothing", quotable(text.substr(i, 1))));
    end_plain();
    label.parts_.push_back({text[i], {}});
  }
  end_plain();
  return label;
}

bool Label::has(char code) const {
  return std::any_of(parts_.begin(), parts_.end(), [code](const Part& part) { return part.code == code; });
}

std::string Label::print(const LabelFacts& facts) const {
  std::string text;
  for (const Part& part : parts_) {
    switch (part.code) {
      case 'r':
        text += facts.processes;
        break;
      case 'h':
        text += visible(facts.hosts);
        break;
      case 't':
        text += print_time(facts.wall_ms);
        break;
      case 's':
        text += name_of(facts.stream);
        break;
      default:
        text += part.text;
    }
  }
  return text;
}

std::string_view name_of(proto::Stream stream) {
  return stream == proto::Stream::err ? "stderr" : "stdout";
}

std::string print_time(std::int64_t wall_ms) {
  const std::time_t seconds = wall_ms / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, wall_ms % 1000);
}

}  // namespace charmtree
