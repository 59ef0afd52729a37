// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/user_output.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "tree/io/clock.hpp"
#include "tree/io/write_error.hpp"

namespace charmtree {

namespace {

std::string with_carriage_returns(const std::string& lines) {
  std::string text;
  for (const char c : lines) {
    if (c == '\n' && !text.ends_with('\r')) text += '\r';
    text += c;
  }
  return text;
}

}  // namespace

UserOutput::UserOutput(io::asio::io_context& io, DisplayRules rules, bool files, Streams streams, Hooks hooks)
    : hooks_(std::move(hooks)),
      out_(io, streams.out, here_.guarded(hooks_.written), here_.guarded(hooks_.nobody_reads)),
      err_(io, streams.err, here_.guarded(hooks_.written), [] {}),
      display_(std::move(rules)),
      timer_(io) {
  if (hooks_.hung_up && !io::ignores_hang_up())
    readers_.emplace(io, std::vector{streams.out, streams.err}, here_.guarded(hooks_.hung_up));
  if (files)
    files_.emplace(io, here_.guarded(hooks_.written), here_.guarded([this] { tell_file_failure(); }));
}

void UserOutput::show(proto::Show action) {
  if (static_cast<proto::Stream>(action.output.stream) == proto::Stream::terminal)
    return pass(std::move(action.output.text));
  DisplayWrites writes;
  display_.show(std::move(action), io::now(), writes);
  write(std::move(writes));
}

void UserOutput::say(proto::Stream stream, std::string_view lines) {
  DisplayWrites writes;
  display_.say(stream, lines, io::now(), writes);
  write(std::move(writes));
}

void UserOutput::progress(std::string_view line) {
  DisplayWrites writes;
  display_.progress(line, writes);
  write(std::move(writes));
}

void UserOutput::write(DisplayWrites writes) {
  for (DisplayWrite& each : writes) {
    std::string& bytes = each.ink.bytes;
    const bool to_file = !each.file.empty();
    if (!to_file && hooks_.is_terminal_raw()) bytes = with_carriage_returns(bytes);
    if (to_file)
      files_->write(std::move(each.file), std::move(bytes));
    else
      writer(each.stream).write(std::move(bytes));
    for (const std::uint32_t process : each.ink.receipts) {
      if (to_file)
        files_->confirm(when_shown(process));
      else
        writer(each.stream).confirm(when_shown(process));
    }
  }
  await_display();
}

std::function<void()> UserOutput::when_shown(std::uint32_t process) const {
  return here_.guarded([this, process] { hooks_.shown(process); });
}

void UserOutput::await_display() {
  const Instant due = display_.next_deadline();
  if (due == due_) return;
  due_ = due;
  timer_.cancel();
  if (due == kNever) return;
  timer_.expires_at(io::to_steady(due));
  timer_.async_wait([this](io::error_code ec) {
    if (ec) return;
    due_ = kNever;
    DisplayWrites writes;
    display_.tick(io::now(), writes);
    write(std::move(writes));
  });
}

void UserOutput::name_files(std::span<const Host> hosts) {
  if (!files_) return;
  DisplayWrites writes;
  display_.name_files(hosts, writes);
  write(std::move(writes));
}

/// The first is said at once, how many others there were at the end.
void UserOutput::tell_file_failure() {
  const auto failure = files_->first_failure();
  if (!failure || std::exchange(told_file_failure_, true)) return;
  hooks_.complain("++output: cannot write " + failure->path + ": " + io::write_error(failure->error) +
                  "; the job goes on without it");
}

void UserOutput::finish(std::span<const Host> hosts, Duration limit) {
  DisplayWrites writes;
  display_.finish(io::now(), writes);
  write(std::move(writes));
  if (!files_) return;
  name_files(hosts);
  if (!files_->drain(limit)) return;
  tell_file_failure();
  if (const std::size_t others = files_->failures(); others > 1)
    hooks_.complain("++output: " + std::to_string(others - 1) + " more could not be written");
}

}  // namespace charmtree
