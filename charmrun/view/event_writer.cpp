// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/event_writer.hpp"
#include "tree/io/write_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace charmtree {

Result<EventWriter> EventWriter::open(const std::string& place) {
  const auto where = event_place(place);
  if (!where) return where.error();
  EventWriter events;
  if (where->fd == STDOUT_FILENO) return events;
  if (where->fd >= 0) {
    events.fd_.reset(::fcntl(where->fd, F_DUPFD_CLOEXEC, 3));
    if (events.fd_) ::fcntl(where->fd, F_SETFD, FD_CLOEXEC);  // no program's
  } else {
    events.fd_.reset(::open(where->path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  }
  if (events.fd_) return events;
  return Error{Errc::bad_input, Phase::options, "++json " + place + ": " + std::strerror(errno),
               "it takes a file, - for stdout, or fd:N for a descriptor that is open"};
}

Result<void> EventWriter::write_now(std::string_view text) const {
  const int fd = on_stdout() ? STDOUT_FILENO : fd_.get();
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size > 0) {
      text.remove_prefix(static_cast<std::size_t>(size));
      continue;
    }
    if (size < 0 && errno == EPIPE) return {};  // nobody wants what is behind a closed pipe
    if (size < 0 && errno != EAGAIN && errno != EINTR)
      return Error{Errc::internal, Phase::run, "++json: cannot write: " + io::write_error(errno), {}};
    pollfd writable{fd, POLLOUT, 0};  // somebody made the descriptor non-blocking
    ::poll(&writable, 1, -1);
  }
  return {};
}

void EventWriter::begin(io::asio::io_context& io, std::function<void()> progress,
                        std::function<void(int error)> broken) {
  if (on_stdout()) return;
  writer_ = std::make_unique<io::OutputWriter>(
      io, fd_.get(), std::move(progress), [this, broken = std::move(broken)] { broken(writer_->failure()); });
}

}  // namespace charmtree
