// SPDX-License-Identifier: Apache-2.0
// `charmrun ++dap`: an editor's debugger, by the Debug Adapter Protocol, for a process of a job. The adapter
// runs on the process's host. Charmrun adds what the editor cannot know, the pid, and lets no request of the
// adapter through: runInTerminal and startDebugging would run commands where the editor is. Every message is
// read and written again, so both ends see what was checked here. Pure.
// Source: microsoft.github.io/debug-adapter-protocol, base protocol, initialize and attach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree {

/// What is run on the host: `debugger`, if one is named; else a gdb or an lldb that speaks the protocol.
std::vector<std::string> dap_adapter(const std::string& debugger);

/// The messages in a stream of bytes.
class DapStream {
public:
  /// Bytes of a head, and of a message.
  static constexpr std::size_t kMostHead = 4096, kMostMessage = 16U << 20;

  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// Returns the text of the next message; nothing: it is not all there yet. Error bad_peer: the bytes are no
  /// message of the protocol.
  Result<std::optional<std::string>> next();

private:
  std::string bytes_;
};

/// What goes from an editor to its adapter, and back.
class DapSession {
public:
  explicit DapSession(std::int64_t pid) : pid_(pid) {}

  struct Out {
    std::string to_adapter, to_editor;
  };
  /// Adds the pid to a request to attach that has none, answers a request to launch with a failure, and
  /// clears in `initialize` what would let the adapter send requests. Passes on all other messages. Error
  /// bad_peer: what the editor sends is no message.
  Result<void> from_editor(std::string_view bytes, Out& out);
  /// Passes on responses and events, and answers each request with a failure. Error bad_peer: what the
  /// adapter sends is no message.
  Result<void> from_adapter(std::string_view bytes, Out& out);

private:
  std::int64_t pid_;
  DapStream editor_, adapter_;
};

}  // namespace charmtree
