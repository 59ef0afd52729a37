// SPDX-License-Identifier: Apache-2.0
// The terminal that charmrun was started in, while its keys belong to a process of the job (++interactive):
// in raw mode, so that every key goes there. It is put back whatever becomes of us: by give_back(), by the
// destructor, by leave() before we are stopped, and if we crash or are killed by a child that waits for just
// that.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <functional>
#include <optional>

#include "tree/io/asio.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::io {

class UserTerminal {
public:
  /// `fd` may be anything: what is no terminal is left alone. `resized` is called from the loop with the new
  /// size of the window.
  UserTerminal(asio::io_context& io, int fd, std::function<void(wire::WindowSize)> resized);
  UserTerminal(const UserTerminal&) = delete;
  UserTerminal& operator=(const UserTerminal&) = delete;
  ~UserTerminal() { give_back(); }

  /// Raw from now on, as soon as we are in its foreground.
  void take();
  void give_back();
  /// Not raw until we are told to go on (SIGCONT).
  void leave();
  /// Lines need a carriage return to begin at the left.
  bool raw() const { return raw_; }

  /// Of the terminal that is our stdin, stdout or stderr.
  static std::optional<wire::WindowSize> size();

private:
  void watch_signals();
  void enter();
  bool in_foreground() const;

  int fd_;
  std::function<void(wire::WindowSize)> resized_;
  asio::signal_set signals_;
  bool is_terminal_, wanted_ = false, raw_ = false;
  termios before_{};
  pid_t keeper_ = -1;
  UniqueFd keeper_pipe_;
};

}  // namespace charmtree::io
