// SPDX-License-Identifier: Apache-2.0
#include "tree/io/pmix/pmix_gate.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <thread>
#include <utility>

#include "tree/io/asio.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/process_tree.hpp"

namespace charmtree::io {

namespace {

using asio::ip::tcp;

constexpr std::size_t kChunk = 64U << 10;  // bytes under way in each direction of a connection

/// Two sockets; what one of them receives the other one sends. Lives as long as one direction is open.
class Passage : public std::enable_shared_from_this<Passage> {
public:
  Passage(tcp::socket process, tcp::socket library)
      : process_(std::move(process)), library_(std::move(library)) {}

  void start() {
    pump(process_, library_, from_process_);
    pump(library_, process_, from_library_);
  }

private:
  using Chunk = std::array<char, kChunk>;

  void pump(tcp::socket& from, tcp::socket& to, Chunk& chunk) {
    from.async_read_some(asio::buffer(chunk),
                         [self = shared_from_this(), &from, &to, &chunk](error_code ec, std::size_t size) {
                           if (ec) return self->end(to);
                           asio::async_write(to, asio::buffer(chunk.data(), size),
                                             [self, &from, &to, &chunk](error_code failed, std::size_t) {
                                               if (failed) return self->end(from);
                                               self->pump(from, to, chunk);
                                             });
                         });
  }
  /// The end of one direction is passed on; the other direction ends by itself.
  static void end(tcp::socket& socket) {
    error_code ignored;
    socket.shutdown(tcp::socket::shutdown_both, ignored);
  }

  tcp::socket process_, library_;
  Chunk from_process_{}, from_library_{};
};

/// Returns the path of the file mapped by `pid` whose name begins with libpmix.so; empty: none.
std::string mapped_library(pid_t pid) {
  std::istringstream maps{proc_file(pid, "maps")};
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find("/libpmix.so", path) != std::string::npos)
      return line.substr(path);
  }
  return {};
}

}  // namespace

class PmixGate::Passages {
public:
  Passages(UniqueFd listening, std::uint16_t port)
      : library_(asio::ip::address_v4::loopback(), port),
        listener_(io_, [this](int fd, Listener::Peer) { admit(UniqueFd{fd}); }) {
    listener_.assign(std::move(listening));
  }

  ~Passages() {
    io_.stop();
    thread_.join();
  }
  Passages(const Passages&) = delete;
  Passages& operator=(const Passages&) = delete;

  void start(UniqueFd first) {
    if (first) admit(std::move(first));
    listener_.accept();
    thread_ = std::thread{[this] { io_.run(); }};
  }

private:
  void admit(UniqueFd fd) {
    if (peers_.uid(fd.get()) != ::geteuid()) return;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    tcp::socket process{io_, tcp::v4(), fd.release()};
    tcp::socket library{io_};
    error_code ec;
    library.connect(library_, ec);
    if (ec) return;
    library.set_option(tcp::no_delay{true}, ec);
    std::make_shared<Passage>(std::move(process), std::move(library))->start();
  }

  asio::io_context io_;
  tcp::endpoint library_;
  PeerLookup peers_;
  Listener listener_;
  std::thread thread_;  // of io_
};

PmixGate::PmixGate(UniqueFd listening) : listening_(std::move(listening)) {}
PmixGate::~PmixGate() = default;

std::string PmixGate::library_of_first() {
  first_.reset(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!first_) return {};
  const auto inode = PeerLookup{}.inode(first_.get());
  const auto process = inode ? find_socket_holder(::getppid(), *inode, {}) : std::nullopt;
  return process ? mapped_library(*process) : std::string{};
}

void PmixGate::open(std::uint16_t port) {
  if (!listening_) return;
  passages_ = std::make_unique<Passages>(std::move(listening_), port);
  passages_->start(std::move(first_));
}

}  // namespace charmtree::io
