// SPDX-License-Identifier: Apache-2.0
// Whole lines may wait to be folded. Whatever must not wait (partial lines, prompts) first takes along what
// its process has waiting, so that nothing of one process changes its order.
#include "charmrun/view/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/wire/fold.hpp"

namespace charmtree {

using proto::Stream;

namespace {

constexpr std::string_view kToLineStart = "\r\033[K";  // ECMA-48: erase in line

Stream stream_of(const proto::Show& show) {
  return static_cast<Stream>(show.output.stream);
}

}  // namespace

Display::Display(DisplayRules rules)
    : rules_(std::move(rules)),
      screens_{Screen{rules_.screens[0]}, Screen{rules_.screens[1]}},
      fold_(rules_.fold_window) {}

void Display::hand_out(Stream to, Ink ink, DisplayWrites& out) {
  if (ink.bytes.empty() && ink.receipts.empty()) return;
  if (progressing_ && to == target(Stream::err)) progress({}, out);
  out.push_back({to, std::move(ink)});
}

void Display::progress(std::string_view line, DisplayWrites& out) {
  const Stream to = target(Stream::err);
  if (rules_.screens[1] != ScreenKind::terminal || !screen(to).at_line_start()) return;
  if (!progressing_ && line.empty()) return;
  progressing_ = !line.empty();
  out.push_back({to, {std::string{kToLineStart}.append(line), {}}});
}

std::int64_t Display::wall_ms(Instant instant) const {
  using std::chrono::milliseconds;
  return rules_.wall_ms + std::chrono::duration_cast<milliseconds>(instant.time_since_epoch()).count();
}

std::string Display::label(const Label& label, const proto::Show& show, Instant now) const {
  if (label.empty()) return {};
  const Instant read = show.output.read == kNever ? now : show.output.read;
  return label.print({std::to_string(show.output.process), show.host, wall_ms(read), stream_of(show)});
}

std::string Display::fold_label(const FoldedLine& line) const {
  std::vector<std::string> hosts;
  if (rules_.fold_label.names_hosts()) {
    for (const auto& [first, last] : line.processes.ranges()) {
      for (auto at = hosts_.lower_bound(first); at != hosts_.end() && at->first <= last; ++at) {
        if (std::find(hosts.begin(), hosts.end(), at->second) == hosts.end()) hosts.push_back(at->second);
      }
    }
  }
  return rules_.fold_label.print(
      {line.processes.print(), wire::fold_names(hosts), wall_ms(line.read), line.stream});
}

/// At least as wide as that of a line of all processes.
void Display::widen(std::uint32_t processes) {
  const std::string all = fmt::format("0-{}", std::max(processes, 2U) - 1);
  label_width_ = std::max(label_width_, rules_.fold_label.print({all, {}, 0, Stream::out}).size());
}

std::string Display::aligned(std::string label) const {
  if (label.size() < label_width_) label.resize(label_width_, ' ');
  return label;
}

bool Display::folds(const proto::Show& show) const {
  return rules_.fold_above && show.processes > *rules_.fold_above && !show.raw;
}

void Display::show(proto::Show show, Instant now, DisplayWrites& out) {
  if (!rules_.file.empty()) return to_file(std::move(show), now, out);
  if (folds(show)) to_fold(show, now, out);
  to_screen(std::move(show), now, out);
}

/// Takes the whole lines from the output; what is left of it belongs on the screen, behind them.
void Display::to_fold(proto::Show& show, Instant now, DisplayWrites& out) {
  wire::Output& output = show.output;
  const std::uint32_t process = output.process;
  const std::pair source{process, stream_of(show)};
  widen(show.processes);
  if (rules_.fold_label.names_hosts()) hosts_.insert_or_assign(process, show.host);
  if (open_.contains(source)) {
    const std::size_t newline = output.text.find('\n');
    if (newline != std::string::npos) {
      proto::Show rest_of_line = show;
      rest_of_line.output.text.resize(newline + 1);
      rest_of_line.output.tail = wire::Tail::waited;
      rest_of_line.output.wants_receipt = false;
      fold_.flush(process, unfolded_);  // of its other stream
      unfold(now, out);
      to_screen(std::move(rest_of_line), now, out);
      output.text.erase(0, newline + 1);
      open_.erase(source);
    }
  }
  if (!open_.contains(source)) {
    const std::size_t whole = output.text.rfind('\n') + 1;  // 0 if there is none
    const Instant read = output.read == kNever ? now : output.read;
    fold_.add({process, source.second, std::string_view{output.text}.substr(0, whole), read}, now,
              show.processes, unfolded_);
    output.text.erase(0, whole);
  }
  const bool ended = output.tail == wire::Tail::ended;
  if (!output.text.empty() || output.wants_receipt || ended) fold_.flush(process, unfolded_);
  if (ended)
    open_.erase(source);
  else if (!output.text.empty())
    open_.insert(source);
  unfold(now, out);
}

void Display::unfold(Instant now, DisplayWrites& out) {
  std::vector<std::string> labels;
  for (const FoldedLine& line : unfolded_) {
    labels.push_back(fold_label(line));
    if (labels.back().size() <= kWidestLabel) label_width_ = std::max(label_width_, labels.back().size());
  }
  std::array<Ink, 2> inks;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    FoldedLine& line = unfolded_[i];
    const Stream to = target(line.stream);
    screen(to).put({line.processes.lowest(), line.stream, std::move(line.text), wire::Tail::waited, false,
                    aligned(std::move(labels[i]))},
                   now, inks[to == Stream::err ? 1 : 0]);
  }
  unfolded_.clear();
  hand_out(Stream::out, std::move(inks[0]), out);
  hand_out(Stream::err, std::move(inks[1]), out);
}

