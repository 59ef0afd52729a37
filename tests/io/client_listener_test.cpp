// SPDX-License-Identifier: Apache-2.0
// Clients that come to a launcher's sockets, in this process and over 127.0.0.1.
#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/io/loopback.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/client_listener.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/shared_table.hpp"

namespace charmtree::client_listener_test {

using namespace charmtree::io;

namespace {

constexpr Duration kPatience = 20s;

struct Launcher {
  asio::io_context io{1};
  std::vector<proto::ClientId> opened, silent, closed;
  std::string said;
  std::vector<std::string> notes;
  std::function<void(proto::ClientId)> on_bytes = [](proto::ClientId) {};
  ClientListener listener{io,
                          {[this](const proto::Event& event) {
                             if (const auto* one = get_if<proto::ClientOpened>(&event))
                               opened.push_back(one->client);
                             if (const auto* one = get_if<proto::ClientClosed>(&event))
                               (one->listens ? silent : closed).push_back(one->client);
                             if (const auto* one = get_if<proto::ClientBytes>(&event)) {
                               said += one->bytes;
                               on_bytes(one->client);
                             }
                           },
                           [this](const std::string& text) { notes.push_back(text); }}};
  std::uint16_t port = 0;

  Launcher() {
    const auto listening = listener.open_to_clients({INADDR_LOOPBACK}, 0, false);
    REQUIRE(listening.ok());
    port = *listening;
  }

