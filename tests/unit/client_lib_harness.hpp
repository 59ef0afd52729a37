// SPDX-License-Identifier: Apache-2.0
// For tests of the client library: child processes that run it, a unix-domain socket, and the least launcher
// that it can be run against (a NativeServer, pumped by the test's own loop). Whatever goes wrong, it is over
// after kLimit.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tree/clients/native_server.hpp"
#include "tree/io/passed_descriptor.hpp"
#include "tree/io/sealed_file.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/shared_table.hpp"
#include "tree/wire/shared_values.hpp"

namespace charmtree::test {

using proto::Aborted;
using proto::BarrierEntered;
using proto::BarrierKind;
using proto::ClientId;
using proto::ClientLost;
using proto::ClientOutput;
using proto::ClientOutputs;
using proto::CloseClient;
using proto::Ended;
using proto::LocalProcesses;
using proto::NativeServer;
using proto::Printed;
using proto::Registered;
using proto::RequestAnswered;
using proto::ToClient;

// In a child: leave with the line's number as soon as something is not as it should be.
#define EXPECT(condition)                         \
  do {                                            \
    if (!(condition)) return __LINE__ % 200 + 20; \
  } while (false)

using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::seconds(20);

/// What a child process does; its exit status.
using Program = std::function<int()>;

inline void clear_environment() {
  ::unsetenv("CHARMTREE_SOCKET");
  ::unsetenv("CHARMTREE_PROCESS");
}

/// To any port of 127.0.0.1.
inline io::UniqueFd bound_socket(wire::PortKind kind) {
  const int type = kind == wire::PortKind::tcp ? SOCK_STREAM : SOCK_DGRAM;
  io::UniqueFd socket{::socket(AF_INET, type | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}
/// 0: it has none.
inline std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? ntohs(address.sin_port)
                                                                              : std::uint16_t{0};
}

/// A listening socket in a folder of its own.
class Listener {
public:
  Listener() {
    char name[] = "/tmp/ct-client-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    path_ = folder_ + "/native";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd_, 64) == 0);
  }
  ~Listener() {
    ::close(fd_);
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }
  Listener(const Listener&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  /// Waits for a connection; -1 after kLimit.
  int accept() const {
    pollfd entry{fd_, POLLIN, 0};
    const int ms = static_cast<int>(std::chrono::milliseconds(kLimit).count());
    return ::poll(&entry, 1, ms) == 1 ? ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  }

private:
  std::string folder_, path_;
  int fd_ = -1;
};

/// A child process that runs `program` as process `number`; killed if it is still there at the end.
class Child {
public:
  Child(const Listener& listener, int number, const Program& program) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::setenv("CHARMTREE_SOCKET", listener.path().c_str(), 1);
    ::setenv("CHARMTREE_PROCESS", std::to_string(number).c_str(), 1);
    ::_exit(program());
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  /// Exit status, 128 + n for signal n; -1 after kLimit.
  int wait() {
    for (const auto end = Clock::now() + kLimit; Clock::now() < end; ::poll(nullptr, 0, 2)) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return -1;
  }

private:
  pid_t pid_;
};

/// As a launcher that is the test itself.
inline void send_to(int fd, const wire::native::FromLauncher& message) {
  const std::string bytes = wire::native::to_frame(message);
  CHECK(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

inline void send_with_file(int fd, int file) {
  const std::string frame = wire::native::to_frame(wire::native::Table{});
  CHECK(io::send_with(fd, frame.data(), frame.size(), file, MSG_NOSIGNAL) > 0);
}
inline void send_table(int fd, const wire::NodeTable& table) {
  send_with_file(fd, io::sealed_file("table", wire::shared_form(table)).get());
}

/// Joins, in a child whose launcher is the test.
inline int welcome(const Listener& listener) {
  const int fd = listener.accept();
  REQUIRE(fd >= 0);
  send_to(fd, wire::native::Welcome{0, 2, 0, 2, 0, 0, 0, 1, {{0, 1}}, {}});
  return fd;
}

/// A connected client of a launcher that is the test, and the messages that it says.
struct Ear {
  int fd;
  wire::FrameDecoder decoder{wire::kMaxClientFrame};

  /// Passes over everything before it.
  template <class Wanted>
  Wanted hears() {
    for (;;) {
      auto frame = decoder.next();
      REQUIRE(frame);
      if (frame->has_value()) {
        const auto message = wire::native::decode_from_client(**frame);
        REQUIRE(message);
        if (const auto* wanted = get_if<Wanted>(&*message)) return *wanted;
        continue;
      }
      char bytes[512];
      const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
      REQUIRE(n > 0);
      decoder.append({bytes, static_cast<std::size_t>(n)});
    }
  }
};

/// It is done when it says so, and may leave; its exit status.
inline int let_go(Ear& ear, Child& child) {
  ear.hears<wire::native::Finalize>();
  send_to(ear.fd, wire::native::Finished{});
  const int status = child.wait();
  ::close(ear.fd);
  return status;
}

/// The same of one that is in its last barrier.
inline int open_and_let_go(Ear& ear, Child& child) {
  send_to(ear.fd, wire::native::BarrierRelease{});
  return let_go(ear, child);
}

/// One launcher: its socket, its server and the least engine that a job of one host needs. Blocking writes:
/// the clients read.
class Launcher {
public:
  explicit Launcher(std::uint32_t processes)
      : total_(processes), server_(LocalProcesses{0, processes, processes}, 3, 1, {}), tuples_(processes) {}
  ~Launcher() {
    for (const ClientId client : clients_) ::close(static_cast<int>(client));
  }

  void start(const Program& program) {
    for (std::uint32_t process = 0; process < total_; ++process) {
      children_.emplace_back(listener_, static_cast<int>(process), program);
    }
  }
  /// Serves until `done` or kLimit; true if done.
  bool serve_until(const std::function<bool()>& done) {
    for (const auto end = Clock::now() + kLimit; !done();) {
      if (Clock::now() > end) return false;
      turn();
    }
    return true;
  }
  /// Serves until every process has ended or been lost and its connection is closed; the exit statuses.
  std::vector<int> serve() {
    CHECK(serve_until([this] { return ended.size() + lost.size() >= total_ && clients_.empty(); }));
    return statuses();
  }
  /// Waits for the children to exit by themselves.
  std::vector<int> statuses() {
    std::vector<int> all;
    for (Child& child : children_) all.push_back(child.wait());
    return all;
  }

  const Listener& listener() const { return listener_; }
  bool hold_barriers = false;
  std::uint32_t waiting = 0;  // in the barrier
  std::vector<Printed> printed;
  std::vector<Aborted> aborted;
  std::vector<ClientLost> lost;
  std::vector<Ended> ended;
  std::vector<RequestAnswered> answers;
  bool has_table = false;
  bool has_ports = true;
  std::map<wire::PortKind, std::set<std::uint16_t>> ports;  // that were handed out

  /// A CCS request (payload of `req_fw`).
  void ask(std::uint32_t process, std::string payload) {
    ClientOutputs out;
    server_.request(process, std::move(payload), out);
    carry_out(out);
  }
  void release_barrier() {
    waiting = 0;
    release(BarrierKind::all);
  }
  void hand_out_table(std::uint32_t epoch) {
    ClientOutputs out;
    has_table = true;
    server_.table(wire::encode(wire::NodeTable{epoch, 1, {{3, 0, 0, tuples_}}}), out);
    carry_out(out);
  }

private:
  void turn() {
    std::vector<pollfd> entries{{listener_.fd(), POLLIN, 0}};
    for (const ClientId client : clients_) entries.push_back({static_cast<int>(client), POLLIN, 0});
    ::poll(entries.data(), entries.size(), 20);
    ClientOutputs out;
    if (entries[0].revents != 0) {
      const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) clients_.insert(static_cast<ClientId>(fd));
      if (fd >= 0) server_.opened(static_cast<ClientId>(fd), Instant{}, out);
    }
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].revents != 0) read(entries[i].fd, out);
    }
    carry_out(out);
  }
  void read(int fd, ClientOutputs& out) {
    char buffer[4096];
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0)
      return server_.received(static_cast<ClientId>(fd), {buffer, static_cast<std::size_t>(n)}, Instant{},
                              out);
    server_.closed(static_cast<ClientId>(fd), Instant{}, out);
    close_client(static_cast<ClientId>(fd));
  }
  void close_client(ClientId client) {
    if (clients_.erase(client) == 1) ::close(static_cast<int>(client));
  }
  void carry_out(ClientOutputs& out) {
    for (ClientOutput& output : out) dispatch([this](auto& o) { on(o); }, output);
  }

