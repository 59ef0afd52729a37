// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/nodelist.hpp"

#include <catch2/catch.hpp>

#include "charmrun/hosts/host_pattern.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::nodelist_test {

namespace {

Nodelist good(std::string_view text, std::string_view group = kDefaultNodegroup) {
  auto list = parse_nodelist(text, "nodes", group);
  INFO((list ? std::string{} : to_string(list.error())));
  REQUIRE(list.ok());
  return std::move(*list);
}

Error failure(std::string_view text, std::string_view group = kDefaultNodegroup) {
  const auto list = parse_nodelist(text, "nodes", group);
  REQUIRE_FALSE(list.ok());
  CHECK(list.error().code == Errc::bad_input);
  CHECK(list.error().phase == Phase::nodelist);
  return list.error();
}

std::string mistake(std::string_view text) {
  return failure(text).what;
}

std::vector<std::string> names(const Nodelist& list) {
  std::vector<std::string> out;
  for (const auto& host : list.hosts) out.push_back(host.name);
  return out;
}

using Names = std::vector<std::string>;
using Command = std::vector<std::string>;

}  // namespace

TEST_CASE("hosts of the main group come in the order of the file") {
  CHECK(names(good("group main\nhost b\n  host a\n\thost c")) == Names{"b", "a", "c"});
  CHECK(names(good("host early\ngroup other\nhost no\ngroup main\nhost late\n")) == Names{"early", "late"});
}

TEST_CASE("comments, blank lines, CR-LF and a byte order mark do not count") {
  const auto list = good(
                        "\xEF\xBB\xBF# top\r\n  # indented\r\n\r\n \t \nhost a # one\r\nhost b # x\r\n"
                        "host c ++cpus 3 #no\r\n",
                        "main")
                        .hosts.size();
  CHECK(list == 3);
}

TEST_CASE("a word keeps a # inside it") {
  CHECK(good("host a ++ext .x#1").options_of(good("host a ++ext .x#1").hosts[0]).ext == ".x#1");
}

TEST_CASE("another group is chosen by name") {
  const std::string_view text = "group main\nhost a\ngroup \"big one\" login x\nhost b\nhost c login y\n";
  const auto list = good(text, "big one");
  CHECK(names(list) == Names{"b", "c"});
  CHECK(list.options_of(list.hosts[0]).login == "x");
  CHECK(list.options_of(list.hosts[1]).login == "y");
}

TEST_CASE("an empty group names those that have hosts") {
  const auto error = failure("group a\nhost x\nhost y\ngroup b\ngroup c\nhost z[1-5]\n");
  CHECK(error.what == "nodes: group 'main' has no host");
  CHECK(error.fix == "groups with hosts: a (2 hosts), c (5 hosts); choose one with ++nodegroup");
  CHECK(failure("# nothing\n").what == "nodes: it names no host");
  CHECK(failure("").what == "nodes: it names no host");
}

TEST_CASE("the list of groups in a message is short") {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "group g" + std::to_string(i) + "\nhost h\n";
  CHECK(failure(text).fix.find("g9 (1 host) and 40 more") != std::string::npos);
}

TEST_CASE("options are inherited from the file, the group and the line") {
  const auto list = good(
      "++shell ssh login all\n"
      "host first\n"
      "group main ++++cpus 2 ext .g\n"
      "host a\n"
      "nice 5\n"
      "host b login own\n"
      "group main\n"
      "host c\n");
  CHECK(list.options_of(list.hosts[0]) == HostOptions{"all", {"ssh"}, "", {}, "", std::nullopt, 1});
  CHECK(list.options_of(list.hosts[1]) == HostOptions{"all", {"ssh"}, "", {}, ".g", std::nullopt, 2});
  CHECK(list.options_of(list.hosts[2]) == HostOptions{"own", {"ssh"}, "", {}, ".g", 5, 2});
  CHECK(list.options_of(list.hosts[3]) == HostOptions{"all", {"ssh"}, "", {}, "", std::nullopt, 1});
}

