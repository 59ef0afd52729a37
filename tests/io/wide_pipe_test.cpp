// SPDX-License-Identifier: Apache-2.0
#include "tree/io/wide_pipe.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tree/io/surroundings.hpp"

namespace charmtree::wide_pipe_test {

using namespace charmtree::io;

TEST_CASE("a busy pipe is widened once, and only so many are", "[wide_pipe]") {
  const auto size = [](const Pipe& pipe) { return ::fcntl(pipe.read_end.get(), F_GETPIPE_SZ); };
  std::vector<Pipe> pipes;
  for (int i = 0; i < WidePipe::kMost + 1; ++i) pipes.push_back(open_pipe().value());
  const int usual = size(pipes[0]);
  REQUIRE(usual < WidePipe::kBytes);
  const auto widen_all = [&](std::vector<WidePipe>& wide) {
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i].widen(pipes[i].read_end.get());
  };
  {
    std::vector<WidePipe> wide(pipes.size());
    widen_all(wide);
    widen_all(wide);
    CHECK(size(pipes.front()) == WidePipe::kBytes);
    CHECK(size(pipes[WidePipe::kMost - 1]) == WidePipe::kBytes);
    CHECK(size(pipes.back()) == usual);
  }
  WidePipe next;  // the others are gone
  next.widen(pipes.back().read_end.get());
  CHECK(size(pipes.back()) == WidePipe::kBytes);
  WidePipe{}.widen(-1);  // no pipe
}

}  // namespace charmtree::wide_pipe_test
