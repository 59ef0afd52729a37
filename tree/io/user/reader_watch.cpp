// SPDX-License-Identifier: Apache-2.0
#include "tree/io/user/reader_watch.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

bool ignores_hang_up() {
  struct sigaction action {};
  return ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

ReaderWatch::ReaderWatch(asio::io_context& io, std::vector<int> descriptors, std::function<void()> on_gone)
    : poller_(io), timer_(io), on_gone_(std::move(on_gone)) {
  UniqueFd poller{::epoll_create1(EPOLL_CLOEXEC)};
  for (const int fd : descriptors) {
    struct stat file {};
    if (::fstat(fd, &file) != 0 || !(S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode))) continue;
    epoll_event end{};  // EPOLLERR and EPOLLHUP are always reported
    if (::epoll_ctl(poller.get(), EPOLL_CTL_ADD, fd, &end) == 0) watched_.push_back(fd);
  }
  if (watched_.empty()) return;
  poller_.assign(poller.release());
  wait();
}

bool ReaderWatch::any_gone() const {
  return std::any_of(watched_.begin(), watched_.end(), [](int fd) {
    pollfd end{fd, 0, 0};
    return ::poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP)) != 0;
  });
}

void ReaderWatch::wait() {
  poller_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (!ec) look_again();
  });
}

void ReaderWatch::look_again() {
  timer_.expires_after(kGone);
  timer_.async_wait([this](error_code ec) {
    if (ec) return;
    any_gone() ? on_gone_() : wait();
  });
}

}  // namespace charmtree::io
