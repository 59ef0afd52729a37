// SPDX-License-Identifier: Apache-2.0
// ++mpiexec, the root's side of the connections: a TCP port that is open until all processes have come. Who
// connects must prove that it knows the secret of this start, within kStay, before anything that it says
// counts; so many may be silent at a time and no more. A launcher that has proved itself reports ranks; when
// the job begins its connection becomes the link to its host, in the way in which transports make links.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tree/clients/pending_connections.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/link.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/mpiexec/psk_link.hpp"
#include "tree/overlay/rendezvous.hpp"

namespace charmtree::io {

class RendezvousListener : public Transport {
public:
  static constexpr Duration kStay = 15s;
  /// Connections in all that have not proved themselves are `processes` + kSpare at a time; the one that is
  /// silent for longest goes first.
  static constexpr std::size_t kSpare = 64;
  /// Refused connections that are told, of all.
  static constexpr std::size_t kMaxNotes = 8;

  /// Called from the event loop.
  struct Sink {
    std::function<void(proto::RendezvousId, const wire::RankReport&)> report;
    std::function<void(proto::RendezvousId, const Error&)> lost;  // of one that has reported
    std::function<void(std::string)> note;                        // who was refused
  };
  RendezvousListener(asio::io_context& io, const std::string& secret, std::uint32_t processes, Sink sink);
  ~RendezvousListener() override;

  /// Listens on all addresses; the port, or why not.
  Result<std::uint16_t> open();
  /// Nobody comes in any more, and who has not reported is out.
  void close();

  /// IPv4 (host byte order) from which that launcher has connected.
  std::uint32_t address_of(proto::RendezvousId launcher) const;
  /// Which launcher is at the host of each index.
  void seat(std::vector<proto::RendezvousId> launchers) { seats_ = std::move(launchers); }

  /// The connection of the launcher that sits there, once: mpiexec has started it, and will not do so again.
  LoginId login(const Host& host, const Profile& profile, const std::string& command,
                const LoginLimits& limits, std::function<void(LoginResult)> done) override;
  void cancel(LoginId) override {}

private:
  struct Visitor;
  using VisitorPtr = std::shared_ptr<Visitor>;
  void admit(int fd, std::uint32_t address);
  void received(const VisitorPtr& visitor, std::string_view bytes);
  void lose(VisitorPtr visitor, const std::string& what);
  void expire();

  asio::io_context& io_;
  PskContext context_;
  Sink sink_;
  Listener listener_;
  asio::steady_timer expiry_;
  proto::PendingConnections pending_;  // those that have not reported
  std::map<proto::RendezvousId, VisitorPtr> visitors_;
  std::vector<proto::RendezvousId> seats_;
  proto::RendezvousId last_ = 0;
  LoginId last_login_ = 0;
  std::size_t notes_ = 0;
};

/// Lets a silent end of a TCP connection be noticed within 15 s, and small messages go at once.
void watch_connection(int fd);

}  // namespace charmtree::io
