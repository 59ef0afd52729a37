// SPDX-License-Identifier: Apache-2.0
#include "tree/io/mpiexec/rendezvous_listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "tree/io/clock.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/wire/ipv4.hpp"

namespace charmtree::io {

struct RendezvousListener::Visitor {
  proto::RendezvousId id = 0;
  std::uint32_t address = 0;
  std::unique_ptr<PskLink> link;
  wire::FrameDecoder frames{wire::kMaxRankReport};
  LoginSteps times;
  bool reported = false, gone = false;
};

void watch_connection(int fd) {
  constexpr int kOn = 1, kIdle = 5, kInterval = 5, kCount = 2, kUnanswered = 15'000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdle, sizeof kIdle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kInterval, sizeof kInterval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kCount, sizeof kCount);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnanswered, sizeof kUnanswered);
}

RendezvousListener::RendezvousListener(asio::io_context& io, const std::string& secret,
                                       std::uint32_t processes, Sink sink)
    : io_(io),
      context_(PskContext::End::server, secret),
      sink_(std::move(sink)),
      listener_(io, [this](int fd, Listener::Peer peer) { admit(fd, peer.address); }),
      expiry_(io),
      pending_(processes + kSpare, kStay) {}

RendezvousListener::~RendezvousListener() {
  for (auto& [id, visitor] : visitors_) visitor->gone = true;
}

Result<std::uint16_t> RendezvousListener::open() {
  const auto port = listener_.open_tcp(INADDR_ANY, 0);
  if (!port) return Error{Errc::spawn_failed, Phase::options, port.error().what};
  listener_.accept();
  return port;
}

void RendezvousListener::close() {
  listener_.close();
  expiry_.cancel();
  for (auto it = visitors_.begin(); it != visitors_.end();) {
    const VisitorPtr visitor = (it++)->second;
    if (!visitor->reported) lose(visitor, {});
  }
}

void RendezvousListener::admit(int fd, std::uint32_t address) {
  watch_connection(fd);
  UniqueFd input{fd}, output{::fcntl(fd, F_DUPFD_CLOEXEC, 3)};
  if (!output) return;
  auto visitor = std::make_shared<Visitor>();
  visitor->id = ++last_;
  visitor->address = address;
  visitor->times.begun = visitor->times.resolved = visitor->times.connected = now();
  visitor->link =
      std::make_unique<PskLink>(std::make_unique<FdLinkHandle>(FdLink::make(
                                    io_, std::move(input), std::move(output), UniqueFd{}, 0, nullptr)),
                                context_);
  visitors_.emplace(visitor->id, visitor);
  if (const auto evicted = pending_.enter(visitor->id, now()))
    lose(visitors_.at(*evicted), "it was silent for too long");
  expire();
  Link::Handlers handlers;
  handlers.on_bytes = [this, weak = std::weak_ptr{visitor}](std::string_view bytes) {
    if (const VisitorPtr alive = weak.lock()) received(alive, bytes);
  };
  handlers.on_end = [this, weak = std::weak_ptr{visitor}](const LinkEnd& end) {
    if (const VisitorPtr alive = weak.lock()) lose(alive, end.what);
  };
  visitor->link->start(std::move(handlers));
}

void RendezvousListener::received(const VisitorPtr& visitor, std::string_view bytes) {
  if (visitor->gone) return;
  visitor->frames.append(bytes);
  while (!visitor->gone) {
    auto frame = visitor->frames.next();
    if (!frame) return lose(visitor, frame.error().what);
    if (!frame->has_value()) return;
    const auto report = wire::decode_rank_report(**frame);
    if (!report) return lose(visitor, report.error().what);
    if (!std::exchange(visitor->reported, true)) {
      pending_.leave(visitor->id);
      LoginSteps& times = visitor->times;
      times.handshaken = times.authenticated = times.executed = now();
    }
    sink_.report(visitor->id, *report);
  }
}

void RendezvousListener::lose(VisitorPtr visitor, const std::string& what) {
  if (std::exchange(visitor->gone, true)) return;
  pending_.leave(visitor->id);
  visitor->link->close(Duration{0});
  visitors_.erase(visitor->id);
  asio::post(io_, [visitor] { visitor->link.reset(); });  // it may be calling us
  if (visitor->reported)
    sink_.lost(visitor->id, Error{Errc::link_lost, Phase::hello, what});
  else if (!what.empty() && notes_++ < kMaxNotes)
    sink_.note(fmt::format("refused a connection from {}: {}", wire::dotted(visitor->address), what));
}

void RendezvousListener::expire() {
  while (const auto late = pending_.expire(now())) lose(visitors_.at(*late), "it was silent for too long");
  if (pending_.next_deadline() == kNever) return;
  expiry_.expires_at(to_steady(pending_.next_deadline()));
  expiry_.async_wait([this](error_code ec) {
    if (!ec) expire();
  });
}

std::uint32_t RendezvousListener::address_of(proto::RendezvousId launcher) const {
  const auto visitor = visitors_.find(launcher);
  return visitor == visitors_.end() ? 0 : visitor->second->address;
}

Transport::LoginId RendezvousListener::login(const Host& host, const Profile&, const std::string&,
                                             const LoginLimits&, std::function<void(LoginResult)> done) {
  auto result = std::make_shared<LoginResult>();
  const auto visitor = host.index < seats_.size() ? visitors_.find(seats_[host.index]) : visitors_.end();
  if (visitor == visitors_.end()) {
    result->error =
        Error{Errc::link_lost, Phase::hello, "its launcher has gone, and mpiexec does not start another one"};
  } else {
    visitor->second->gone = true;
    result->times = visitor->second->times;
    result->link = std::move(visitor->second->link);
    visitors_.erase(visitor);
    result->link->pause_reading(true);  // until somebody else listens
    result->link->send(wire::begin_frame());
  }
  asio::post(io_, [result, done = std::move(done)] { done(std::move(*result)); });
  return ++last_login_;
}

}  // namespace charmtree::io
