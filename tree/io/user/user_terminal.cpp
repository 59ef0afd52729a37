// SPDX-License-Identifier: Apache-2.0
#include "tree/io/user/user_terminal.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "tree/io/descriptors.hpp"
#include "tree/io/pseudo_terminal.hpp"
#include "tree/io/signals_blocked.hpp"

namespace charmtree::io {

namespace {

/// From the background, too: a change from there would stop us otherwise.
void set_modes(int fd, const termios& modes) {
  const SignalsBlocked blocked{SIGTTOU};
  ::tcsetattr(fd, TCSANOW, &modes);
}

/// The child that outlives us: it waits until the pipe's other end is gone. If nobody has written to it by
/// then, we are dead, and unless somebody else has the terminal (a shell with job control puts it right
/// itself), it is put back. Called with all signals blocked, as they stay: our handlers would write into
/// descriptors that are ours as well.
[[noreturn]] void keep(int fd, int pipe, const termios& modes) {
  constexpr int kTerminal = 0, kPipe = 1;
  ::dup2(fd, kTerminal);
  ::dup2(pipe, kPipe);
  close_from(kPipe + 1);
  char byte = 0;
  const ssize_t got = ::read(kPipe, &byte, 1);
  if (got == 0 && ::tcgetpgrp(kTerminal) == ::getpgrp()) ::tcsetattr(kTerminal, TCSANOW, &modes);
  ::_exit(0);
}

}  // namespace

UserTerminal::UserTerminal(asio::io_context& io, int fd, std::function<void(wire::WindowSize)> resized)
    : fd_(fd), resized_(std::move(resized)), signals_(io, SIGWINCH), is_terminal_(::isatty(fd) != 0) {
  if (is_terminal_) signals_.add(SIGCONT);
  watch_signals();
}

std::optional<wire::WindowSize> UserTerminal::size() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (const auto found = window_size(fd)) return found;
  }
  return {};
}

void UserTerminal::watch_signals() {
  signals_.async_wait([this](error_code ec, int signal) {
    if (ec) return;
    if (signal == SIGCONT && wanted_ != Taken::nothing) {
      enter();
    } else if (const auto now = size(); signal == SIGWINCH && now) {
      resized_(*now);
    }
    watch_signals();
  });
}

bool UserTerminal::in_foreground() const {
  return ::tcgetpgrp(fd_) == ::getpgrp();
}

void UserTerminal::take_output() {
  if (wanted_ == Taken::nothing && !given_back_) want(Taken::output);
}

void UserTerminal::take() {
  given_back_ = false;
  want(Taken::keys);
}

void UserTerminal::want(Taken what) {
  if (!is_terminal_) return;
  wanted_ = what;
  if (has_ != what) enter();
}

void UserTerminal::enter() {
  if (!in_foreground()) return;
  if (keeper_ < 0) {
    std::array<int, 2> ends{};
    if (::tcgetattr(fd_, &before_) != 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const SignalsBlocked all;
    keeper_ = ::fork();
    if (keeper_ == 0) {
      ::close(ends[1]);
      keep(fd_, ends[0], before_);
    }
    ::close(ends[0]);
    keeper_pipe_.reset(ends[1]);
    if (keeper_ < 0) return;
  }
  termios modes = before_;
  if (wanted_ == Taken::keys)
    ::cfmakeraw(&modes);
  else
    modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  set_modes(fd_, modes);
  has_ = wanted_;
}

void UserTerminal::leave() {
  if (std::exchange(has_, Taken::nothing) == Taken::nothing) return;
  if (in_foreground()) set_modes(fd_, before_);
}

void UserTerminal::give_back() {
  given_back_ = true;
  wanted_ = Taken::nothing;
  leave();
  if (keeper_ < 0) return;
  (void)!::write(keeper_pipe_.get(), "", 1);
  keeper_pipe_.reset();
  ::waitpid(std::exchange(keeper_, -1), nullptr, 0);
}

}  // namespace charmtree::io
