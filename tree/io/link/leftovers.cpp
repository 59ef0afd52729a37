// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/leftovers.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "tree/io/listener.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

/// Living processes only: a zombie is its parent's affair.
std::vector<pid_t> alive(const std::set<pid_t>& pids) {
  std::vector<pid_t> living;
  for (const pid_t pid : pids) {
    if (stat_of(pid).state != 'Z') living.push_back(pid);
  }
  return living;
}

/// With the sessions of those that carry the mark, which began with a process of the job's: in them may be
/// programs whose environment nobody can read.
std::vector<pid_t> marked(const std::string& mark) {
  const std::string whole = '\0' + ("CHARMTREE_JOB=" + mark) + '\0';
  const pid_t own_session = ::getsid(0);
  std::map<pid_t, pid_t> unmarked;  // of ours, with their sessions
  std::set<pid_t> found, sessions;
  const auto add = [&](pid_t pid) {
    found.insert(pid);
    add_descendants(pid, {::getpid()}, found);
  };
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid() || user_of(pid) != ::getuid()) continue;
    const pid_t session = stat_of(pid).session;
    if (('\0' + proc_file(pid, "environ")).find(whole) == std::string::npos) {
      unmarked.emplace(pid, session);
      continue;
    }
    add(pid);
    if (session != own_session) sessions.insert(session);
  }
  for (const auto& [pid, session] : unmarked) {
    if (sessions.contains(session)) add(pid);
  }
  return alive(found);
}

/// Pidfds first, then the second look, then the signal: whoever is found both times is the process that the
/// pidfd holds.
std::uint32_t kill_found(const std::vector<pid_t>& found, const std::function<std::vector<pid_t>()>& find) {
  std::map<pid_t, UniqueFd> pidfds;
  for (const pid_t pid : found)
    pidfds.emplace(pid, UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))});
  if (pidfds.empty()) return 0;
  std::uint32_t killed = 0;
  for (const pid_t pid : find()) {
    const auto it = pidfds.find(pid);
    if (it == pidfds.end()) continue;
    // Kernels before 5.3 have no pidfds: the two looks must do.
    const long failed = it->second ? ::syscall(SYS_pidfd_send_signal, it->second.get(), SIGKILL, nullptr, 0)
                                   : ::kill(pid, SIGKILL);
    killed += failed == 0 ? 1 : 0;
  }
  return killed;
}

/// Runs the same program as we: a launcher or a guardian, of a virtual host.
bool is_launcher(pid_t pid) {
  struct stat own {
  }, other{};
  return ::stat("/proc/self/exe", &own) == 0 &&
         ::stat(fmt::format("/proc/{}/exe", pid).c_str(), &other) == 0 && other.st_dev == own.st_dev &&
         other.st_ino == own.st_ino;
}

/// Of another host of the same job, or of another job that was not started by ours: not by a process that
/// carries the mark.
bool is_launcher_of_another(pid_t pid) {
  constexpr std::string_view kMark = "CHARMTREE_JOB=";
  const std::string words = proc_file(pid, "cmdline");
  if (!is_launcher(pid) || !std::string_view{words}.ends_with(std::string_view{"\0++launcher\0", 12}))
    return false;
  const std::string environment = '\0' + proc_file(pid, "environ");
  const char* own = std::getenv("CHARMTREE_JOB");
  const std::size_t at = environment.find('\0' + std::string{kMark});
  if (at == std::string::npos || own == nullptr) return at == std::string::npos && own == nullptr;
  return environment.c_str() + at + 1 + kMark.size() == std::string_view{own};
}

/// Those and theirs are not among them.
std::set<pid_t> descendants(const std::set<pid_t>& spared, Launchers launchers) {
  std::set<pid_t> found, without = spared;
  add_descendants(::getpid(), spared, found);
  if (launchers == Launchers::end) return found;
  for (const pid_t pid : found) {
    if (is_launcher_of_another(pid)) without.insert(pid);
  }
  found.clear();
  add_descendants(::getpid(), without, found);
  return found;
}

}  // namespace

std::string job_mark(const std::string& job, std::uint32_t host) {
  return fmt::format("{}:{}", job, host);
}

bool childless() {
  siginfo_t ignored{};
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

void kill_listener(const std::string& socket_path) {
  const auto address = local_address(socket_path);
  if (!address) return;
  const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (::connect(fd.get(), address->get(), address->size) != 0) return;
  const auto owner = unix_peer(fd.get());
  if (!owner || owner->uid != ::geteuid() || owner->pid <= 0 || owner->pid == ::getpid()) return;
  ::kill(owner->pid, SIGKILL);  // if it ends just now: no kernel gives a pid away again so soon
}

void Leftovers::kill_descendants(std::vector<pid_t> spared, Launchers launchers, Done done) {
  cancel();
  if (childless()) {
    return asio::post(timer_.get_executor(), [this, order = order_, done = std::move(done)] {
      if (order == order_) done(0, true);
    });
  }
  std::set<pid_t> keep{spared.begin(), spared.end()};
  round([keep = std::move(keep), launchers] { return alive(descendants(keep, launchers)); }, kRounds, 0,
        std::move(done));
}

void Leftovers::cancel() {
  ++order_;
  timer_.cancel();
}

void Leftovers::kill_marked(std::string mark, Done done) {
  cancel();
  round([mark = std::move(mark)] { return marked(mark); }, kRounds, 0, std::move(done));
}

void Leftovers::round(Finder find, int left, std::uint32_t killed, Done done) {
  std::vector<pid_t> found = find();
  const bool over = found.empty() || left == 0;
  if (left > kRounds - kRoundsForLaunchers) std::erase_if(found, is_launcher);
  killed += kill_found(found, find);
  timer_.expires_after(over ? Duration{0} : Duration{kPause});
  timer_.async_wait([this, find = std::move(find), left, killed, done = std::move(done), over,
                     all = found.empty(), order = order_](error_code ec) {
    if (ec || order != order_) return;
    if (over)
      done(killed, all);
    else
      round(find, left - 1, killed, done);
  });
}

}  // namespace charmtree::io
