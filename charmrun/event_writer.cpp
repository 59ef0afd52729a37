// SPDX-License-Identifier: Apache-2.0
#include "charmrun/event_writer.hpp"

#include <fcntl.h>
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

void EventWriter::begin(io::asio::io_context& io, std::function<void()> progress,
                        std::function<void(int error)> broken) {
  if (on_stdout()) return;
  writer_ = std::make_unique<io::OutputWriter>(
      io, fd_.get(), std::move(progress), [this, broken = std::move(broken)] { broken(writer_->failure()); });
}

}  // namespace charmtree