  void on(ToClient& o) {
    const std::string bytes = o.bytes + (o.tail ? *o.tail : "");
    if (o.port && has_ports) {
      const io::UniqueFd socket = bound_socket(o.port->kind);
      ports[o.port->kind].insert(port_of(socket.get()));
      CHECK(io::send_with(static_cast<int>(o.client), bytes.data(), bytes.size(), socket.get(),
                          MSG_NOSIGNAL) > 0);
      return;
    }
    if (o.port) {
      const std::string& otherwise = o.port->otherwise;
      ::send(static_cast<int>(o.client), otherwise.data(), otherwise.size(), MSG_NOSIGNAL);
      return;
    }
    if (o.shared.coded) {
      using Form = proto::SharedContent::Form;
      const std::string form = o.shared.form == Form::table
                                   ? wire::shared_form(wire::decode_table(*o.shared.coded).value())
                               : o.shared.form == Form::values ? wire::shared_pairs(*o.shared.coded).value()
                                                               : *o.shared.coded + '\0';
      const io::UniqueFd file = io::sealed_file("shared", form);
      CHECK(io::send_with(static_cast<int>(o.client), bytes.data(), bytes.size(), file.get(), MSG_NOSIGNAL) >
            0);
      return;
    }
    ::send(static_cast<int>(o.client), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void on(CloseClient& o) { close_client(o.client); }
  void on(Registered& o) {
    tuples_[o.process] = o.tuple;
    if (++registered_ == total_) hand_out_table(1);
  }
  void on(BarrierEntered& o) {
    if (o.kind == BarrierKind::leave) {
      if (++leaving_ == total_) release(BarrierKind::leave);
      return;
    }
    if (++waiting == total_ && !hold_barriers) release_barrier();
  }
  void on(Printed& o) { printed.push_back(std::move(o)); }
  void on(Aborted& o) {
    aborted.push_back(std::move(o));
    finish();
  }
  void on(ClientLost& o) {
    lost.push_back(std::move(o));
    finish();
  }
  void on(Ended& o) { ended.push_back(o); }
  void on(RequestAnswered& o) { answers.push_back(std::move(o)); }
  void on(FenceEntered& o) {
    ClientOutputs out;
    server_.fenced({o.fence, {}, std::make_shared<const std::string>(o.given)}, out);
    carry_out(out);
  }
  void on(RingEntered& o) {  // who stands beside all of them is all of them
    ClientOutputs out;
    server_.ringed({o.number, {wire::closed(o.runs.front())}}, out);
    carry_out(out);
  }
  template <class Other>
  void on(Other&) {}
  void release(BarrierKind kind) {
    ClientOutputs out;
    server_.release(kind, out);
    carry_out(out);
  }
  void finish() {
    ClientOutputs out;
    server_.finish(out);
    carry_out(out);
  }

  std::uint32_t total_;
  Listener listener_;
  NativeServer server_;
  std::set<ClientId> clients_;  // descriptors
  std::vector<wire::Tuple> tuples_;
  std::uint32_t registered_ = 0;
  std::uint32_t leaving_ = 0;
  std::vector<Child> children_;
};

}  // namespace charmtree::test
