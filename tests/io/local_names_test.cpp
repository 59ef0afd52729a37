// SPDX-License-Identifier: Apache-2.0
// Names without a file are free for all to take: who owns one stops nobody who looks for another user's
// listener.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "charmrun/control/control_socket.hpp"
#include "charmrun/control/protocol.hpp"
#include "charmrun/control/status_service.hpp"
#include "health/adoption_socket.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/link/links.hpp"
#include "tree/io/listener.hpp"

namespace charmtree::local_names_test {

using namespace charmtree::io;
using control::ask_running_jobs;
using control::socket_name;

namespace {

/// Of this run of the test alone.
std::string some_job(int number) {
  return fmt::format("{:08x}{:08x}", ::getpid(), number);
}

/// A name that is taken; nobody answers there, unless it listens.
UniqueFd take(const std::string& name, bool listens = false) {
  const auto address = local_address(name);
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  REQUIRE(::bind(fd.get(), address->get(), address->size) == 0);
  if (listens) REQUIRE(::listen(fd.get(), 4) == 0);
  return fd;
}

/// What a charmrun sends that has this status, and does not wait for the request.
std::string answer_of(const std::string& status) {
  return control::encode(control::Hello{control::kVersion, "another"}) + control::encode(control::Opened{}) +
         *control::encode(control::StatusMessage{control::Status{status}});
}

bool contains(const std::vector<std::string>& answers, const std::string& one) {
  return std::find(answers.begin(), answers.end(), one) != answers.end();
}

}  // namespace

TEST_CASE("a job whose name is taken is found under another", "[names]") {
  const std::string job = some_job(1);
  const UniqueFd squatter = take(socket_name(job));
  asio::io_context io{1};
  control::Listener listener{io};
  serve_status(listener, [&] { return job; });
  REQUIRE(listener.open(job));
  ::signal(SIGPIPE, SIG_IGN);  // as each charmrun does
  std::thread root{[&] { io.run(); }};
  const auto answers = ask_running_jobs();
  io.stop();
  root.join();
  CHECK(contains(answers, job));
}

TEST_CASE("there is one listener of ours for a job, whoever else has its name", "[names]") {
  const bool taken = GENERATE(false, true);
  const std::string job = some_job(taken ? 5 : 6);
  UniqueFd squatter;
  if (taken) squatter = take(socket_name(job));
  asio::io_context io{1};
  control::Listener first{io}, second{io};
  REQUIRE(first.open(job));
  CHECK_FALSE(second.open(job));
  squatter.reset();
  CHECK_FALSE(second.open(job));
}

TEST_CASE("jobs are asked all at once", "[names]") {
  const UniqueFd first = take(socket_name(some_job(2)), true), second = take(socket_name(some_job(3)), true);
  std::thread both{[&] {  // each waits until the other has been asked, too
    const UniqueFd one{::accept(first.get(), nullptr, nullptr)},
        other{::accept(second.get(), nullptr, nullptr)};
    const std::string one_answer = answer_of("first"), other_answer = answer_of("second");
    (void)!::write(one.get(), one_answer.data(), one_answer.size());
    (void)!::write(other.get(), other_answer.data(), other_answer.size());
  }};
  const auto answers = ask_running_jobs();
  both.join();
  CHECK(contains(answers, "first"));
  CHECK(contains(answers, "second"));
}

TEST_CASE("who asks for jobs does not come to a launcher that waits for its adoption", "[names]") {
  wire::JobSpec job;
  job.id = some_job(4);
  job.secret = "secret";
  asio::io_context io{1};
  int adopters = 0;
  Links links{io,
              wire::kCoreTypes,
              {},
              [&](const proto::Event& event) { adopters += holds_alternative<proto::LinkUp>(event) ? 1 : 0; },
              [](proto::LinkId) {},
              [](proto::LinkId) { return wire::Remit{}; }};
  const std::string name = health::adoption_socket(job, 3);
  REQUIRE(links.open_to_adopters(name));
  REQUIRE(links.open_to_adopters(name));  // for the next run
  ask_running_jobs();
  io.poll();
  CHECK(adopters == 0);
  const UniqueFd adopter = connect_to_own(name);
  REQUIRE(adopter);
  while (adopters == 0) io.run_one();
  CHECK(adopters == 1);
}

TEST_CASE("nobody connects to a listener of another user", "[names]") {
  if (::geteuid() != 0) return;  // only root can be two users
  const std::string name = fmt::format("@charmtree-test-{}", ::getpid());
  asio::io_context io{1};
  Listener listener{io, [](int fd, Listener::Peer) { ::close(fd); }};
  REQUIRE(listener.open_local(name));
  CHECK(connect_to_own(name));
  CHECK(local_names(name) == std::vector{name});
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(::setuid(64'123) == 0 && !connect_to_own(name) ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace charmtree::local_names_test
