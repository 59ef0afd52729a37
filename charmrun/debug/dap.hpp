// SPDX-License-Identifier: Apache-2.0
// `charmrun ++dap`: an editor's debugger, by the Debug Adapter Protocol, for a process of a job. The adapter
// runs on the process's host and talks with the editor by itself; what the editor cannot know is added here:
// the pid. Pure. Source: microsoft.github.io/debug-adapter-protocol, base protocol and the request attach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree {

/// What is run on the host: `debugger`, if one is named; else a gdb or an lldb that speaks the protocol.
std::vector<std::string> dap_adapter(const std::string& debugger);

/// What an editor says, message by message.
class DapRequests {
public:
  explicit DapRequests(std::int64_t pid) : pid_(pid) {}

  struct Out {
    std::string to_adapter, to_editor;
  };
  /// A request to attach gets the pid, if it has none; one to launch is refused. What is no message, or very
  /// long, is passed on as it is.
  void feed(std::string_view bytes, Out& out);

private:
  void message(std::string_view json, Out& out) const;

  std::int64_t pid_;
  std::string bytes_;
  bool passes_all_ = false;
};

}  // namespace charmtree
