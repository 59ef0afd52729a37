// SPDX-License-Identifier: Apache-2.0
// The client library: sockets with ports that the launcher has bound.
#include <fcntl.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "client-lib/charmtree.h"
#include "tests/unit/client_lib_harness.hpp"

namespace charmtree::client_lib_ports_test {

using namespace charmtree::test;
namespace native = charmtree::wire::native;

namespace {

/// The socket is of this type, it is ours, and has this port, which may become known with it.
bool is_own(int fd, int type, const std::uint16_t& port) {
  int is = 0;
  socklen_t size = sizeof is;
  return fd >= 0 && port != 0 && ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &size) == 0 && is == type &&
         (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 && ::close(fd) == 0;
}

int ask_for_ports() {
  ct_job* job = nullptr;
  std::uint16_t tcp = 0, udp = 0;
  EXPECT(ct_init(&job) == CT_OK);
  EXPECT(ct_port(job, 3, &tcp) == CT_EINVAL && ct_port(job, CT_TCP, nullptr) == CT_EINVAL);
  const int stream = ct_port(job, CT_TCP, &tcp);
  EXPECT(stream >= 0 && port_of(stream) == tcp && ::listen(stream, 1) == 0);
  EXPECT(is_own(stream, SOCK_STREAM, tcp));
  EXPECT(ct_register(job, &tcp, sizeof tcp) == CT_OK);
  EXPECT(ct_table(job) == CT_OK);
  const int datagrams = ct_port(job, CT_UDP, &udp);
  EXPECT(is_own(datagrams, SOCK_DGRAM, udp));
  EXPECT(ct_port(job, CT_TCP, &tcp) == CT_EORDER && ct_port(job, CT_UDP, &udp) == CT_EORDER);
  return ct_finalize(job, 0) == CT_OK ? 0 : 9;
}

int ask_in_vain() {
  ct_job* job = nullptr;
  std::uint16_t port = 7;
  EXPECT(ct_init(&job) == CT_OK);
  EXPECT(ct_port(job, CT_UDP, &port) == CT_ENOPORT && port == 7);
  EXPECT(ct_port(job, CT_UDP, &port) == CT_ENOPORT);
  EXPECT(ct_barrier(job) == CT_OK);
  return ct_finalize(job, 0) == CT_OK ? 0 : 9;
}

int ask_and_wait() {
  ct_job* job = nullptr;
  std::uint16_t port = 0;
  EXPECT(ct_init(&job) == CT_OK && ct_set_timeout(job, 0) == CT_OK);
  EXPECT(ct_port(job, CT_TCP, &port) == CT_ETIMEDOUT);
  EXPECT(ct_port(job, CT_TCP, &port) == CT_ETIMEDOUT);
  EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
  EXPECT(ct_print(job, CT_STDOUT, "asked") == CT_OK);
  EXPECT(is_own(ct_port(job, CT_TCP, &port), SOCK_STREAM, port));
  return ct_finalize(job, 0) == CT_OK ? 0 : 9;
}

int ask_once() {
  ct_job* job = nullptr;
  std::uint16_t port = 0;
  EXPECT(ct_init(&job) == CT_OK);
  const int error = ct_port(job, CT_TCP, &port);
  ct_finalize(job, 0);
  return -error;
}

/// What becomes of a process that asks for a port and hears this.
int answered(const std::string& bytes, int descriptor) {
  const test::Listener listener;
  test::Child child{listener, 0, ask_once};
  test::Ear ear{welcome(listener)};
  ear.hears<native::PortWanted>();
  if (descriptor < 0)
    CHECK(::send(ear.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
  else
    CHECK(io::send_with(ear.fd, bytes.data(), bytes.size(), descriptor, MSG_NOSIGNAL) > 0);
  const int status = child.wait();
  ::close(ear.fd);
  return status;
}

}  // namespace

TEST_CASE("each process gets a socket of each kind from its launcher, with a port of its own", "[client]") {
  test::Launcher launcher{3};
  launcher.start(ask_for_ports);
  CHECK(launcher.serve() == std::vector<int>{0, 0, 0});
  CHECK(launcher.ports[wire::PortKind::tcp].size() == 3);
  CHECK(launcher.ports[wire::PortKind::udp].size() == 3);
}

TEST_CASE("a process for which there is no port is told so, and goes on", "[client]") {
  test::Launcher launcher{2};
  launcher.has_ports = false;
  launcher.start(ask_in_vain);
  CHECK(launcher.serve() == std::vector<int>{0, 0});
}

TEST_CASE("who asks for a port and does not wait asks once", "[client]") {
  const test::Listener listener;
  test::Child child{listener, 0, ask_and_wait};
  test::Ear ear{welcome(listener)};
  ear.hears<native::PortWanted>();
  CHECK(ear.hears<native::Print>().text == "asked");
  const std::string frame = native::to_frame(native::Port{wire::PortKind::tcp});
  CHECK(io::send_with(ear.fd, frame.data(), frame.size(), bound_socket(wire::PortKind::tcp).get(),
                      MSG_NOSIGNAL) > 0);
  CHECK(let_go(ear, child) == 0);
}

TEST_CASE("a port that nobody asked for, or without its socket, is no answer", "[client]") {
  const auto frame = [](wire::PortKind kind) { return native::to_frame(native::Port{kind}); };
  const io::UniqueFd socket = bound_socket(wire::PortKind::tcp);
  CHECK(answered(frame(wire::PortKind::tcp), -1) == -CT_EPROTO);
  CHECK(answered(frame(wire::PortKind::udp), socket.get()) == -CT_EPROTO);
  CHECK(answered(frame(wire::PortKind::tcp), io::sealed_file("no socket", "x").get()) == -CT_EPROTO);
}

TEST_CASE("alone, a process binds its sockets itself", "[client]") {
  clear_environment();
  ct_job* job = nullptr;
  std::uint16_t tcp = 0, udp = 0;
  REQUIRE(ct_init(&job) == CT_OK);
  CHECK(is_own(ct_port(job, CT_TCP, &tcp), SOCK_STREAM, tcp));
  CHECK(is_own(ct_port(job, CT_UDP, &udp), SOCK_DGRAM, udp));
  CHECK(ct_port(job, CT_TCP, &tcp) == CT_EORDER);
  CHECK(ct_finalize(job, 0) == CT_OK);
}

}  // namespace charmtree::client_lib_ports_test
