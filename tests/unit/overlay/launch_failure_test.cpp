// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/launch_failure.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace charmtree::launch_failure_test {

using namespace charmtree::proto;

namespace {

struct Case {
  Via via;
  int status;
  const char* said;
  Errc code;
  Phase phase;
};

const Case kCases[] = {
    // what shells and the loader say when charmrun cannot be run
    {Via::ssh, 127, "bash: line 1: exec: /opt/charmrun: not found\n", Errc::no_launcher, Phase::exec},
    {Via::ssh, 127, "bash: line 1: /opt/charmrun: No such file or directory\n", Errc::no_launcher,
     Phase::exec},
    {Via::ssh, 1, "/opt/charmrun: Command not found.\n", Errc::no_launcher, Phase::exec},
    {Via::command, 127, "sh: 1: exec: /opt/charmrun: not found\n", Errc::no_launcher, Phase::exec},
    {Via::ssh, 126, "bash: /opt/charmrun: cannot execute binary file: Exec format error\n",
     Errc::cannot_execute, Phase::exec},
    {Via::ssh, 126, "sh: 1: exec: /opt/charmrun: Permission denied\n", Errc::cannot_execute, Phase::exec},
    {Via::ssh, 1, "/opt/charmrun: Permission denied.\n", Errc::cannot_execute, Phase::exec},
    {Via::ssh, 127,
     "charmrun: error while loading shared libraries: libx.so.1: cannot open shared object file: No such "
     "file\n",
     Errc::library_missing, Phase::exec},
    {Via::ssh, 1, "charmtree cannot stage: no room in /home/me for its 9 bytes\n", Errc::no_launcher,
     Phase::exec},
    {Via::local, 1, "", Errc::remote_shell, Phase::exec},
    // what the ssh command says
    {Via::command, 255, "root@n1: Permission denied (publickey).\n", Errc::not_authorised,
     Phase::authenticate},
    {Via::command, 255, "Received disconnect: Too many authentication failures\n", Errc::not_authorised,
     Phase::authenticate},
    {Via::command, 255, "No ED25519 host key is known for n1\nHost key verification failed.\n",
     Errc::host_key_unknown, Phase::host_key},
    {Via::command, 255,
     "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n",
     Errc::host_key_changed, Phase::host_key},
    {Via::command, 255, "ssh: Could not resolve hostname n1: Name or service not known\n", Errc::no_such_host,
     Phase::resolve},
    {Via::command, 255, "ssh: Could not resolve hostname n1: Temporary failure in name resolution\n",
     Errc::timed_out, Phase::resolve},
    {Via::command, 255, "ssh: connect to host n1 port 22: Connection refused\n", Errc::refused,
     Phase::connect},
    {Via::command, 255, "ssh: connect to host n1 port 22: Connection timed out\n", Errc::timed_out,
     Phase::connect},
    {Via::command, 255, "ssh: connect to host n1 port 22: No route to host\n", Errc::unreachable,
     Phase::connect},
    {Via::command, 255, "ssh: connect to host n1 port 22: Network is unreachable\n", Errc::unreachable,
     Phase::connect},
    {Via::command, 255, "kex_exchange_identification: read: Connection reset by peer\n", Errc::busy,
     Phase::handshake},
    {Via::command, 255, "ssh: something new\n", Errc::remote_shell, Phase::exec},
    // a status of 255 that is not the ssh command's means nothing
    {Via::ssh, 255, "Permission denied\n", Errc::remote_shell, Phase::exec},
};

}  // namespace

TEST_CASE("a launcher that crashes at its start is one that cannot be used", "[launch_failure]") {
  const Error error = explain_failed_launch({-1, "SEGV", "", ""}, Via::ssh, "/opt/charmrun");
  CHECK(error.code == Errc::cannot_execute);
  CHECK(is_unusable_launcher(error.code));
  CHECK(error.what == "/opt/charmrun was killed by signal SEGV at its start");
  CHECK(explain_failed_launch({-1, "KILL", "", ""}, Via::ssh, "x").code == Errc::remote_shell);
}

TEST_CASE("why no launcher came up, from what was said", "[launch_failure]") {
  for (const Case& each : kCases) {
    CAPTURE(each.said, each.status);
    const Error error = explain_failed_launch({each.status, "", each.said, ""}, each.via, "/opt/charmrun");
    CHECK(name(error.code) == name(each.code));
    CHECK(name(error.phase) == name(each.phase));
    CHECK_FALSE(error.what.empty());
    CHECK((!error.fix.empty() || each.via == Via::local));
    CHECK(error.what.find('\n') == std::string::npos);
  }
}

TEST_CASE("a server that takes no key says what it takes", "[launch_failure]") {
  const auto said = [](const char* methods) {
    return explain_failed_launch({255, "", fmt::format("me@n1: Permission denied ({}).\n", methods), ""},
                                 Via::command, "x");
  };
  CHECK(said("password,keyboard-interactive").what == "the server takes only: password,keyboard-interactive");
  CHECK(said("password").fix.find("ControlMaster") != std::string::npos);
  CHECK(said("password").code == Errc::not_authorised);
  CHECK(said("publickey,password").what == "no key or method was accepted");
}

TEST_CASE("what is not understood is shown: the last line, bounded and printable", "[launch_failure]") {
  const std::string said = "first\nquota exceeded \x1b[31m" + std::string(1000, 'x') + "\r\n \n";
  const Error error = explain_failed_launch({1, "", said, ""}, Via::ssh, "charmrun");
  CHECK(error.what.starts_with(
      "the remote shell ended before the launcher greeted (exited with status 1): quota exceeded [31mxxx"));
  CHECK(error.what.size() < 300);
  CHECK(explain_failed_launch({-1, "KILL", "", ""}, Via::local, "charmrun").what ==
        "the launcher ended before the launcher greeted (killed by signal KILL)");
  CHECK(explain_failed_launch({-1, "", "", "connection reset"}, Via::ssh, "charmrun").what ==
        "the remote shell ended before the launcher greeted (connection reset)");
}

TEST_CASE("a launcher that is lost later", "[launch_failure]") {
  const Error error =
      explain_lost_link({-1, "", "client_loop: send disconnect: Broken pipe\n", "closed by the other side"});
  CHECK(error.code == Errc::link_lost);
  CHECK(error.what ==
        "lost the launcher there (closed by the other side): client_loop: send disconnect: Broken pipe");
}

TEST_CASE("what a loader's list says is missing", "[launch_failure]") {
  using Names = std::vector<std::string>;
  CHECK(missing_libraries("").empty());
  CHECK(missing_libraries("\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n")
            .empty());
  CHECK(missing_libraries(
            "\tliba.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n\tlibb.so => not found") ==
        Names{"liba.so.1", "libb.so"});
  CHECK(missing_libraries("/app: /lib/libc.so.6: version `GLIBC_2.99' not found (required by /app)\n"
                          "/app: /lib/libc.so.6: version `GLIBC_2.99' not found (required by /libx.so)\n") ==
        Names{"GLIBC_2.99"});
  CHECK(missing_libraries(
            "Error loading shared library libm.so: No such file or directory (needed by /app)\n") ==
        Names{"libm.so"});
  CHECK(missing_libraries(
            "/app: error while loading shared libraries: liba.so.1: cannot open shared object file\n") ==
        Names{"liba.so.1"});
  std::string many;
  for (int i = 0; i < 100; ++i) many += "\tlib" + std::to_string(i) + ".so => not found\n";
  CHECK(missing_libraries(many).size() == kMostMissing);
}

}  // namespace charmtree::launch_failure_test