TEST_CASE("a star sets any key back to its default") {
  const auto list = good(
      "login l shell s ext e nice 1 cpus 4 pathfix /a /b env A=1\nsetup x\n"
      "host a login * shell * ext * nice * cpus * pathfix * env * ++setup *\n");
  CHECK(list.options_of(list.hosts[0]) == HostOptions{});
}

TEST_CASE("equal options are held once") {
  CHECK(good("login l\nhost a\nhost b cpus 2\nhost c ++cpus 2\nhost d[1-100] cpus 1").options.size() == 3);
}

TEST_CASE("a host named again gets a slot and its options are updated") {
  const auto list = good("host a cpus 2 login x\nhost b\nhost a\nhost a cpus 3\nhost b[1-2]\nhost b1\n");
  REQUIRE(names(list) == Names{"a", "b", "b1", "b2"});
  CHECK(list.hosts[0].slots == 3);
  CHECK(list.hosts[1].slots == 1);
  CHECK(list.hosts[2].slots == 2);
  CHECK(list.options_of(list.hosts[0]).cpus == 3);
  CHECK(list.options_of(list.hosts[0]).login == "x");
}

TEST_CASE("slots say how many processes a host is for, and a host that is named has them again") {
  const auto list =
      good("slots 2\nhost a\nhost b slots 3\nhost a\ngroup main slots *\nhost me@c:4,[d]:22!a\n");
  REQUIRE(names(list) == Names{"a", "b", "c", "d"});
  CHECK(list.gives_slots);
  CHECK(list.hosts[0].slots == 4);
  CHECK(list.hosts[1].slots == 3);
  CHECK(list.hosts[2].slots == 4);
  CHECK(list.options_of(list.hosts[2]).login == "me");
  CHECK(list.options_of(list.hosts[3]).port == 22);
  CHECK_FALSE(good("host a\nhost a cpus 4\n").gives_slots);
  CHECK(good("host a:2").gives_slots);
  CHECK(good("host a port 2222").options_of(good("host a port 2222").hosts[0]).port == 2222);
}

TEST_CASE("variables add up, values may be quoted with their names") {
  const auto list = good("env A=1\ngroup main ++env B=x=y\nhost a env 'C=two words' env A=2\nhost b\n");
  CHECK(list.options_of(list.hosts[0]).environment == Names{"A=1", "B=x=y", "C=two words", "A=2"});
  CHECK(list.options_of(list.hosts[1]).environment == Names{"A=1", "B=x=y"});
  CHECK(mistake("host a env A").starts_with("nodes:1:12: env needs NAME=VALUE"));
  CHECK(mistake("host a env =1").starts_with("nodes:1:12: env needs NAME=VALUE"));
  std::string many = "host a";
  for (std::size_t i = 0; i <= kMaxVariables; ++i) many += " env A=1";
  CHECK(mistake(many).find("more than 256 variables") != std::string::npos);
}

TEST_CASE("keys without use are accepted with their value") {
  CHECK(good("group main speed 1.0 passwd *\nhost a ++debugger gdb ++xterm 'xterm -e'").options.size() == 1);
}

TEST_CASE("a shell may have words and quotes") {
  const auto list = good("host a shell \"ssh -p 2222 -o 'A b'\"");
  CHECK(list.options_of(list.hosts[0]).shell == Command{"ssh", "-p", "2222", "-o", "A b"});
}

TEST_CASE("setup takes the rest of the line, or a quoted command") {
  const auto setup = [](std::string line) {
    const auto list = good("host a " + line);
    return list.options_of(list.hosts[0]).setup;
  };
  CHECK(setup("++setup  module load x; a=\"b c\" \r") == "module load x; a=\"b c\"");
  CHECK(setup("setup \"module load x\"") == "module load x");
  CHECK(setup("setup 'module load x' # why") == "module load x");
  CHECK(setup("setup 'a b' ++cpus 2") == "a b");
  CHECK(setup("setup '/opt/my tool' fast") == "'/opt/my tool' fast");
  CHECK(setup("setup echo \"it's\"") == "echo \"it's\"");
  CHECK(setup("setup \"a\"b") == "\"a\"b");
}

