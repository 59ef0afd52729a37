// SPDX-License-Identifier: Apache-2.0
// The terminal that charmrun was started in, while its keys belong to a process of the job (++interactive):
// in raw mode, so that every key goes there. It is put back whatever becomes of us: by give_back(), by the
// destructor, by leave() before we are stopped, and if we crash or are killed by a child that waits for just
// that.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstdint>
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

  /// Shows what it is given as it is, as soon as we are in its foreground: a process may have written before
  /// anybody reads keys. Not again once it has been given back.
  void take_output();
  /// Raw from now on, as soon as we are in its foreground.
  void take();
  void give_back();
  /// Not raw until we are told to go on (SIGCONT).
  void leave();
  /// Lines need a carriage return to begin at the left.
  bool raw() const { return has_ != Taken::nothing; }

  /// Of the terminal that is our stdin, stdout or stderr.
  static std::optional<wire::WindowSize> size();

private:
  enum class Taken : std::uint8_t { nothing, output, keys };

  void watch_signals();
  void want(Taken what);
  void enter();
  bool in_foreground() const;

  int fd_;
  std::function<void(wire::WindowSize)> resized_;
  asio::signal_set signals_;
  bool is_terminal_, given_back_ = false;
  Taken wanted_ = Taken::nothing, has_ = Taken::nothing;
  termios before_{};
  pid_t keeper_ = -1;
  UniqueFd keeper_pipe_;
};

}  // namespace charmtree::io
