// SPDX-License-Identifier: Apache-2.0
// Where text for the user goes: stdout, stderr and the files of ++output, with their writers. Display says
// what is written and when; this class keeps its timer and hands its bytes to the writers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "charmrun/view/display.hpp"
#include "charmrun/view/while_here.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/user/output_files.hpp"
#include "tree/io/user/reader_watch.hpp"
#include "tree/io/user/user_streams.hpp"

namespace charmtree {

class UserOutput {
public:
  /// All are called from the event loop, and none after the UserOutput's end.
  struct Hooks {
    std::function<void()> written;                     // there may be room again
    std::function<void(std::uint32_t process)> shown;  // all of a process's output so far, which asked for it
    std::function<void()> nobody_reads;                // stdout, any more
    std::function<void(const std::string&)> complain;  // about the files
    std::function<bool()> is_terminal_raw;             // '\n' alone does not begin a line
    std::function<void()> hung_up = {};  // a pipe has lost its reader, and no nohup stands before
  };
  struct Streams {
    int out, err;  // descriptors, which outlive the object
  };
  /// `files`: processes have files, which `rules` name.
  UserOutput(io::asio::io_context& io, DisplayRules rules, bool files, Streams streams, Hooks hooks);

  void show(proto::Show action);
  void say(proto::Stream stream, std::string_view lines);
  /// See Display::progress.
  void progress(std::string_view line);
  /// To stdout, as they are.
  void pass(std::string bytes) { out_.write(std::move(bytes)); }
  /// `shown` is called when what was passed so far is written.
  void confirm_passed(std::uint32_t process) { out_.confirm(when_shown(process)); }
  /// Hosts' processes have files, though they may say nothing. Without files nothing is done.
  void name_files(std::span<const Host> hosts);

  /// A limit that is none: whoever reads may take his time.
  static constexpr Duration kNoHurry = 24h * 365;
  /// The end: all that the display has held is to be written. Files are, as far as `limit` allows.
  void finish(std::span<const Host> hosts, Duration limit);
  /// What is to go to stdout and stderr has been written; false: not within `limit`.
  bool drain(Duration limit) { return out_.drain(limit) && err_.drain(limit); }
  std::size_t backlog() const { return out_.backlog() + err_.backlog() + (files_ ? files_->backlog() : 0); }
  /// Why stdout could not be written, an errno; 0 if it could.
  int failure() const { return out_.failure(); }
  bool has_lost_files() const { return files_ && files_->failures() > 0; }

private:
  io::OutputWriter& writer(proto::Stream stream) { return stream == proto::Stream::err ? err_ : out_; }
  void write(DisplayWrites writes);
  std::function<void()> when_shown(std::uint32_t process) const;
  void await_display();
  void tell_file_failure();

  WhileHere here_;
  Hooks hooks_;
  io::OutputWriter out_, err_;
  std::optional<io::ReaderWatch> readers_;  // with Hooks::hung_up
  std::optional<io::OutputFiles> files_;    // ++output
  bool told_file_failure_ = false;
  Display display_;
  io::asio::steady_timer timer_;
  Instant due_ = kNever;  // when the timer is set to
};

}  // namespace charmtree
