// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/host_probe.hpp"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

/// False: that is no address and port.
bool set(sockaddr_storage& end, const std::string& address, const std::string& port) {
  error_code wrong;
  const auto host = asio::ip::make_address(address.substr(0, address.find('%')), wrong);
  std::uint16_t number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (wrong || error != std::errc{} || stop != port.data() + port.size()) return false;
  const asio::ip::tcp::endpoint there{host, number};
  std::memcpy(&end, there.data(), there.size());
  return true;
}

/// With nothing under way there is nothing to acknowledge; but a receiver whose buffer is full is asked now
/// and then whether it still is.
std::optional<Duration> acknowledged(const tcp_info& info) {
  constexpr int kAskedInVain = 2;
  if (info.tcpi_unacked == 0 && info.tcpi_probes < kAskedInVain) return Duration{0};
  return std::chrono::milliseconds{info.tcpi_last_ack_recv};
}

/// That nobody listens there says the machine itself.
bool is_answer(error_code ec) {
  return !ec || ec == asio::error::connection_refused || ec == asio::error::connection_reset;
}

/// Our own machine could not even try. (That there is no way to a host may be that host's own affair.)
bool is_our_fault(error_code ec) {
  return ec == asio::error::network_unreachable || ec == asio::error::network_down ||
         ec == asio::error::no_descriptors || ec == asio::error::no_buffer_space ||
         ec == asio::error::no_memory || ec == asio::error::access_denied || ec.value() == EADDRNOTAVAIL ||
         ec.value() == EPERM;
}

class HostProbe : public std::enable_shared_from_this<HostProbe> {
public:
  HostProbe(asio::io_context& io, const TcpEnds& ends, Duration heard,
            std::function<void(proto::Evidence)> done)
      : ends_(ends), socket_(io), timer_(io), heard_(heard), began_(now()), done_(std::move(done)) {}

  void start(const HostProbeLimits& limits) {
    unread_ = limits.unread;
    const proto::Evidence known = look(false, false);
    const bool lives =
        known.heard == Duration{0} || (known.acknowledged && *known.acknowledged < limits.fresh);
    if (lives) return finish(known);
    const std::weak_ptr<HostProbe> weak = weak_from_this();
    timer_.expires_after(limits.within);
    timer_.async_wait([weak](error_code ec) {
      if (const auto self = weak.lock(); self && !ec) self->finish(self->look(!self->could_not_, false));
    });
    asio::ip::tcp::endpoint there;
    const socklen_t size = ends_.peer.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(there.data(), &ends_.peer, size);
    there.resize(size);
    socket_.async_connect(there, [weak](error_code ec) {
      const auto self = weak.lock();
      if (!self) return;
      if (is_answer(ec)) self->finish(self->look(true, true));
      self->could_not_ = is_our_fault(ec);
    });
  }

private:
  proto::Evidence look(bool asked, bool answers) const {
    const auto socket = SockDiag{}.find(ends_, true);
    proto::Evidence evidence{heard_ + (now() - began_), {}, answers, asked};
    if (socket && socket->unread > 0 && unread_ == HostProbeLimits::Unread::counts)
      evidence.heard = Duration{0};
    if (socket && socket->info) evidence.acknowledged = acknowledged(*socket->info);
    return evidence;
  }

  void finish(const proto::Evidence& evidence) {
    if (!done_) return;
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
    const auto done = std::exchange(done_, nullptr);
    done(evidence);
  }

  TcpEnds ends_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  Duration heard_;
  Instant began_;
  HostProbeLimits::Unread unread_ = HostProbeLimits::Unread::counts;
  bool could_not_ = false;
  std::function<void(proto::Evidence)> done_;
};

}  // namespace

std::optional<TcpEnds> ssh_connection() {
  const char* words = std::getenv("SSH_CONNECTION");
  return words == nullptr ? std::nullopt : ssh_connection(std::string{words});
}

std::optional<TcpEnds> ssh_connection(const std::string& words) {
  std::string their_address, their_port, our_address, our_port;
  std::istringstream{words} >> their_address >> their_port >> our_address >> our_port;
  TcpEnds ends;
  if (!set(ends.own, our_address, our_port) || !set(ends.peer, their_address, their_port)) return {};
  if (!SockDiag{}.find(ends)) return {};  // handed on by whoever was started by that one
  return ends;
}

std::shared_ptr<void> probe_host(asio::io_context& io, const TcpEnds& ends, const HostProbeLimits& limits,
                                 Duration heard, std::function<void(proto::Evidence)> done) {
  auto probe = std::make_shared<HostProbe>(io, ends, heard, std::move(done));
  probe->start(limits);
  return probe;
}

}  // namespace charmtree::io
