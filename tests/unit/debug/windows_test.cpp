// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/windows.hpp"

#include <catch2/catch.hpp>

namespace charmtree::windows_test {

namespace {

Windows prompts_of(std::uint32_t last) {
  Windows prompts{Windows::Of::prompts, "/bin/charmrun", "5ea8", {}, {"++debugger", "x"}};
  prompts.processes.add({0, last});
  return prompts;
}

}  // namespace

TEST_CASE("an xterm for each process", "[debug]") {
  const auto all = xterm_commands(prompts_of(1), "myterm");
  REQUIRE(all.size() == 2);
  CHECK(all[1] == WindowCommand{"myterm", "-title", "process 1", "-e", "/bin/charmrun", "++gdb", "5ea8:1",
                                "++debugger", "x"});
}

TEST_CASE("what processes print is in windows that stay", "[debug]") {
  Windows windows{Windows::Of::output, "/bin/charmrun", "5ea8", {}, {"++quiet"}};
  windows.processes.add({0, 1});
  const auto all = xterm_commands(windows, "xterm");
  REQUIRE(all.size() == 2);
  const WindowCommand& words = all[1];
  CHECK(WindowCommand{words.begin(), words.begin() + 6} ==
        WindowCommand{"xterm", "-title", "process 1", "-e", "sh", "-c"});
  CHECK((words[6].starts_with("\"$@\"; ") && words[6].ends_with("; read line") && words[7] == "sh"));
  CHECK(WindowCommand{words.begin() + 8, words.end()} ==
        WindowCommand{"/bin/charmrun", "++view", "5ea8:1", "++quiet"});
}

TEST_CASE("panes of tmux", "[debug]") {
  CHECK(tmux_command(prompts_of(1), Tmux::attached) ==
        WindowCommand{"tmux", "new-session", "-s", "charmtree-5ea8", "/bin/charmrun", "++gdb", "5ea8:0",
                      "++debugger", "x", ";", "split-window", "/bin/charmrun", "++gdb", "5ea8:1",
                      "++debugger", "x", ";", "select-layout", "tiled"});
  CHECK(tmux_command(prompts_of(0), Tmux::session)[2] == "-d");
  CHECK(tmux_command(prompts_of(0), Tmux::window)[1] == "new-window");
}

TEST_CASE("of more processes than anybody looks at all have one prompt", "[debug]") {
  const auto all = xterm_commands(prompts_of(16), "xterm");
  REQUIRE(all.size() == 1);
  CHECK(all[0][6] == "5ea8:0-16");
}

}  // namespace charmtree::windows_test
