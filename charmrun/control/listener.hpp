// SPDX-License-Identifier: Apache-2.0
// The control socket's side of charmrun: one listener, and a connection for each client. A connection begins
// with a hello of each side and opens one service; from then on its frames are that service's. The services
// are rows of a table. A client that breaks the protocol, asks for something unknown, is silent or does not
// read gets one line with the reason, as far as it reads, and is closed; it delays nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/control/protocol.hpp"
#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::control {

/// The number of a connection, never used twice.
using ClientId = std::uint64_t;

/// A row of the table of services. The handlers are called from the loop.
struct Service {
  /// The clients that it understands: its messages may be those of one version of charmrun alone.
  enum class Serves : std::uint8_t { any_version, own_version };

  std::string_view name;
  Serves serves = Serves::own_version;
  std::size_t max_clients = 64;                   // at a time, those included that have yet to read the end
  std::size_t max_unread = 8U << 20;              // bytes; a client with more is closed when more is sent
  std::size_t max_frame = wire::kMaxClientFrame;  // bytes in one frame of a client
  Duration patience = 60s;                        // until the client's first message
  std::function<void(ClientId)> opened;           // a client has opened the service
  std::function<bool(ClientId, const wire::Frame&)> received;  // false: the client may not send that
  std::function<void(ClientId)> closed;  // the connection has ended, not by Listener::close
};

class Listener {
public:
  struct Limits {
    std::size_t connections = 1536;  // at a time: more than all services have together
    Duration patience = 5s;          // until a client has opened a service
    Duration linger = 2s;            // until a client has read why it is refused
  };
  /// A frame of a client that has not opened a service, in bytes.
  static constexpr std::size_t kMaxFirstFrame = 4096;

  explicit Listener(io::asio::io_context& io) : Listener(io, Limits{}) {}
  Listener(io::asio::io_context& io, const Limits& limits);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// Adds a service. Before the loop runs.
  void add(Service service) { services_.push_back(std::move(service)); }
  /// Sets what is called with a line about each client that is refused.
  void set_note(std::function<void(const std::string& line)> note) { note_ = std::move(note); }
  /// Listens at the socket of that job. Error spawn_failed, also if another charmrun of the job listens.
  Result<void> open(const std::string& job);

  /// Sends a frame, if the client is still there.
  void send(ClientId client, std::string frame);
  /// Returns the bytes that were sent to a client and are not yet in the kernel's buffer.
  std::size_t backlog(ClientId client) const;
  /// Closes a connection when its client has read all, or after `linger`. `closed` is not called.
  void close(ClientId client, Duration linger);
  /// Refuses what a client has asked for, and closes its connection. `closed` is called.
  void refuse(ClientId client, const Error& error);

  /// Runs the loop until the clients of a service have read all, `most` at most. An empty name: all clients.
  void drain(std::string_view service, Duration most);
  /// Accepts no connection and calls no handler from now on. Connections stay open until the listener is
  /// destroyed: their clients wait for the end of charmrun.
  void finish();

private:
  struct Connection {
    std::shared_ptr<io::FdLink> link;
    wire::FrameDecoder decoder{wire::kMaxLinkFrame};
    std::unique_ptr<io::asio::steady_timer> limit = {};  // null: nothing is awaited
    std::string charmrun = {};                           // the client's version; empty: no hello has come
    const Service* service = nullptr;                    // null: none has been opened
  };
  /// A closed connection whose last bytes may be unread.
  struct Leaving {
    std::weak_ptr<io::FdLink> link;
    const Service* service = nullptr;

    bool is_unread() const {
      const auto left = link.lock();
      return left && left->backlog() > 0;
    }
  };
  void admit(int fd);
  void receive(ClientId client, std::string_view bytes);
  bool handle_frame(ClientId client, const wire::Frame& frame);
  void begin(ClientId client, const Message& message);
  void greet(ClientId client, const Hello& hello);
  void open_service(ClientId client, const std::string& name);
  void limit(ClientId client, Connection& connection, Duration most, const char* why);
  void lose(ClientId client);
  std::size_t clients_of(const Service& service);
  bool has_unread(std::string_view service) const;

  io::asio::io_context& io_;
  Limits limits_;
  io::Listener listener_;
  std::function<void(const std::string&)> note_;
  std::list<Service> services_;
  ClientId last_ = 0;
  std::map<ClientId, Connection> connections_;
  std::vector<Leaving> leaving_;
};

}  // namespace charmtree::control
