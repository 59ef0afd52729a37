// SPDX-License-Identifier: Apache-2.0
// A listening socket: hands over who connects, and waits for free descriptors if there are none. Who may stay
// is for its owner to say.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// Of a unix-domain socket (see Listener::open_local); nothing if the path is too long for one.
struct LocalAddress {
  sockaddr_un address{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};
std::optional<LocalAddress> local_address(const std::string& path);

/// The names without a file (see Listener::open_local) in this network namespace that begin with `head`, each
/// once. Anybody may have made them.
std::vector<std::string> local_names(const std::string& head);

/// A connection to who listens at `path`, if that is a process of our own uid; nothing otherwise. It does not
/// block.
UniqueFd connect_to_own(const std::string& path);

/// The same, to who has opened the listener to seekers of `name`.
UniqueFd find_own(const std::string& name);

/// Removes the file of a unix-domain socket on which nobody listens: another launcher may have replaced it.
void remove_stale_socket(const std::string& path);

struct ListeningSocket {
  UniqueFd fd;
  std::uint16_t port = 0;
};
/// Returns a TCP socket that listens at `address` (IPv4, host byte order) and does not block; port 0: a free
/// one. Error spawn_failed.
Result<ListeningSocket> listen_tcp(std::uint32_t address, std::uint16_t port);

class Listener {
public:
  /// Connections that the kernel keeps until they are taken.
  static constexpr int kBacklog = 4096;

  /// Of who connects by TCP: IPv4 in host byte order; 0: not by TCP.
  struct Peer {
    std::uint32_t address = 0;
    std::uint16_t port = 0;
  };
  /// Called from the loop; the descriptor, which does not block, is the callee's.
  using Admit = std::function<void(int fd, Peer peer)>;
  Listener(asio::io_context& io, Admit admit) : admit_(std::move(admit)), socket_(io), pause_(io) {}

  /// Listens on TCP; the port, which is `port` or, if that is 0, a free one. Error spawn_failed.
  Result<std::uint16_t> open_tcp(std::uint32_t address, std::uint16_t port);
  /// Listens on a unix-domain socket, replacing what is at `path`; "@..." is a name without a file, which
  /// goes when its owner does, however that ends. Error spawn_failed.
  Result<void> open_local(const std::string& path);
  /// Listens at the name "@...", or if another user has that already, at one that adds "-" and a random end:
  /// for those who look for the beginning (local_names) and at whose it is (connect_to_own). Error
  /// spawn_failed, also if one of ours listens there, under whichever of these names.
  Result<void> open_to_seekers(const std::string& name);
  /// Takes over a socket that listens, whoever made it.
  void assign(UniqueFd listening) { socket_.assign(listening.release()); }
  /// From now on connections are handed over. Once, after one of the above.
  void accept();
  /// Nobody comes in any more; may be called from Admit.
  void close();

private:
  Admit admit_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer pause_;
};

}  // namespace charmtree::io
