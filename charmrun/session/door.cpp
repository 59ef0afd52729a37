// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/door.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "tree/io/peer_uid.hpp"

namespace charmtree {

std::string door_name(std::string_view kind, const std::string& job) {
  return fmt::format("@charmtree-{}-{}-{}", kind, ::geteuid(), job);
}

Result<void> open_door(io::Listener& listener, std::string_view kind, const std::string& job) {
  if (auto opened = listener.open_to_seekers(door_name(kind, job)); !opened) return opened;
  listener.accept();
  return {};
}

/// Making the connection does not block.
Result<io::UniqueFd> enter_door(std::string_view kind, const std::string& job) {
  io::UniqueFd fd = io::find_own(door_name(kind, job));
  if (fd && ::fcntl(fd.get(), F_SETFL, 0) == 0) return fd;
  return no_answer(job);
}

std::shared_ptr<io::FdLink> link_over(io::asio::io_context& io, io::UniqueFd connection) {
  io::UniqueFd input{::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0)};
  if (!input) return nullptr;
  return io::FdLink::make(io, std::move(input), std::move(connection), {}, 0, nullptr);
}

std::shared_ptr<io::FdLink> let_in(io::asio::io_context& io, io::UniqueFd connection) {
  return io::peer_uid(connection.get()) == ::geteuid() ? link_over(io, std::move(connection)) : nullptr;
}

Error no_answer(const std::string& job) {
  return {Errc::refused, Phase::connect, fmt::format("the charmrun of job {} does not answer", job),
          "is it stopped? charmrun ++list shows its pid"};
}

Error other_version() {
  return {Errc::refused, Phase::run, "the charmrun of that job is of another version",
          "use the same one for both"};
}

}  // namespace charmtree
