// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/control_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tree/io/listener.hpp"

namespace charmtree::control {

std::string socket_name(const std::string& job) {
  return fmt::format("@charmtree-control-{}-{}", ::geteuid(), job);
}

std::vector<JobSocket> job_sockets() {
  const std::string head = socket_name({});
  std::vector<JobSocket> sockets;
  for (std::string& name : io::local_names(head)) {
    std::string job = name.substr(head.size());
    job.resize(std::min(job.find('-'), job.size()));
    sockets.push_back({std::move(job), std::move(name)});
  }
  return sockets;
}

bool is_held_here(const std::string& job) {
  return bool{io::find_own(socket_name(job))};
}

std::shared_ptr<io::FdLink> link_over(io::asio::io_context& io, io::UniqueFd connection) {
  io::UniqueFd input{::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0)};
  if (!input) return nullptr;
  return io::FdLink::make(io, std::move(input), std::move(connection), {}, 0, nullptr);
}

Error no_answer(const std::string& job) {
  return {Errc::refused, Phase::connect, fmt::format("the charmrun of job {} does not answer", job),
          "is it stopped? charmrun ++list shows its pid"};
}

}  // namespace charmtree::control
