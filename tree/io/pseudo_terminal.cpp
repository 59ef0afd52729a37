// SPDX-License-Identifier: Apache-2.0
#include "tree/io/pseudo_terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace charmtree::io {

namespace {

/// `set`: changes the modes that the kernel gives a terminal.
Result<PseudoTerminal> open_pair(const std::function<void(termios&)>& set) {
  const auto failed = [] {
    return Error{Errc::spawn_failed, Phase::spawn, fmt::format("cannot make a terminal: {}", strerror(errno)),
                 "is /dev/pts mounted there? see kernel.pty.max and ulimit -n"};
  };
  PseudoTerminal made;
  made.master.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 64> name{};
  if (!made.master || ::grantpt(made.master.get()) != 0 || ::unlockpt(made.master.get()) != 0 ||
      ::ptsname_r(made.master.get(), name.data(), name.size()) != 0) {
    return failed();
  }
  made.slave.reset(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios modes{};
  if (!made.slave || ::tcgetattr(made.slave.get(), &modes) != 0) return failed();
  set(modes);
  if (::tcsetattr(made.slave.get(), TCSANOW, &modes) != 0) return failed();
  return made;
}

}  // namespace

Result<PseudoTerminal> open_pseudo_terminal(const wire::Terminal& terminal) {
  auto made = open_pair([&](termios& modes) {
    modes.c_iflag |= IUTF8;
    if (terminal.typed_into) return;
    modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    modes.c_oflag &= ~static_cast<tcflag_t>(ONLCR);
  });
  if (made) set_window_size(made->master.get(), terminal.size);
  return made;
}

Result<PseudoTerminal> open_output_terminal() {
  return open_pair([](termios& modes) { ::cfmakeraw(&modes); });
}

std::optional<wire::WindowSize> window_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return wire::WindowSize{size.ws_row, size.ws_col};
}

void set_window_size(int fd, wire::WindowSize size) {
  const winsize wanted{size.rows, size.columns, 0, 0};
  ::ioctl(fd, TIOCSWINSZ, &wanted);
}

std::optional<char> end_of_input(int slave) {
  pollfd readable{slave, POLLIN, 0};
  termios modes{};
  if (::poll(&readable, 1, 0) != 0 || ::tcgetattr(slave, &modes) != 0) return {};
  return static_cast<char>(modes.c_cc[VEOF]);
}

/// Also a line that is not complete. The key that ends the input leaves a NUL.
std::string take_back_input(int slave) {
  termios before{};
  if (::tcgetattr(slave, &before) != 0) return {};
  termios modes = before;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  modes.c_cc[VMIN] = modes.c_cc[VTIME] = 0;
  ::tcsetattr(slave, TCSANOW, &modes);
  std::string input;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(slave, buffer.data(), buffer.size())) > 0;)
    input.append(buffer.data(), static_cast<std::size_t>(got));
  ::tcsetattr(slave, TCSANOW, &before);
  std::erase(input, '\0');
  return input;
}

}  // namespace charmtree::io
