// SPDX-License-Identifier: Apache-2.0
// The local sockets on which a launcher's own processes reach it: TCP on 127.0.0.1 for stock Charm++ clients,
// and for those of PMI that want one, a unix-domain socket in a private folder for native ones; at the root,
// if asked for, one for clients of the running job. Only processes of our own uid are let in: by SO_PEERCRED,
// or for loopback TCP by asking the kernel (NETLINK_SOCK_DIAG) who owns the other end. What they say is not
// looked at here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/host/host_ports.hpp"
#include "tree/io/host/shared_contents.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class ClientListener {
public:
  /// Connections at a time, of all kinds; more are closed at once. Those of clients of the job take at most
  /// half of the descriptors that there are.
  static constexpr std::size_t kMaxClients = 65536;
  /// Foreign users whose connections are told, each once.
  static constexpr std::size_t kMaxNotes = 8;
  /// A client that does not read what is sent to it may hold up this much.
  static constexpr std::size_t kMaxBacklog = 512U << 20;
  /// All clients of the running job together; of more, the one that holds up most is closed.
  static constexpr std::size_t kMaxJobBacklog = 512U << 20;

  /// `sink` takes ClientOpened, ClientBytes and ClientClosed events and notes about refused connections; it
  /// is called from the loop. A client of the job that may only have said all (ClientClosed::listens) is kept
  /// until it is closed, or has gone as far as that shows, or its place is needed: then a second ClientClosed
  /// says so.
  struct Sink {
    std::function<void(proto::Event)> event;
    std::function<void(std::string)> note;
  };
  ClientListener(asio::io_context& io, Sink sink);
  ~ClientListener();

  /// Opens both sockets, the local one in a folder that takes it (socket_folder). Does nothing for those that
  /// are open and whose file is there, so it may be called again. Error: spawn_failed with the reason.
  Result<void> open(const std::string& job, std::uint32_t host);
  /// Returns the path of the local socket; empty: it is not open.
  const std::string& path() const { return path_; }
  std::uint16_t port() const { return port_; }
  /// Of the socket for clients of PMI, which is opened when it is first asked for. Error: why not.
  Result<std::uint16_t> pmi_port();
  /// For clients of the running job (CCS): listens on these IPv4 addresses, all at one port (0: a free one),
  /// which is returned. From this machine only our own uid is let in, unless `any_user`. Error: why not.
  Result<std::uint16_t> open_to_clients(const std::vector<std::uint32_t>& addresses, std::uint16_t port,
                                        bool any_user);

  /// The connection of a process that is started with the other end (kNoProcess: of a helper).
  proto::ClientId take(UniqueFd fd, proto::ClientKind kind, std::uint32_t process);

  /// What is sent in one round of the loop leaves together at its end.
  void send(proto::ClientId client, std::string bytes, wire::Blob tail,
            const proto::SharedContent& shared = {}, const std::optional<proto::PassedPort>& port = {});
  /// It leaves now: before what a client must not see earlier, as a signal.
  void flush() { flush(*unsent_); }
  /// Sends what is queued, then closes.
  void close(proto::ClientId client);
  /// Closes all connections and tells nobody; new ones are taken.
  void drop_clients();
  /// See HostPorts.
  void begin_ports(std::uint64_t seed) { ports_.begin(seed); }
  /// Stops (resumes) reading from all clients, and from one: whoever is read is not stopped either way.
  void pause_reading(bool paused);
  void pause_client(proto::ClientId client, bool paused);
  /// It has said something that is not read yet.
  bool has_unread(proto::ClientId client) const;
  /// The inode of a TCP client's own socket; nothing if it is gone.
  std::optional<std::uint64_t> inode_of(proto::ClientId client);

private:
  class Connection;
  using Unsent = std::vector<std::shared_ptr<Connection>>;
  static void flush(Unsent& unsent);
  std::unique_ptr<Listener> listener(proto::ClientKind kind);
  void drop_largest_backlog();
  void admit(int fd, proto::ClientKind kind, Listener::Peer peer);
  proto::ClientId begin(int fd, proto::ClientKind kind, Listener::Peer peer, std::uint32_t made_for);
  void flush_at_end_of_round(std::shared_ptr<Connection> connection);
  bool welcome(int fd, proto::ClientKind kind, Listener::Peer peer);
  void make_room();

  asio::io_context& io_;
  Sink sink_;
  std::unique_ptr<Listener> tcp_, local_, pmi_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // of clients of the job
  std::uint16_t port_ = 0, pmi_port_ = 0;
  std::string path_;
  proto::ClientId last_ = 0;
  PeerLookup peers_;
  std::set<uid_t> refused_;  // that have been told
  bool paused_ = false;
  bool any_user_ = false;  // may be a client of the job
  std::size_t most_job_clients_ = 0;
  std::size_t job_backlog_ = 0;  // bytes that clients of the job have not read yet
  std::map<proto::ClientId, std::shared_ptr<Connection>> connections_;
  std::set<proto::ClientId> silent_;  // of them: clients of the job that say nothing more
  std::shared_ptr<Unsent> unsent_ = std::make_shared<Unsent>();  // have bytes for the end of the round
  SharedContents contents_;
  HostPorts ports_;
  bool has_told_of_ports_ = false;  // that there are none, once
};

}  // namespace charmtree::io
