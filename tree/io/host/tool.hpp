// SPDX-License-Identifier: Apache-2.0
// The tool that somebody runs beside the processes of this host (`charmrun ++exec`, ++dap), with its stdin,
// stdout and stderr at the other end of the tree. It is left to end when the object goes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "debug/events.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/host/piped_process.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class Tool {
public:
  /// Who has left a tool that reads gives it so long to end by itself.
  static constexpr Duration kGrace = 2s;
  /// What it finds in its environment: the pids and the numbers of the processes of this host that it is for.
  static constexpr std::string_view kPids = "CHARMTREE_PIDS", kNumbers = "CHARMTREE_NUMBERS";

  using Say = std::function<void(debug::ToolSpoke)>;
  /// `say` is called from the loop, never from within a call. `begin` is the first order of a session;
  /// `directory` is that of its processes.
  Tool(asio::io_context& io, ChildWatch& watch, Say say, const debug::ToolOrder& begin,
       const std::vector<pid_t>& pids, const std::string& directory);
  ~Tool();
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  void order(const debug::ToolOrder& order);

private:
  void start(const debug::ToolOrder& begin, const std::vector<pid_t>& pids, const std::string& directory);
  void say(debug::ToolSaid::What what, std::string bytes, std::uint32_t number = 0);
  void heard(debug::ToolSaid::What what, std::string_view bytes);

  asio::io_context& io_;
  Say say_;
  std::uint32_t session_, process_, window_;
  std::uint64_t on_its_way_ = 0;  // bytes of output that have not been taken
  std::shared_ptr<PipedProcess> process_here_;
  std::shared_ptr<bool> is_here_ = std::make_shared<bool>(true);
};

}  // namespace charmtree::io
