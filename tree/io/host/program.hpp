// SPDX-License-Identifier: Apache-2.0
// One process of the job as the shell sees it: its pipes and its end. Its stdout and stderr are always read
// until it has ended and both have been read empty once; a grandchild that keeps them open longer is nobody
// we wait for. One that another process forked writes to that one's pipes and has none of its own.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/io/wide_pipe.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class Program : public std::enable_shared_from_this<Program> {
public:
  using Sink = std::function<void(proto::Event)>;
  /// The read ends of its output pipes; `input`: the write end of its stdin, or none.
  /// With a terminal: `out` and `input` are its master, there is no `err`, and `terminal` is its slave.
  /// `out_slave`: that of the terminal which is stdout alone, if it is one; `out` is its master.
  struct Pipes {
    UniqueFd out, err, input, terminal, out_slave;
    bool input_is_copy = false;   // others wait for it: what it closes it has taken
    bool input_is_typed = false;  // taken is what has been read
  };
  /// `watch` must outlive the object. Call start() once.
  Program(asio::io_context& io, ChildWatch& watch, Sink sink, std::uint32_t process, pid_t pid, Pipes pipes);

  /// `group`: of the processes that it starts in turn.
  void start(ChildWatch::Group group = ChildWatch::Group::stays);
  /// Instead of start(), for a process that is not our child; false: it cannot be watched.
  bool start_adopted();
  pid_t pid() const { return pid_; }
  void signal(int signal) { watch_.signal_group(pid_, signal); }
  void pause_reading(bool paused);
  /// Reads now what its pipes hold.
  void drain_output();
  /// Queues bytes for its stdin; `end` closes it behind them. On a terminal it does what the key for that
  /// does, again whenever the process has read everything.
  void write_input(const std::string& bytes, bool end);
  /// Takes back what has not been read and closes its stdin.
  std::string recall_input();
  /// Its terminal; -1: it has none.
  int terminal() const { return terminal_.get(); }
  /// No event is put out any more.
  void detach();

private:
  struct Output {
    Output(asio::io_context& io, proto::Stream which, UniqueFd end)
        : stream(which), fd(io), rest(io), open(static_cast<bool>(end)) {
      if (!end) return;
      fd.assign(end.release());
      fd.non_blocking(true);
    }
    proto::Stream stream;
    asio::posix::stream_descriptor fd;
    asio::steady_timer rest;
    Instant read_at{};
    WidePipe pipe;
    bool waiting = false, open;
  };
  void read(Output& output);
  void read_later(Output& output);
  std::size_t read_once(Output& output);
  void ended(ChildStatus status);
  void pump_input();
  void close_input();
  void input_taken();
  void watch_reader(Duration look);
  UniqueFd reader_of_input();
  void end_terminal();

  ChildWatch& watch_;
  Sink sink_;
  std::uint32_t process_;
  pid_t pid_;
  Output out_, err_;
  asio::posix::stream_descriptor input_;
  UniqueFd input_back_, terminal_;  // input_back_: to take it back from, when it has ended
  UniqueFd out_slave_;              // as long as we hold it, its master never reads as ended
  asio::steady_timer end_timer_, reader_timer_;
  std::string pending_input_;
  std::size_t untold_input_ = 0;  // in the pipe, and maybe read since
  char last_input_ = '\n';
  bool input_waiting_ = false, input_end_ = false, input_is_copy_ = false, input_is_typed_ = false;
  bool paused_ = false;
};

}  // namespace charmtree::io
