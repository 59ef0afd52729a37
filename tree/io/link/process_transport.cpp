// SPDX-License-Identifier: Apache-2.0
// A process transport has nothing to wait for: the process is started and its pipes are the link. cancel()
// therefore finds either a finished login, or one whose result is still in the event loop; the runner drops
// that result by its own bookkeeping.
#include "tree/io/link/process_transport.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "tree/io/clock.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"

namespace charmtree::io {

namespace {

/// When ssh gives a silent host up. It is sshd that must answer, not the kernel: a loaded host gets 15 s.
constexpr const char *kAliveInterval = "ServerAliveInterval=5", *kAliveCount = "ServerAliveCountMax=3";

/// Settings that override those of the ssh configuration which would stop or spoil a link: forwards whose
/// port is taken, other commands, no stdin, a local program that writes to our stdout. With the first one an
/// older ssh skips the names that it does not know.
constexpr std::array kPlainSession = {
    "IgnoreUnknown=*", "ClearAllForwardings=yes",    "RemoteCommand=none",   "SessionType=default",
    "StdinNull=no",    "ForkAfterAuthentication=no", "PermitLocalCommand=no"};

constexpr Duration kStartersPatience = 2s;

/// `fix`: what to try if the program cannot be started for a reason of its own. `started`: its pid.
LoginResult start_command(asio::io_context& io, ChildWatch& watch, SpawnRequest request, const char* fix,
                          pid_t* started = nullptr) {
  LoginResult result;
  result.times.begun = now();
  auto in = open_pipe(), out = open_pipe(), err = open_pipe();
  if (!in || !out || !err) {
    result.error =
        Error{Errc::spawn_failed, Phase::exec, "out of file descriptors", "raise ulimit -n or lower ++batch"};
    return result;
  }
  if (request.environment.empty()) request.environment = own_environment();
  request.input = in->read_end.get();
  request.output = out->write_end.get();
  request.error = err->write_end.get();
  auto pid = spawn(request);
  if (!pid) {
    const Error& why = pid.error();
    result.error = Error{why.code == Errc::no_program ? Errc::no_launcher : Errc::remote_shell, Phase::exec,
                         why.what, why.code == Errc::spawn_failed ? why.fix : fix};
    return result;
  }
  if (started != nullptr) *started = *pid;
  result.times.executed = now();
  result.link = std::make_unique<FdLinkHandle>(FdLink::make(
      io, std::move(out->read_end), std::move(in->write_end), std::move(err->read_end), *pid, &watch));
  return result;
}

void answer(asio::io_context& io, LoginResult result, std::function<void(LoginResult)> done) {
  auto shared = std::make_shared<LoginResult>(std::move(result));
  asio::post(io, [shared, done = std::move(done)] { done(std::move(*shared)); });
}

}  // namespace

bool CommandTransport::is_ssh(const std::string& program) {
  return program.substr(program.rfind('/') + 1) == "ssh";  // npos + 1 is 0
}

bool CommandTransport::is_starter(const Profile& profile) {
  return std::find(profile.shell.begin(), profile.shell.end(), kHostWord) != profile.shell.end();
}

std::vector<std::string> CommandTransport::words(const Host& host, const Profile& profile,
                                                 const std::string& command, const LoginLimits& limits) {
  std::vector<std::string> words = profile.shell;
  const bool is_ours = words.empty();
  if (is_ours) words = {"ssh"};
  if (is_ssh(words[0])) {
    const std::string timeout =
        fmt::format("ConnectTimeout={}", std::chrono::ceil<std::chrono::seconds>(limits.connect).count());
    for (const char* word :
         {"-x", "-T", "-o", "BatchMode=yes", "-o", kAliveInterval, "-o", kAliveCount, "-o"})
      words.emplace_back(word);
    words.push_back(timeout);
    for (const char* setting : kPlainSession) words.insert(words.end(), {"-o", setting});
    if (profile.host_keys == HostKeyPolicy::accept_new)
      words.insert(words.end(), {"-o", "StrictHostKeyChecking=accept-new"});
  }
  const auto place = std::find(words.begin(), words.end(), kHostWord);
  if (place != words.end()) {
    *place = host.name;
  } else {
    if (is_ours) words.insert(words.end(), {"-p", std::to_string(profile.port)});
    if (!profile.user.empty()) words.insert(words.end(), {"-l", profile.user});
    words.push_back(host.name);
  }
  words.push_back(command);
  return words;
}

Transport::LoginId CommandTransport::login(const Host& host, const Profile& profile,
                                           const std::string& command, const LoginLimits& limits,
                                           std::function<void(LoginResult)> done) {
  SpawnRequest request;
  request.arguments = words(host, profile, command, limits);
  request.program = request.arguments[0];
  if (is_ssh(request.program) || is_starter(profile))
    request.environment = proto::without_loader_variables(own_environment());
  // A starter of a resource manager that is killed kills what it has started; at the end of its stdin all end
  // well.
  request.dies_with_parent = !is_starter(profile);
  pid_t pid = 0;
  answer(
      io_,
      start_command(io_, watch_, std::move(request), "check ++remote-shell and the nodelist's shell", &pid),
      std::move(done));
  if (is_starter(profile) && pid > 0) starters_.push_back(pid);
  return ++last_;
}

void CommandTransport::finish() {
  const Instant until = now() + kStartersPatience;
  for (const pid_t pid : std::exchange(starters_, {})) {
    if (!watch_.watched(pid)) continue;  // reaped: its number may be another's
    const UniqueFd end{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    if (!end) continue;
    pollfd ended{end.get(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - now()).count();
    ::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
  }
}

LoginResult LocalTransport::start(const std::string& launcher) {
  SpawnRequest request;
  request.program = launcher;
  request.arguments = {launcher, "++launcher"};
  request.dies_with_parent = false;  // it sees the end of its stdin and cleans up first
  return start_command(io_, watch_, std::move(request), "name the right one with ++launcher PATH");
}

void LocalTransport::start_early(const std::string& launcher) {
  early_launcher_ = launcher;
  early_ = start(launcher);
}

Transport::LoginId LocalTransport::login(const Host&, const Profile& profile, const std::string&,
                                         const LoginLimits&, std::function<void(LoginResult)> done) {
  const bool is_early = early_.link && profile.launcher == early_launcher_;
  LoginResult result = is_early ? std::exchange(early_, {}) : start(profile.launcher);
  if (is_early) result.times.begun = result.times.executed = now();  // it has taken nobody's time
  answer(io_, std::move(result), std::move(done));
  return ++last_;
}

}  // namespace charmtree::io