TEST_CASE("a mistake is shown with file, line, column, the line and a caret") {
  CHECK(mistake("group main\nhost a ++lgin bob\n") ==
        "nodes:2:8: unknown key 'lgin'; did you mean 'login'?; one host a line\n"
        "  host a ++lgin bob\n"
        "         ^");
  CHECK(mistake("\thost a ++shell \"ssh\r\n") ==
        "nodes:1:17: this quote is not closed\n"
        "   host a ++shell \"ssh\n"
        "                  ^");
  CHECK(mistake("host b\xC3\xBC ++x").ends_with("\n  host b\xC3\xBC ++x\n          ^"));
}

TEST_CASE("every mistake is named at its place") {
  const auto begins = [](std::string_view text, std::string_view what) {
    const std::string message = mistake(text);
    INFO(message);
    CHECK(message.starts_with(what));
  };
  begins("group x\nhots a", "nodes:2:1: unknown key 'hots' (known: login, ");
  begins("group x\nhost", "nodes:2:1: host needs a name");
  begins("group # x\nhost a", "nodes:1:1: group needs a name");
  begins("host a b", "nodes:1:8: unknown key 'b'");
  begins("host a login", "nodes:1:8: login needs a value (* for its default)");
  begins("host a login ''", "nodes:1:8: login needs a value");
  begins("host a login -oX", "nodes:1:14: a login name cannot begin with '-'");
  begins("host a setup", "nodes:1:8: setup needs a value");
  begins("host a pathfix /x", "nodes:1:16: pathfix needs two values: FROM TO");
  begins("host a nice 20", "nodes:1:13: nice needs a whole number from -20 to 19");
  begins("host a cpus 1x", "nodes:1:13: cpus needs a whole number");
  begins("host a cpus 0", "nodes:1:13: cpus needs a whole number");
  begins("host a shell \"'\"", "nodes:1:14: shell needs a command, with closed quotes");
  begins("host 'a'b", "nodes:1:9: a blank is missing after the closing quote");
  begins(
      "host a login b\x01"
      "c",
      "nodes:1:15: control character 0x01");
  begins("host -oProxyCommand=x", "nodes:1:6: a host name cannot begin with '-'");
  begins("host '-x'", "nodes:1:7: a host name cannot begin with '-'");
  begins("host -me@a", "nodes:1:6: a login name cannot begin with '-'");
  begins("host @a", "nodes:1:6: a group can be named by ++host and ++exclude");
  begins("host a slots 0", "nodes:1:14: slots needs a whole number from 1");
  begins("host a port 70000", "nodes:1:13: port needs a whole number from 1 to 65535");
  begins("host a;b", "nodes:1:7: a host name cannot hold ';'");
  begins("host 'a b'", "nodes:1:8: a host name cannot hold ' '");
  begins("host n[1-", "nodes:1:10: the range has no upper end");
  begins("host n[1", "nodes:1:7: '[' without ']'");
  begins("host n[a]", "nodes:1:8: a range needs numbers");
  begins("host n[5-4]", "nodes:1:8: the range runs backwards");
  begins("host n]", "nodes:1:7: ']' without '['");
  begins("host n[1-1000001]", "nodes:1:7: more than 1000000 hosts in one name");
}

TEST_CASE("mistakes in groups that are not chosen count too") {
  CHECK(mistake("host a\ngroup other\nhost b colour red\n").starts_with("nodes:3:8: unknown key 'colour'"));
}

TEST_CASE("a long line is cut around the mistake, and control characters are not passed on") {
  const std::string message = mistake("host a " + std::string(500, ' ') + "\x1B[31m" + std::string(500, 'x'));
  CHECK(message.size() < 800);
  CHECK(message.find('\x1B') == std::string::npos);
  CHECK(message.find("...") != std::string::npos);
}

TEST_CASE("a word is quoted short and harmless") {
  CHECK(quotable("++x\ty\x1B") == "++x?y?");
  CHECK(quotable(std::string(1000, 'x')) == std::string(kMaxQuotedWord, 'x') + "...");
}