void Display::to_screen(proto::Show show, Instant now, DisplayWrites& out) {
  wire::Output& output = show.output;
  const Stream to = target(stream_of(show));
  Ink ink;
  if (show.raw) {
    ink.bytes = std::move(output.text);
    if (output.wants_receipt) ink.receipts.push_back(output.process);
    return hand_out(to, std::move(ink), out);
  }
  const bool nothing = output.text.empty() && !output.wants_receipt && output.tail != wire::Tail::ended;
  if (nothing) return;
  std::string before =
      folds(show) ? aligned(label(rules_.fold_label, show, now)) : label(rules_.label, show, now);
  screen(to).put({output.process, stream_of(show), std::move(output.text), output.tail, output.wants_receipt,
                  std::move(before)},
                 now, ink);
  hand_out(to, std::move(ink), out);
}

std::string Display::file_of(std::uint32_t process, std::string_view host, Stream stream) const {
  std::string name{host};
  std::replace(name.begin(), name.end(), '/', '_');
  return rules_.file.print({std::to_string(process), name, 0, stream});
}

void Display::to_file(proto::Show show, Instant now, DisplayWrites& out) {
  wire::Output& output = show.output;
  DisplayWrite write{stream_of(show), {}, file_of(output.process, show.host, stream_of(show))};
  if (rules_.label.empty()) {
    write.ink.bytes = std::move(output.text);
    if (output.wants_receipt) write.ink.receipts.push_back(output.process);
  } else {
    const auto [file, fresh] = files_.try_emplace(write.file, ScreenKind::own);
    std::string before = label(rules_.label, show, now);
    file->second.put({output.process, stream_of(show), std::move(output.text), output.tail,
                      output.wants_receipt, std::move(before)},
                     now, write.ink);
  }
  out.push_back(std::move(write));
}

void Display::name_files(std::span<const Host> hosts, DisplayWrites& out) const {
  if (rules_.file.empty()) return;
  for (const Host& host : hosts) {
    for (std::uint32_t i = 0; i < host.processes; ++i) {
      const std::uint32_t process = host.first_process + i;
      out.push_back({Stream::out, {}, file_of(process, host.name, Stream::out)});
      if (std::string other = file_of(process, host.name, Stream::err); other != out.back().file)
        out.push_back({Stream::err, {}, std::move(other)});
    }
  }
}

void Display::finish_fold(Instant now, DisplayWrites& out) {
  fold_.finish(unfolded_);
  unfold(now, out);
}

void Display::say(Stream stream, std::string_view lines, Instant now, DisplayWrites& out) {
  finish_fold(now, out);
  Ink ink;
  screen(target(stream)).say(lines, now, ink);
  hand_out(target(stream), std::move(ink), out);
}

void Display::tick(Instant now, DisplayWrites& out) {
  fold_.tick(now, unfolded_);
  unfold(now, out);
  for (const Stream stream : {Stream::out, Stream::err}) {
    Ink ink;
    screen(stream).tick(now, ink);
    hand_out(stream, std::move(ink), out);
  }
}

Instant Display::next_deadline() const {
  return earlier(fold_.next_deadline(), earlier(screens_[0].next_deadline(), screens_[1].next_deadline()));
}

void Display::finish(Instant now, DisplayWrites& out) {
  progress({}, out);
  finish_fold(now, out);
  for (const Stream stream : {Stream::out, Stream::err}) {
    Ink ink;
    screen(stream).finish(now, ink);
    hand_out(stream, std::move(ink), out);
  }
}

}  // namespace charmtree
