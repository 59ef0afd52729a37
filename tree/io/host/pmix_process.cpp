// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/pmix_process.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "tree/clients/pmix/pmix_message.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {
constexpr Duration kPatience = 3s;  // longer than its own
}

Result<std::uint16_t> PmixProcess::offer(std::function<void()> wanted) {
  if (port_ != 0) return port_;
  auto socket = listen_tcp(INADDR_LOOPBACK, 0);
  if (!socket) return socket.error();
  held_.assign(socket->fd.release());
  held_.async_wait(asio::posix::stream_descriptor::wait_read, [wanted = std::move(wanted)](error_code ec) {
    if (!ec) wanted();
  });
  return port_ = socket->port;
}

UniqueFd PmixProcess::start(const std::string& program, const std::vector<std::string>& environment,
                            const std::string& folder) {
  folder_ = folder;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  ::mkdir(folder_.c_str(), S_IRWXU);
  auto ours = try_start(program, environment);
  error_code closed;
  held_.close(closed);
  if (ours) return std::move(*ours);
  auto pair = socket_pair();
  if (!pair) return {};
  const std::string frame =
      pmix::encode(pmix::Failed{"its PMIx helper cannot be started: " + ours.error().what, ours.error().fix});
  ::send(pair->theirs.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  return std::move(pair->ours);
}

Result<UniqueFd> PmixProcess::try_start(const std::string& program,
                                        const std::vector<std::string>& environment) {
  auto pair = socket_pair();
  if (!pair)
    return Error{Errc::spawn_failed, Phase::spawn, "out of file descriptors", "raise ulimit -n there"};
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"charmrun", std::string{kPmixHelperWord}, program, folder_};
  if (held_.is_open()) {
    request.inherited = held_.native_handle();
    request.arguments.push_back(std::to_string(request.inherited));
  }
  request.environment = environment;
  request.input = pair->theirs.get();
  request.dies_with_parent = false;  // its connection ends, and it cleans up
  const auto pid = spawn(request);
  if (!pid) return pid.error();
  pid_ = *pid;
  watch_.add(pid_, [this](ChildStatus) { ended(); });
  return std::move(pair->ours);
}

void PmixProcess::ended() {
  pid_ = 0;
  timer_.cancel();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  if (auto done = std::exchange(done_, nullptr)) done();
}

void PmixProcess::await_end(std::function<void()> done) {
  error_code ignored;
  held_.close(ignored);
  port_ = 0;
  if (pid_ == 0) return done();
  done_ = std::move(done);
  timer_.expires_after(kPatience);
  timer_.async_wait([this](error_code ec) {
    if (!ec) watch_.signal_group(pid_, SIGKILL);
  });
}

}  // namespace charmtree::io