  /// False: in vain.
  bool until(const std::function<bool()>& done) {
    const Instant end = now() + kPatience;
    while (!done() && now() < end) io.run_one_until(to_steady(end));
    return done();
  }
  UniqueFd client() const {
    UniqueFd fd = connect_to_loopback(port);
    REQUIRE(fd);
    return fd;
  }
};

void say(const UniqueFd& client, const std::string& text) {
  REQUIRE(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

/// What comes to it until its connection ends; with `flags` MSG_DONTWAIT what has come.
std::string heard(const UniqueFd& client, int flags = 0) {
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t got;
  while ((got = ::recv(client.get(), buffer.data(), buffer.size(), flags)) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

}  // namespace

TEST_CASE("every one of many clients of our own uid is let in, heard and answered", "[clients]") {
  Launcher launcher;
  launcher.on_bytes = [&](proto::ClientId id) {
    launcher.listener.send(id, "he", nullptr);
    launcher.listener.send(id, "ard", nullptr);
    launcher.listener.close(id);
  };
  constexpr std::size_t kClients = 200;
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(launcher.client());
    say(clients.back(), "x");
  }
  REQUIRE(launcher.until([&] { return launcher.said.size() == kClients; }));
  launcher.io.poll();
  for (const UniqueFd& client : clients) CHECK(heard(client) == "heard");
  CHECK(launcher.opened.size() == kClients);
  CHECK(launcher.closed.empty());
}

TEST_CASE("what is sent leaves at the end of the round, or at once if that is asked for", "[clients]") {
  Launcher launcher;
  const UniqueFd client = launcher.client();
  REQUIRE(launcher.until([&] { return launcher.opened.size() == 1; }));
  launcher.listener.send(launcher.opened[0], "one ", nullptr);
  CHECK(heard(client, MSG_DONTWAIT).empty());
  launcher.listener.send(launcher.opened[0], "two ", nullptr);
  launcher.listener.flush();
  CHECK(heard(client, MSG_DONTWAIT) == "one two ");
  launcher.listener.send(launcher.opened[0], "three", nullptr);
  launcher.io.poll();
  CHECK(heard(client, MSG_DONTWAIT) == "three");
}

TEST_CASE("what was sent before the listener goes arrives, and then the end", "[clients]") {
  auto launcher = std::make_unique<Launcher>();
  const UniqueFd client = launcher->client();
  REQUIRE(launcher->until([&] { return launcher->opened.size() == 1; }));
  launcher->listener.send(launcher->opened[0], "last words", nullptr);
  launcher.reset();
  CHECK(heard(client) == "last words");
}

TEST_CASE("a long answer to a client that is slow to read arrives whole before the end", "[clients]") {
  Launcher launcher;
  const UniqueFd client = launcher.client();
  REQUIRE(launcher.until([&] { return launcher.opened.size() == 1; }));
  const std::string answer(32U << 20, 'a');
  launcher.listener.send(launcher.opened[0], "head", nullptr);
  launcher.listener.send(launcher.opened[0], {}, std::make_shared<const std::string>(answer));
  launcher.listener.close(launcher.opened[0]);
  std::string got;
  std::array<char, 65536> buffer;
  const Instant end = now() + kPatience;
  for (ssize_t size = -1; size != 0 && now() < end;) {
    launcher.io.poll();
    size = ::recv(client.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size > 0) got.append(buffer.data(), static_cast<std::size_t>(size));
  }
  CHECK(got.size() == 4 + answer.size());
  CHECK(launcher.closed.empty());
}

TEST_CASE("a client that goes is told of, after what it said", "[clients]") {
  Launcher launcher;
  UniqueFd client = launcher.client();
  say(client, "bye");
  REQUIRE(launcher.until([&] { return launcher.said == "bye"; }));
  client.reset();
  CHECK(launcher.until([&] { return launcher.closed == launcher.opened; }));
}

TEST_CASE("a client that only says nothing more is answered; one that goes then is told of again",
          "[clients]") {
  Launcher launcher;
  const UniqueFd waits = launcher.client();
  UniqueFd goes = launcher.client();
  for (const UniqueFd* client : std::array<const UniqueFd*, 2>{&waits, &goes}) {
    say(*client, "x");
    REQUIRE(::shutdown(client->get(), SHUT_WR) == 0);
  }
  REQUIRE(launcher.until([&] { return launcher.silent == launcher.opened && launcher.opened.size() == 2; }));
  CHECK(launcher.said == "xx");
  launcher.listener.send(launcher.opened[0], "reply", nullptr);
  launcher.listener.close(launcher.opened[0]);
  launcher.io.poll();
  CHECK(heard(waits) == "reply");
  goes.reset();
  REQUIRE(launcher.until([&] { return !launcher.closed.empty(); }));
  CHECK(launcher.closed == std::vector{launcher.opened[1]});
}

TEST_CASE("who only waits for a reply makes room for a client that speaks", "[clients]") {
  constexpr std::size_t kClients = 32;
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit few{2 * kClients, usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  Launcher launcher;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(launcher.client());
  REQUIRE(launcher.until([&] { return launcher.opened.size() == kClients; }));
  REQUIRE(::shutdown(clients[2].get(), SHUT_WR) == 0);
  REQUIRE(launcher.until([&] { return launcher.silent.size() == 1; }));
  clients.push_back(launcher.client());
  REQUIRE(launcher.until([&] { return launcher.opened.size() == kClients + 1; }));
  CHECK(launcher.closed == launcher.silent);
}

namespace {

/// Of our process, which is connected to the launcher by a pair of sockets.
UniqueFd process_of(Launcher& launcher) {
  std::array<int, 2> pair{-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  launcher.listener.take(UniqueFd{pair[0]}, proto::ClientKind::native, 0);
  return UniqueFd{pair[1]};
}

struct Passed {
  std::string text;
  UniqueFd file;
  ino_t inode() const {
    struct stat status {};
    return ::fstat(file.get(), &status) == 0 ? status.st_ino : 0;
  }
};
/// All that has come. The kernel may hand over what was sent before it together with a descriptor, but
/// nothing behind it.
Passed passed_to(const UniqueFd& process) {
  Passed passed;
  for (;;) {
    std::array<char, 64> text;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control;
    iovec data{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(process.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0) return passed;
    passed.text.append(text.data(), static_cast<std::size_t>(got));
    const cmsghdr* part = CMSG_FIRSTHDR(&message);
    if (part == nullptr) continue;
    CHECK(passed.text == "beforetable");
    CHECK(!passed.file);
    CHECK(part->cmsg_len == CMSG_LEN(sizeof(int)));
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    passed.file.reset(fd);
  }
}

}  // namespace

TEST_CASE("all who get a table get it in the same memory, each with its own bytes", "[clients]") {
  Launcher launcher;
  const std::array<UniqueFd, 2> processes{process_of(launcher), process_of(launcher)};
  const wire::NodeTable table{1, 1, {{0, 0, 1, {{0, "a"}, {0, "b"}}}}};
  const wire::Blob coded = wire::encode(table);
  for (const proto::ClientId id : launcher.opened) {
    launcher.listener.send(id, "before", {});
    launcher.listener.send(id, "table", {}, {coded});
    launcher.listener.send(id, "behind", {});
  }
  launcher.listener.flush();
  std::array<Passed, 2> passed;
  for (int i = 0; i < 2; ++i) {
    passed[i] = passed_to(processes[i]);
    CHECK(passed[i].text == "beforetablebehind");
  }
  CHECK((passed[0].inode() != 0 && passed[0].inode() == passed[1].inode()));
  std::array<char, 4096> content;
  const ssize_t size = ::read(passed[0].file.get(), content.data(), content.size());
  REQUIRE(size > 0);
  CHECK(std::string(content.data(), static_cast<std::size_t>(size)) == wire::shared_form(table));
}

TEST_CASE("a process that takes nothing of very much that is shared is lost", "[clients]") {
  Launcher launcher;
  const UniqueFd process = process_of(launcher);
  const wire::Blob coded = wire::encode({1, 1, {{0, 0, 1, {{0, "a"}}}}});
  for (int i = 0; i < 4000 && launcher.closed.empty(); ++i) {
    launcher.listener.send(launcher.opened[0], "table", {}, {coded});
    if (i == 1000) CHECK(launcher.closed.empty());
  }
  CHECK(launcher.closed == launcher.opened);
}

TEST_CASE("a process whose table is damaged is lost, and its launcher says why", "[clients]") {
  Launcher launcher;
  const UniqueFd process = process_of(launcher);
  const auto damaged = GENERATE(wire::encode({1, 1, {{0, 1, 1, {{0, "a"}}}}}),  // 0 is missing
                                std::make_shared<const std::string>("none"));
  launcher.listener.send(launcher.opened[0], "table", {}, {damaged});
  CHECK(launcher.closed == launcher.opened);
  CHECK(launcher.notes == std::vector<std::string>{"the node table is damaged"});
  CHECK(heard(process).empty());
}

TEST_CASE("a process gets the socket of its port, and other bytes where there is none", "[clients]") {
  Launcher launcher;
  const std::array<UniqueFd, 2> processes{process_of(launcher), process_of(launcher)};
  const proto::PassedPort port{wire::PortKind::tcp, 0, 1, "none"};
  launcher.listener.send(launcher.opened[0], "before", {});
  launcher.listener.send(launcher.opened[0], "table", {}, {}, port);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  launcher.listener.send(launcher.opened[1], "a port", {}, {}, port);
  launcher.listener.send(launcher.opened[1], "another", {}, {}, port);
  ::setrlimit(RLIMIT_NOFILE, &before);
  launcher.listener.flush();

  const Passed passed = passed_to(processes[0]);
  int type = 0;
  socklen_t size = sizeof type;
  CHECK(::getsockopt(passed.file.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0);
  CHECK(type == SOCK_STREAM);
  CHECK(heard(processes[1], MSG_DONTWAIT) == "nonenone");
  REQUIRE(launcher.notes.size() == 1);  // once
  CHECK(launcher.notes[0] == "no port for a process of this host: Too many open files");
}

}  // namespace charmtree::client_listener_test
