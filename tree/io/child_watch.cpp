// SPDX-License-Identifier: Apache-2.0
#include "tree/io/child_watch.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tree/io/process_tree.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

ChildWatch::ChildWatch(asio::io_context& io) : io_(io), child_ended_(io, SIGCHLD) {
  wait_for_orphans();
}

void ChildWatch::add(pid_t pid, Handler handler, Group group) {
  Child& child = children_[pid];
  child.handler = std::move(handler);
  child.group = group;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;  // kernel before 5.3: SIGCHLD finds it
  child.pidfd = std::make_unique<asio::posix::stream_descriptor>(io_, fd);
  wait(pid);
}

bool ChildWatch::adopt(pid_t pid, Handler handler) {
  UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  const ProcessStat stat = stat_of(pid);
  if (!pidfd || stat.parent == 0 || watched(pid)) return false;
  Child& child = children_[pid];
  child.handler = std::move(handler);
  child.adopted = stat.started;
  child.pidfd = std::make_unique<asio::posix::stream_descriptor>(io_, pidfd.release());
  wait(pid);
  return true;
}

void ChildWatch::forget(pid_t pid) {
  const auto it = children_.find(pid);
  if (it != children_.end()) it->second.handler = nullptr;
}

void ChildWatch::signal_group(pid_t pid, int signal) {
  const auto it = children_.find(pid);
  if (it == children_.end()) return;
  if (it->second.adopted)
    ::syscall(SYS_pidfd_send_signal, it->second.pidfd->native_handle(), signal, nullptr, 0);
  else
    ::kill(-pid, signal);
}

std::vector<pid_t> ChildWatch::pids() const {
  std::vector<pid_t> all;
  for (const auto& [pid, child] : children_) {
    if (!child.adopted) all.push_back(pid);
  }
  return all;
}

void ChildWatch::wait(pid_t pid) {
  children_.at(pid).pidfd->async_wait(asio::posix::stream_descriptor::wait_read, [this, pid](error_code ec) {
    if (!ec) reap(pid);
  });
}

/// While its leader is not reaped, no other group can have that number.
void ChildWatch::kill_group(pid_t pid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid)
    return;
  if (info.si_code != CLD_EXITED || info.si_status != 0) ::kill(-pid, SIGKILL);
}

void ChildWatch::reap(pid_t pid) {
  const auto it = children_.find(pid);
  if (it == children_.end()) return;
  if (it->second.group == Group::fails) kill_group(pid);
  int status = 0;
  const pid_t got = ::waitpid(pid, &status, WNOHANG);
  if (got == 0) {
    if (it->second.pidfd) wait(pid);
    return;
  }
  ChildStatus result;
  if (it->second.adopted && got < 0) {  // it has ended, as its pidfd says, and is not (yet) our child
    const ProcessStat stat = stat_of(pid);
    result.unknown = stat.state != 'Z' || stat.started != *it->second.adopted;
    if (!result.unknown) status = stat.wait_status;
  }
  const Handler handler = std::move(it->second.handler);
  children_.erase(it);
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.core = WCOREDUMP(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  if (handler) handler(result);
  reap_orphans();
}

void ChildWatch::wait_for_orphans() {
  child_ended_.async_wait([this](error_code ec, int) {
    if (ec) return;
    reap_orphans();
    wait_for_orphans();
  });
}

void ChildWatch::reap_orphans() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const pid_t pid = info.si_pid;
    if (!watched(pid)) {
      ::waitpid(pid, nullptr, WNOHANG);
      continue;
    }
    if (children_.at(pid).pidfd) return;  // its own watch is about to see it, and calls this again
    asio::post(io_, [this, pid] { reap(pid); });
    return;
  }
}

}  // namespace charmtree::io
