// SPDX-License-Identifier: Apache-2.0
// Who watches the children of this process. Every child that we start is announced here with a handler; its
// end is noticed through a pidfd and it is reaped exactly once, after which its pid means nothing any more.
// Until then the pid (and, as it leads a group of its own, the group) is safe to signal: the kernel does not
// reuse the number of an unreaped child. Orphans of our children that the kernel hands to us (subreaper) are
// reaped as they end; they have no handler.
//
// Nobody else in this process may wait for children or handle SIGCHLD.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tree/io/asio.hpp"

namespace charmtree::io {

struct ChildStatus {
  int code = 0;  // if signal is 0
  int signal = 0;
  bool core = false;
  bool unknown = false;  // of an adopted one: its parent took its status
};

class ChildWatch {
public:
  explicit ChildWatch(asio::io_context& io);

  using Handler = std::function<void(ChildStatus)>;
  /// What becomes of the rest of the group that a child leads when it ends.
  enum class Group : std::uint8_t {
    stays,
    fails,  // it is killed, unless the child has exited with 0
  };
  /// Calls `handler` once, from the event loop, when the child has ended and been reaped.
  void add(pid_t pid, Handler handler, Group group = Group::stays);
  /// Watches a descendant that is not our child, and calls `handler` once when it has ended. Its parent reaps
  /// it; its status shows until that is done. False: it is gone, or the kernel has no pidfds (before 5.3).
  bool adopt(pid_t pid, Handler handler);
  /// Forgets the handler; the child is still reaped.
  void forget(pid_t pid);
  /// Signals the process group that `pid` leads, or an adopted process itself. Does nothing unless `pid` is
  /// watched and unreaped.
  void signal_group(pid_t pid, int signal);
  bool watched(pid_t pid) const { return children_.contains(pid); }
  /// All watched children, without the adopted.
  std::vector<pid_t> pids() const;

private:
  struct Child {
    std::unique_ptr<asio::posix::stream_descriptor> pidfd;
    Handler handler;
    std::optional<std::uint64_t> adopted;  // when it was started
    Group group = Group::stays;
  };
  static void kill_group(pid_t pid);
  void wait(pid_t pid);
  void reap(pid_t pid);
  void wait_for_orphans();
  void reap_orphans();

  asio::io_context& io_;
  asio::signal_set child_ended_;
  std::map<pid_t, Child> children_;
};

}  // namespace charmtree::io
