// SPDX-License-Identifier: Apache-2.0
// The modes of the user's terminal, on a real one that a child has in its foreground.
#include "tree/io/user/user_terminal.hpp"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

namespace charmtree::user_terminal_test {

using namespace charmtree::io;

namespace {

/// 'L': keys come in lines and line ends are made of what is written, 'o': lines, but what is written is
/// shown as it is, 'r': raw, '?': something else.
char modes_of(int terminal) {
  termios modes{};
  if (::tcgetattr(terminal, &modes) != 0) return '?';
  const bool lines = (modes.c_lflag & (ICANON | ISIG)) == (ICANON | ISIG);
  const bool adorned = (modes.c_oflag & OPOST) != 0;
  if (lines) return adorned ? 'L' : 'o';
  return adorned ? '?' : 'r';
}

/// The modes after each step.
std::string steps() {
  asio::io_context io;
  UserTerminal terminal{io, STDIN_FILENO, [](wire::WindowSize) {}};
  std::string seen(1, modes_of(STDIN_FILENO));
  const auto note = [&] { seen += modes_of(STDIN_FILENO); };
  terminal.take_output();
  note();
  terminal.take();
  note();
  terminal.take_output();  // what comes while the keys are taken changes nothing
  note();
  terminal.give_back();
  note();
  terminal.take_output();
  note();
  terminal.take();  // of the next run
  note();
  terminal.leave();
  note();
  return seen;
}

}  // namespace

TEST_CASE("output is shown as it is before keys are taken, and not when they are the user's again") {
  int master = -1;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::forkpty(&master, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string seen = steps();
    ::_exit(::write(ends[1], seen.data(), seen.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::array<char, 64> text{};
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::waitpid(child, nullptr, 0);
  CHECK(std::string(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0) == "LorrLLrL");
  CHECK(modes_of(master) == 'L');
  ::close(ends[0]);
  ::close(master);
}

}  // namespace charmtree::user_terminal_test
