// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/host_choice.hpp"

#include <catch2/catch.hpp>

namespace charmtree::host_choice_test {

namespace {

constexpr std::string_view kNodes =
    "host a login me\nhost b\nhost b\n"
    "group gpu ++shell ssh\nhost b\nhost g[1-3] slots 2\n";

std::string chosen(std::string hosts, std::string excluded = {}, std::string_view text = kNodes) {
  const auto list = choose_hosts({text, "nodes"}, {std::move(hosts), std::move(excluded)});
  if (!list) {
    CHECK(list.error().code == Errc::bad_input);
    return list.error().what + "; " + list.error().fix;
  }
  std::string shown = list->gives_slots ? "" : "shares ";
  for (const NodelistHost& host : list->hosts) {
    const HostOptions& options = list->options_of(host);
    shown += host.name + ':' + std::to_string(host.slots);
    if (!options.login.empty()) shown += " by " + options.login;
    if (!options.shell.empty()) shown += " by a shell";
    shown += ' ';
  }
  return shown;
}

}  // namespace

TEST_CASE("hosts are chosen, with what the list says of them") {
  CHECK(chosen("") == "shares a:1 by me b:2 ");
  CHECK(chosen("b") == "b:2 ");
  CHECK(chosen("b:5,a") == "b:5 a:1 by me ");
  CHECK(chosen("you@a") == "a:1 by you ");
  CHECK(chosen("x[1-2]") == "x1:1 x2:1 ");
  CHECK(chosen("x,x:2", "", "") == "x:3 ");
}

TEST_CASE("a list without shares of its own keeps its slots") {
  CHECK(chosen("", "b", "a:2\nb\nc\n") == "a:2 c:1 ");
  CHECK(chosen("c,a", "", "a:2\nb\nc\n") == "c:1 a:2 ");
}

TEST_CASE("sets are put together from left to right") {
  CHECK(chosen("@gpu") == "b:1 by a shell g1:2 by a shell g2:2 by a shell g3:2 by a shell ");
  CHECK(chosen("@gpu!g2") == "b:1 by a shell g1:2 by a shell g3:2 by a shell ");
  CHECK(chosen("a,@gpu&g[2-9],x") == "g2:2 by a shell g3:2 by a shell x:1 ");
  CHECK(chosen("@gpu,@gpu,g1!b!g2") == "g1:2 by a shell g3:2 by a shell ");
  CHECK(chosen("n[1-6]!n[2-3]", "n5,other") == "n1:1 n4:1 n6:1 ");
}

TEST_CASE("what is wrong with a choice is shown at its place") {
  CHECK(chosen("a,@gpo").starts_with("++host:1:3: nodes: group 'gpo' has no host: groups with hosts: main"));
  CHECK(chosen("@gpu", "", "a:2\nb\n")
            .starts_with("++host:1:1: nodes: it has no group 'gpu': groups are Charm++'s"));
  CHECK(chosen("a!@gpu", "", "a:2\nb\n").starts_with("++host:1:3: nodes: it has no group 'gpu'"));
  CHECK(chosen("@gpu", "", "").starts_with("++host:1:1: there is no nodelist that has groups"));
  CHECK(chosen("a!").starts_with("++host:1:3: a host is missing here\n  a!\n    ^"));
  CHECK(chosen("a", "n[1").starts_with("++exclude:1:2: '[' without ']'"));
  CHECK(chosen("", "a,b").starts_with("++exclude a,b: no host is left"));
  CHECK(chosen("a&b").starts_with("++host a&b: no host is left"));
  CHECK(chosen("", "a", "host a b\n").starts_with("nodes:1:8: unknown key 'b'"));
}

TEST_CASE("a number is no host: the resolver would make an address of it") {
  for (const char* number : {"28", "10.1", "0x1c", "1.2.3.4.5", "7.", "a,28"}) {
    INFO(number);
    CHECK(chosen(number).find("is a number, not a name or an address; -n says how many") !=
          std::string::npos);
  }
  CHECK(chosen("", "", "28\n").starts_with("the host '28' is a number"));
  CHECK(chosen("", "", "host 28\n").starts_with("the host '28' is a number"));
  for (const char* host : {"10.0.0.1", "n28", "28n", "0xn", "10.1.example", "[::1]", "fe80::1"})
    CHECK(chosen(host).find("number") == std::string::npos);
}

}  // namespace charmtree::host_choice_test
