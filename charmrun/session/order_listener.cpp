// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/order_listener.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "charmrun/session/door.hpp"
#include "tree/base/visible.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

namespace {

constexpr std::string_view kDone = "ok";
constexpr std::size_t kMostAnswer = 1000;

}  // namespace

/// One connection. It stays open until the root ends, which tells its other end so.
class OrderListener::Visitor : public std::enable_shared_from_this<Visitor> {
public:
  Visitor(OrderListener& listener, int fd)
      : listener_(listener), socket_(listener.io_, fd), timer_(listener.io_) {}

  void begin() {
    timer_.expires_after(kPatience);
    timer_.async_wait([self = shared_from_this()](io::error_code stopped) {
      if (!stopped) self->gone();
    });
    listen();
  }
  /// The listener goes first.
  void detach() {
    attached_ = false;
    timer_.cancel();
    io::error_code ignored;
    socket_.close(ignored);
  }

private:
  void listen() {
    socket_.async_read_some(io::asio::buffer(letter_),
                            [self = shared_from_this()](io::error_code ec, std::size_t size) {
                              if (ec || size == 0) return self->gone();
                              self->timer_.cancel();
                              self->reply();
                            });
  }
  void reply() {
    if (!attached_) return;
    const std::string text = listener_.answer(letter_[0]) + "\n";  // fits into the socket's buffer
    (void)::send(socket_.native_handle(), text.data(), text.size(), MSG_NOSIGNAL);
    listen();
  }
  void gone() {
    timer_.cancel();
    if (attached_) listener_.visitors_.erase(shared_from_this());
  }

  OrderListener& listener_;
  io::asio::posix::stream_descriptor socket_;
  io::asio::steady_timer timer_;
  std::array<char, 1> letter_{};
  bool attached_ = true;
};

OrderListener::OrderListener(io::asio::io_context& io, Obey obey)
    : io_(io), obey_(std::move(obey)), listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}

OrderListener::~OrderListener() {
  for (const auto& each : visitors_) each->detach();
}

Result<void> OrderListener::open(const std::string& job) {
  return open_door(listener_, kOrdersDoor, job);
}

void OrderListener::admit(int fd) {
  if (io::peer_uid(fd) != ::geteuid() || visitors_.size() >= kMost) {
    ::close(fd);
    return;
  }
  (*visitors_.insert(std::make_shared<Visitor>(*this, fd)).first)->begin();
}

std::string OrderListener::answer(char letter) {
  if (letter != static_cast<char>(Order::kill) && letter != static_cast<char>(Order::detach))
    return "this charmrun does not know that order; use the same version for both";
  const auto obeyed = obey_(static_cast<Order>(letter));
  if (obeyed) return std::string{kDone};
  const Error& error = obeyed.error();
  return error.fix.empty() ? error.what : error.what + "; " + error.fix;
}

namespace {

/// Up to the first newline. Empty: there is none in time, or the connection has ended.
std::string read_line(int fd) {
  std::string line;
  const Instant end = io::now() + OrderListener::kPatience;
  while (io::now() < end && line.size() < kMostAnswer) {
    pollfd waiting{fd, POLLIN, 0};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - io::now());
    if (::poll(&waiting, 1, static_cast<int>(rest.count())) <= 0) continue;
    char c = 0;
    const ssize_t size = ::recv(fd, &c, 1, 0);  // a line is short
    if (size == 0 || (size < 0 && errno != EINTR)) return {};
    if (size > 0 && c == '\n') return line;
    if (size > 0) line += c;
  }
  return {};
}

}  // namespace

bool is_held_here(const std::string& job) {
  return bool{io::find_own(door_name(kOrdersDoor, job))};
}

Result<void> give_order(const std::string& job, Order order) {
  const Error silent = no_answer(job);
  const auto fd = enter_door(kOrdersDoor, job);
  if (!fd) return fd.error();
  const char letter = static_cast<char>(order);
  if (::send(fd->get(), &letter, 1, MSG_NOSIGNAL) != 1) return silent;
  const std::string answer = read_line(fd->get());
  if (answer.empty()) return silent;
  if (answer != kDone) return Error{Errc::refused, Phase::run, visible(answer), {}};
  std::array<char, 64> rest;
  for (ssize_t size = 1; size > 0 || (size < 0 && errno == EINTR);)
    size = ::recv(fd->get(), rest.data(), rest.size(), 0);
  return {};
}

}  // namespace charmtree
