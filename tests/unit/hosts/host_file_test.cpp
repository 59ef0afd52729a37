// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/host_file.hpp"

#include <catch2/catch.hpp>

namespace charmtree::host_file_test {

namespace {

/// "name slots login port", a line for each host.
std::string shown(const Nodelist& list) {
  std::string text;
  for (const NodelistHost& host : list.hosts) {
    const HostOptions& options = list.options_of(host);
    text += host.name + ' ' + std::to_string(host.slots);
    if (!options.login.empty()) text += ' ' + options.login;
    if (options.port != 0) text += ' ' + std::to_string(options.port);
    text += '\n';
  }
  return text;
}

std::string hosts_of(std::string_view text) {
  const auto list = parse_nodelist(text, "hosts");
  INFO((list ? std::string{} : to_string(list.error())));
  REQUIRE(list.ok());
  CHECK(list->gives_slots);
  return shown(*list);
}

std::string mistake(std::string_view text) {
  const auto list = parse_nodelist(text, "hosts");
  REQUIRE_FALSE(list.ok());
  CHECK((list.error().code == Errc::bad_input && list.error().phase == Phase::nodelist));
  return list.error().what;
}

}  // namespace

TEST_CASE("a file of hosts is read as each launcher and batch system writes it") {
  for (const auto* text : {
           "a:4\nb\n",                     // MPICH
           "a:4 binding=user:0 # x\nb:1",  //
           "a slots=4\nb slots=1\n",       // Open MPI
           "# of two\n\na slots = 4 max_slots=8 // best\r\nb\r\n",
           "a 4\nb 1",                                                       // LSF
           "a 4 b 1\n",                                                      // $LSB_MCPU_HOSTS
           "a 3 all.q@a UNDEFINED\nb 1 all.q@b <NULL>\na 1 long.q@a 0,1\n",  // $PE_HOSTFILE
           "a\na\nb\na\na",                                                  // PBS, OAR
           "\xEF\xBB\xBF"
           "a:2\nb\na:2\n",
           "a,a,a,a,b",
       }) {
    INFO(text);
    CHECK(hosts_of(text) == "a 4\nb 1\n");
  }
  CHECK(hosts_of("me@n[08-10]:2") == "n08 2 me\nn09 2 me\nn10 2 me\n");
  CHECK(hosts_of("n username=you port=2222\n[m]:22\n") == "n 1 you 2222\nm 1 22\n");
  CHECK(hosts_of("r[1-2]n[1,3]\nn[1-4]!n2&n[2-3]") == "r1n1 1\nr1n3 1\nr2n1 1\nr2n3 1\nn3 1\n");
  CHECK(hosts_of("a slots=0\nb\n") == "b 1\n");
  CHECK(hosts_of("host\ngroup\n") == "host 1\ngroup 1\n");
  CHECK(hosts_of("::1 slots=2\n[fe80::1%eth0]:22\n[2001:db8::1]\n") ==
        "::1 2\nfe80::1%eth0 1 22\n2001:db8::1 1\n");
}

TEST_CASE("a mistake in a file of hosts has its line and column") {
  const auto begins = [](std::string_view text, std::string_view what) {
    const std::string message = mistake(text);
    INFO(message);
    CHECK(message.starts_with(what));
  };
  begins("a\nb:x\n", "hosts:2:3: a number of slots belongs behind the ':'\n  b:x\n    ^");
  begins("a slots=x", "hosts:1:3: slots= needs a number of slots");
  begins("a port=0", "hosts:1:3: port= needs a number from 1 to 65535");
  begins("a colour=red",
         "hosts:1:3: 'colour=red' is not understood behind a host: a line is HOST, HOST:SLOTS");
  begins("a b", "hosts:1:3: 'b' is not understood behind a host");
  begins("a:2\n b slots=3\n",
         "hosts:2:4: this line is of Open MPI's or LSF's (HOST slots=N, HOST N), and line 1 of");
  begins("a 2\nb:3\n",
         "hosts:2:1: this line is of MPICH's kind (HOST:SLOTS), and line 1 of Open MPI's or LSF's");
  begins("a:2 slots=2", "hosts:1:1: its slots are given twice");
  begins("a:2222", "hosts:1:3: slots, or a port? A port is written [a]:2222, slots a slots=2222");
  begins("[a]:66000", "hosts:1:5: a port is a number from 1 to 65535");
  begins("-oProxyCommand=x", "hosts:1:1: a host name cannot begin with '-'");
  begins("@a", "hosts:1:1: a group can be named by ++host and ++exclude, and not in the file");
  begins("-x@a", "hosts:1:1: a login name cannot begin with '-'");
  begins("a,,b", "hosts:1:3: a host is missing here");
  begins("a[1,2", "hosts:1:2: '[' without ']'");
  begins("n[8-011]", "hosts:1:5: the two ends of the range have zeros in front in different ways");
  begins("a 4 b", "hosts:1:5: a number of slots is missing behind 'b'");
  begins("a 4 q@a X Y", "hosts:1:11: more words than in a line of SGE's");
  begins("^a", "hosts:1:1: '^a' counts on an allocation");
  begins("rank 0=a slot=1", "hosts:1:6: '0=a' is not understood behind a host");
  begins("a\x1B[0m", "hosts:1:2: control character 0x1b");
  CHECK(mistake("// nobody\n") == "hosts: it names no host");
  CHECK(parse_host_file("n[1-9]\nn[1-9]", "h", 12).error().what.starts_with("h:2:1: more than 12 hosts"));
}

TEST_CASE("a line that begins with host or group makes it a nodelist of Charm++") {
  CHECK_FALSE(is_host_file("# of mine\n  group main\n host a\n"));
  CHECK_FALSE(is_host_file("login me\nhost a\n"));
  CHECK_FALSE(is_host_file(""));
  CHECK(is_host_file("hosta\nhost # by this name\n"));
  CHECK(is_host_file("host = 2\n"));
}

}  // namespace charmtree::host_file_test