TEST_CASE("limits hold") {
  CHECK(
      mistake("host a ext " + std::string(kMaxNodelistLine, 'x')).starts_with("nodes:1:65537: longer than"));
  std::string rules = "host a";
  for (std::size_t i = 0; i <= kMaxPathFixes; ++i) rules += " pathfix a b";
  CHECK(mistake(rules).find("more than 64 pathfix rules") != std::string::npos);
  CHECK(parse_nodelist("host n[1-1000]\n", "nodes", kDefaultNodegroup, 1000).ok());
  const auto one_more = parse_nodelist("host n[1-1000]\nhost m\n", "nodes", kDefaultNodegroup, 1000);
  REQUIRE_FALSE(one_more.ok());
  CHECK(one_more.error().what.starts_with("nodes:2:6: more than 1000 hosts"));
  CHECK(mistake("host " + std::string(kMaxHostName + 1, 'h')).find("longer than 255") != std::string::npos);
}

TEST_CASE("host patterns expand, zeros kept, the last bracket fastest") {
  CHECK(names(good("host node[08-10,20]")) == Names{"node08", "node09", "node10", "node20"});
  CHECK(names(good("host r[1-2]n[1,3].x")) == Names{"r1n1.x", "r1n3.x", "r2n1.x", "r2n3.x"});
  CHECK(names(good("host [1-2]")) == Names{"1", "2"});
  CHECK(names(good("host ::1\nhost fe80::1%eth0")) == Names{"::1", "fe80::1%eth0"});
}

TEST_CASE("pathfix rules are applied once each, the last first") {
  const std::vector<PathFix> growing = {{"/a", "/a/b"}};
  CHECK(*apply_pathfix("/a/c/a", growing) == "/a/b/c/a/b");
  const std::vector<PathFix> chain = {{"/y", "/z"}, {"/x", "/y"}};
  CHECK(*apply_pathfix("/x/app", chain) == "/z/app");
  CHECK(*apply_pathfix("/other", chain) == "/other");
  const std::vector<PathFix> removing = {{"/tmp_mnt", ""}};
  CHECK(*apply_pathfix("/tmp_mnt/home", removing) == "/home");
  const std::vector<PathFix> bursting(8, PathFix{"a", "aaaaaaaa"});
  CHECK_FALSE(apply_pathfix("/a", bursting).ok());
}

TEST_CASE("commands split at blanks, quotes hold together") {
  CHECK(*split_command("  ssh\t-p  2222 ") == Command{"ssh", "-p", "2222"});
  CHECK(*split_command("ssh -o\"A b\" '' x") == Command{"ssh", "-oA b", "", "x"});
  CHECK_FALSE(split_command("ssh 'x"));
  CHECK_FALSE(split_command("  "));
  CHECK_FALSE(split_command("'' x"));
}

TEST_CASE("ordinals are those of English") {
  std::string text;
  for (const std::uint64_t number : {1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 101, 111, 113, 123})
    text += ordinal(number) + ' ';
  CHECK(text == "1st 2nd 3rd 4th 10th 11th 12th 13th 21st 22nd 101st 111th 113th 123rd ");
}

TEST_CASE("a guess is near, or there is none") {
  const std::vector<std::string_view> words = {"nodelist", "nodegroup", "p", "verbose"};
  CHECK(closest_word("nodelsit", words) == "nodelist");
  CHECK(closest_word("NodeList", words) == "nodelist");
  CHECK(closest_word("verbos", words) == "verbose");
  CHECK(closest_word("q", words).empty());
  CHECK(closest_word("elephant", words).empty());
  CHECK(closest_word(std::string(1000, 'n'), words).empty());
}

TEST_CASE("a hundred thousand lines are read, and equal options are held once") {
  std::string text = "group main ++shell ssh\n";
  for (int i = 0; i < 100'000; ++i) text += "  host node" + std::to_string(i) + ".cluster ++cpus 4 # rack\n";
  const auto list = good(text);
  CHECK(list.hosts.size() == 100'000);
  CHECK(list.options.size() == 3);
}

}  // namespace charmtree::nodelist_test
