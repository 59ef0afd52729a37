// SPDX-License-Identifier: Apache-2.0
// An MPI program that no launcher has started: its command, and the relay between it and its job.
#include "charmrun/mpiexec/singleton.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "tree/io/unique_fd.hpp"
#include "tree/io/write_all.hpp"

namespace charmtree::singleton_test {

using namespace charmtree::mpiexec;
using io::UniqueFd;
using Words = std::vector<std::string>;

namespace {

std::string received(const UniqueFd& socket) {
  std::array<char, 256> bytes{};
  const ssize_t size = ::read(socket.get(), bytes.data(), bytes.size());
  return {bytes.data(), size < 0 ? 0U : static_cast<std::size_t>(size)};
}

/// A program that listens, a launcher's end of PMI, and the relay between them on a thread.
struct Scene {
  Scene() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    launcher.reset(pair[0]);
    ::setenv("PMI_FD", std::to_string(pair[1]).c_str(), 1);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listening.get(), name, size) == 0);
    REQUIRE(::listen(listening.get(), 1) == 0);
    REQUIRE(::getsockname(listening.get(), name, &size) == 0);
    words = {"charmrun", "++singleton-relay", std::to_string(ntohs(address.sin_port))};
  }
  ~Scene() { ::unsetenv("PMI_FD"); }
  void run() {
    relay = std::thread{[this] {
      failure = run_singleton_relay(words);
      ::close(pair[1]);
    }};
  }
  std::array<int, 2> pair{};
  UniqueFd launcher, listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Words words;
  std::thread relay;
  std::optional<std::string> failure;
};

}  // namespace

TEST_CASE("the command of a program without launcher is known under mpiexec's names alone", "[mpiexec]") {
  const Words words{"/x/mpiexec", "-pmi_args", "40001", "default_interface", "default_key", "77"};
  const auto program = singleton_of(words);
  REQUIRE(program);
  CHECK((program->port == 40001 && program->process == 77 && !program->verbose));
  const auto verbose = singleton_of(Words{"mpiexec", "-v", "-pmi_args", "1", "i", "k", "2"});
  REQUIRE(verbose);
  CHECK((verbose->port == 1 && verbose->process == 2 && verbose->verbose));

  CHECK_FALSE(singleton_of(Words{"charmrun", "-pmi_args", "1", "i", "k", "2"}));
  CHECK_FALSE(singleton_of(Words{"mpiexec", "-pmi_args", "1", "i", "k"}));
  CHECK_FALSE(singleton_of(Words{"mpiexec", "-pmi_args", "65536", "i", "k", "2"}));
  CHECK_FALSE(singleton_of(Words{"mpiexec", "-n", "1", "-pmi_args", "1", "i", "k", "2"}));
  CHECK_FALSE(singleton_of({}));
}

TEST_CASE("the job of a program without launcher has its relay as the one process", "[mpiexec]") {
  const Words words = job_of({40001, 77, true}, "/x/charmrun");
  CHECK(Words{words.end() - 4, words.end()} == Words{"/x/charmrun", "++", "++singleton-relay", "40001"});
  CHECK(std::find(words.begin(), words.end(), "++verbose") != words.end());
  CHECK_FALSE(run_singleton_relay(words));
}

TEST_CASE("the relay names the job to the program, and carries what both send", "[mpiexec]") {
  // given a program that waits for mpiexec, and a launcher
  Scene scene;
  scene.run();
  // when the launcher has answered the relay
  CHECK(received(scene.launcher) == "cmd=init pmi_version=1 pmi_subversion=1\n");
  io::write_all(scene.launcher.get(), "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n");
  CHECK(received(scene.launcher) == "cmd=get_my_kvsname\n");
  io::write_all(scene.launcher.get(), "cmd=my_kvsname rc=0 kvsname=kvs_7\n");
  // then the program is greeted, and gets the name
  UniqueFd program{::accept(scene.listening.get(), nullptr, nullptr)};
  CHECK(received(program) == "cmd=singinit authtype=none\n");
  io::write_all(program.get(), "cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes authtype=none\n");
  CHECK(received(program) == "cmd=singinit_info versionok=yes stdio=no kvsname=kvs_7\n");
  // and speaks to the launcher from here on
  io::write_all(program.get(), "cmd=init pmi_version=1 pmi_subversion=1\n");
  CHECK(received(scene.launcher) == "cmd=init pmi_version=1 pmi_subversion=1\n");
  io::write_all(scene.launcher.get(), "cmd=response_to_init rc=0\n");
  CHECK(received(program) == "cmd=response_to_init rc=0\n");
  // until it closes the connection
  program.reset();
  scene.relay.join();
  CHECK(scene.failure == "");
  CHECK(received(scene.launcher).empty());
}

TEST_CASE("the relay fails if the program or the launcher has gone", "[mpiexec]") {
  Scene scene;
  std::string why;
  SECTION("the program does not listen any more") {
    scene.listening.reset();
    why = "does not accept a connection";
  }
  SECTION("the launcher closes its connection") {
    scene.launcher.reset();
    why = "does not speak PMI-1";
  }
  scene.run();
  scene.relay.join();
  REQUIRE(scene.failure);
  CHECK(scene.failure->ends_with(why));
}

}  // namespace charmtree::singleton_test
