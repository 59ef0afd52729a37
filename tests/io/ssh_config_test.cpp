// SPDX-License-Identifier: Apache-2.0
// What `ssh -G` says, for many names at a time. The ssh program itself is asked; a stand-in where it must
// misbehave.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <ctime>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/ssh/ssh_config.hpp"
#include "tree/io/ssh/ssh_config_groups.hpp"

namespace charmtree::ssh_config_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

struct Setting {
  explicit Setting(const std::string& config) {
    options.config_file =
        directory.write("config", config + "\nHost *\n GlobalKnownHostsFile " + directory.path("global") +
                                      "\n UserKnownHostsFile " + directory.path("known_hosts") + "\n");
    options.home = directory.path("");
    options.home.pop_back();
    options.user = "me";
  }
  SshAnswers ask(const std::vector<std::string>& names, const std::string& login = {},
                 std::uint16_t port = 0) {
    std::vector<SshQuery> queries;
    for (const std::string& name : names) queries.push_back(SshQuery{name, login, port});
    Result<SshAnswers> answers = SshConfig(options).ask(queries);
    INFO((answers.ok() ? std::string() : to_string(answers.error())));
    REQUIRE(answers.ok());
    REQUIRE(answers->hosts.size() == names.size());
    return std::move(*answers);
  }
  TempDir directory;
  SshConfigOptions options;
};

std::vector<std::string> many(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

const SshSettings& settings_of(const SshAnswers& answers, std::size_t i) {
  return answers.settings.at(answers.hosts.at(i).settings);
}

}  // namespace

TEST_CASE("ssh is asked once for each set of matching Host lines", "[ssh_config]") {
  Setting setting(
      "Host node*\n HostName %h.cluster.example\n Port 2222\n User alice\n IdentityFile ~/.ssh/cluster\n "
      "IdentitiesOnly yes\n"
      "Host rack*\n StrictHostKeyChecking accept-new\n"
      "Host gate\n HostName 10.1.2.3");
  auto names = many("node", 50);
  for (const std::string& name : many("rack", 50)) names.push_back(name);
  names.push_back("gate");
  names.push_back("other");

  const SshAnswers answers = setting.ask(names);

  CHECK(answers.asked == 4);
  CHECK(answers.hosts[0].address == "node1.cluster.example");
  CHECK(answers.hosts[49].address == "node50.cluster.example");
  CHECK(answers.hosts[50].address.empty());
  CHECK(answers.hosts[100].address == "10.1.2.3");
  const SshSettings& node = settings_of(answers, 7);
  CHECK(node.user == "alice");
  CHECK(node.port == 2222);
  CHECK(node.identity_files == std::vector{setting.options.home + "/.ssh/cluster"});
  CHECK(node.identities_only);
  CHECK(node.host_keys == HostKeyPolicy::strict);
  CHECK(node.known_hosts_file == setting.directory.path("known_hosts"));
  CHECK(settings_of(answers, 60).host_keys == HostKeyPolicy::accept_new);
  CHECK(settings_of(answers, 60).identity_files.empty());  // ssh's default files are not the user's wish
  CHECK(settings_of(answers, 101).port == 22);
  CHECK(answers.settings.size() == 3);
  CHECK(answers.hosts[0].known_name == "[node1.cluster.example]:2222");

  Profile profile;
  profile.launcher = "/x/charmrun";
  node.apply(profile);
  CHECK(profile.user == "alice");
  CHECK(profile.port == 2222);
  CHECK(profile.launcher == "/x/charmrun");
}

TEST_CASE("the nodelist's login and port win", "[ssh_config]") {
  Setting setting("Host node*\n Port 2222\n User alice");
  const SshAnswers answers = setting.ask({"node1"}, "bob", 2200);
  CHECK(settings_of(answers, 0).user == "bob");
  CHECK(settings_of(answers, 0).port == 2200);
}

TEST_CASE("known keys are found by HostName, port and HostKeyAlias", "[ssh_config]") {
  Setting setting(
      "Host a1\n HostName 10.0.0.1\nHost a2\n Port 2222\nHost a3\n HostKeyAlias pool\nHost a5\n Port 2222");
  setting.directory.write("known_hosts", "10.0.0.1 " + public_line("ed25519") + "\n[a2]:2222 " +
                                             public_line("ecdsa") + "\n@revoked a4 " +
                                             public_line("ed25519") + "\na5 " + public_line("ecdsa") + "\n");
  setting.directory.write(
      "global", "pool " + public_line("ed25519-2") + "\n@cert-authority a6 " + public_line("ed25519") + "\n");

  const SshAnswers answers = setting.ask({"a1", "a2", "a3", "a4", "a5", "a6", "a7"});

  CHECK(answers.hosts[0].known_keys == std::vector{public_key("ed25519")});
  CHECK(answers.hosts[1].known_keys == std::vector{public_key("ecdsa")});
  CHECK(answers.hosts[2].known_keys == std::vector{public_key("ed25519-2")});
  CHECK(answers.hosts[2].known_name == "pool");
  CHECK(answers.hosts[3].known_key_revoked);
  CHECK(answers.hosts[4].known_keys == std::vector{HostKey{"@other-port", public_key("ecdsa").blob}});
  CHECK(settings_of(answers, 5).ssh_command_only);
  CHECK(settings_of(answers, 5).why_command == "a @cert-authority line in known_hosts");
  CHECK(answers.hosts[6].known_keys.empty());
  CHECK_FALSE(settings_of(answers, 6).ssh_command_only);
}

TEST_CASE("what libssh2 cannot do is left to the ssh command; what is merely enabled is not",
          "[ssh_config]") {
  Setting setting(
      "Host j\n ProxyJump gate\nHost c\n ProxyCommand nc %h %p\nHost x\n CertificateFile ~/cert\nHost n\n "
      "ProxyJump none\n"
      " GSSAPIAuthentication yes\n HostbasedAuthentication yes");
  const SshAnswers answers = setting.ask({"j", "c", "x", "n"});
  CHECK(settings_of(answers, 0).why_command == "ProxyJump");
  CHECK(settings_of(answers, 1).why_command == "ProxyCommand");
  CHECK(settings_of(answers, 2).why_command == "CertificateFile");
  CHECK(settings_of(answers, 0).ssh_command_only);
  CHECK_FALSE(settings_of(answers, 3).ssh_command_only);
}

TEST_CASE("the algorithms that the user names go to libssh2, in the user's order, as far as it has them",
          "[ssh_config]") {
  Setting setting(
      "Host named\n Ciphers aes256-ctr,aes128-ctr\n MACs hmac-sha2-512\n"
      " KexAlgorithms ecdh-sha2-nistp521,curve25519-sha256\n HostKeyAlgorithms "
      "ecdsa-sha2-nistp256,ssh-ed25519\n"
      " PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256\n"
      "Host some\n Ciphers aes256-gcm@openssh.com,aes192-ctr\n"
      "Host less\n Ciphers -aes128-*,aes192-ctr\n"
      "Host more\n HostKeyAlgorithms +ssh-rsa\n"
      "Host first\n Ciphers ^aes256-ctr\n");
  const SshAnswers answers = setting.ask({"named", "some", "less", "more", "first"});
  const SshAlgorithms& named = settings_of(answers, 0).algorithms;
  CHECK(named.ciphers == "aes256-ctr,aes128-ctr");
  CHECK(named.macs == "hmac-sha2-512");
  CHECK(named.key_exchanges == "ecdh-sha2-nistp521,curve25519-sha256");
  CHECK(named.host_keys == "ecdsa-sha2-nistp256,ssh-ed25519");
  CHECK(named.user_keys == "ecdsa-sha2-nistp256");
  CHECK(settings_of(answers, 1).algorithms.ciphers == "aes192-ctr");
  CHECK(settings_of(answers, 2).algorithms.ciphers == "aes256-ctr");
  CHECK(settings_of(answers, 3).algorithms.host_keys ==
        "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,ssh-rsa");
  CHECK(settings_of(answers, 4).algorithms.ciphers.starts_with("aes256-ctr,"));
  for (std::size_t i = 0; i < 5; ++i) CHECK_FALSE(settings_of(answers, i).ssh_command_only);
  Profile profile;
  settings_of(answers, 0).apply(profile);
  CHECK(profile.algorithms == named);

  Setting silent("Host *\n Compression yes");  // what ssh would use anyhow binds nobody
  CHECK(settings_of(silent.ask({"a"}), 0).algorithms == SshAlgorithms{});
}

TEST_CASE("where libssh2 has none of the algorithms, or not what is to come first, there is the ssh command",
          "[ssh_config]") {
  Setting setting(
      "Host a\n Ciphers aes256-gcm@openssh.com,chacha20-poly1305@openssh.com\n"
      "Host b\n MACs umac-128-etm@openssh.com\n"
      "Host c\n KexAlgorithms sntrup761x25519-sha512@openssh.com\n"
      "Host d\n HostKeyAlgorithms rsa-sha2-*,ssh-ed25519-cert-v01@openssh.com\n"
      "Host e\n Ciphers ^aes256-gcm@openssh.com\n"
      "Host f\n PubkeyAcceptedAlgorithms rsa-sha2-512\n");
  const SshAnswers answers = setting.ask({"a", "b", "c", "d", "e", "f", "other"});
  const std::vector<std::string> why = {"Ciphers",           "MACs",    "KexAlgorithms",
                                        "HostKeyAlgorithms", "Ciphers", "PubkeyAcceptedAlgorithms"};
  for (std::size_t i = 0; i < why.size(); ++i) {
    CHECK(settings_of(answers, i).ssh_command_only);
    CHECK(settings_of(answers, i).why_command == why[i]);
  }
  CHECK_FALSE(settings_of(answers, 6).ssh_command_only);
}

TEST_CASE("the agent is the one that the user names", "[ssh_config]") {
  ::setenv("CHARMTREE_TEST_AGENT", "/run/other agent", 1);
  ::unsetenv("CHARMTREE_TEST_NONE");
  Setting setting(
      "Host none\n IdentityAgent none\n"
      "Host usual\n IdentityAgent SSH_AUTH_SOCK\n"
      "Host variable\n IdentityAgent $CHARMTREE_TEST_AGENT\n"
      "Host unset\n IdentityAgent $CHARMTREE_TEST_NONE\n"
      "Host part\n IdentityAgent ${CHARMTREE_TEST_AGENT}.%p\n"
      "Host home\n IdentityAgent ~/agent.sock\n"
      "Host path\n IdentityAgent /run/agent.%r\n User you\n");
  const SshAnswers answers =
      setting.ask({"none", "usual", "variable", "unset", "part", "home", "path", "other"});
  const std::vector<std::string> agents = {"none",
                                           "",
                                           "/run/other agent",
                                           "none",
                                           "/run/other agent.22",
                                           "",  // see below
                                           "/run/agent.you",
                                           ""};
  constexpr std::size_t kHome = 5;  // some versions of ssh know it better than we
  CHECK(settings_of(answers, kHome).agent.starts_with("/"));
  CHECK(settings_of(answers, kHome).agent.ends_with("/agent.sock"));
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (i != kHome) CHECK(settings_of(answers, i).agent == agents[i]);
    CHECK_FALSE(settings_of(answers, i).ssh_command_only);
  }
  Profile profile;
  settings_of(answers, 2).apply(profile);
  CHECK(profile.agent == agents[2]);

  Setting each("Host node*\n IdentityAgent /run/%n.sock\n");
  const SshAnswers own = each.ask({"node1", "node2"});
  CHECK(settings_of(own, 0).agent == "/run/node1.sock");
  CHECK(settings_of(own, 1).agent == "/run/node2.sock");
}

TEST_CASE("tokens are expanded for each host", "[ssh_config]") {
  Setting setting("Host node*\n HostName %h.x\n User u\n IdentityFile %d/keys/%n-%r-%h-%p-%%-%u\n");
  const SshAnswers answers = setting.ask({"node1", "node2"});
  CHECK(settings_of(answers, 0).identity_files ==
        std::vector{setting.options.home + "/keys/node1-u-node1.x-22-%-me"});
  CHECK(settings_of(answers, 1).identity_files ==
        std::vector{setting.options.home + "/keys/node2-u-node2.x-22-%-me"});
}

TEST_CASE("an answer that names the speaker is asked for each name", "[ssh_config]") {
  Setting setting("Host node*\n UserKnownHostsFile " + std::string("~/kh-%h") + "\n");
  const SshAnswers answers = setting.ask(many("node", 5));
  CHECK(answers.asked == 1 + 4);
  CHECK(settings_of(answers, 1).known_hosts_file.ends_with("/kh-node2"));
}

TEST_CASE("Match blocks that depend on more than the name are asked for each name", "[ssh_config]") {
  Setting setting("Match exec \"test %h = node2\"\n User two\nMatch all\n Port 2222");
  const SshAnswers answers = setting.ask(many("node", 3));
  CHECK(answers.asked == 3);
  CHECK(settings_of(answers, 0).user != "two");
  CHECK(settings_of(answers, 1).user == "two");
  Setting plain("Match originalhost node*\n User two\nMatch all\n Port 2222");
  CHECK(plain.ask(many("node", 3)).asked == 1);
}

TEST_CASE("without an ssh program the answers are ssh's defaults", "[ssh_config]") {
  Setting setting("Host *\n User nobody");
  setting.options.ssh = "no-such-ssh";
  setting.directory.write(".ssh/known_hosts", "node1 " + public_line("ed25519") + "\n");
  const SshAnswers answers = setting.ask({"node1", "node2"}, "", 0);
  CHECK(answers.asked == 0);
  CHECK(answers.note == "no no-such-ssh program here: ~/.ssh/config is not read");
  CHECK(settings_of(answers, 0).user == "me");
  CHECK(settings_of(answers, 0).port == 22);
  CHECK(answers.hosts[0].known_keys == std::vector{public_key("ed25519")});
  CHECK(answers.hosts[1].address.empty());
}

TEST_CASE("a configuration that ssh refuses, and an ssh that hangs, are errors", "[ssh_config]") {
  Setting wrong("Hots *\n");
  const auto refused = SshConfig(wrong.options).ask({SshQuery{"a", "", 0}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Errc::bad_input);
  CHECK(refused.error().what.find("line 1: Bad configuration option: hots") != std::string::npos);

  Setting slow("");
  slow.options.ssh = slow.directory.write("ssh", "#!/bin/sh\nexec sleep 30\n");
  chmod(slow.options.ssh.c_str(), 0700);
  slow.options.limit = 300ms;
  const Instant begun = now();
  const auto hung = SshConfig(slow.options).ask({SshQuery{"a", "", 0}});
  REQUIRE_FALSE(hung.ok());
  CHECK(hung.error().code == Errc::timed_out);
  CHECK(now() - begun < 5s);
}

TEST_CASE("ten thousand names are settled in a moment", "[ssh_config]") {
  Setting setting("Host node*\n HostName %h.x\nHost *5\n User five");
  const std::clock_t begun = std::clock();  // of ours: others may keep us waiting
  const SshAnswers answers = setting.ask(many("node", 10'000));
  CHECK(answers.asked == 2);
  CHECK(answers.settings.size() == 2);
  CHECK(std::clock() - begun < 5 * CLOCKS_PER_SEC);
}

TEST_CASE("groups follow includes, quotes, equal signs and negation", "[ssh_config]") {
  const TempDir directory;
  directory.write("inc/one", "Host = \"alpha\" beta\n");
  directory.write("inc/two", "Host gamma* !gamma9 # comment\nInclude config\n");
  const std::string file = directory.write("config", "  include inc/*\n# Host x\nhostname y\n");
  SshConfigGroups groups;
  groups.add_file(file, directory.path("").substr(0, directory.path("").size() - 1), "/nowhere");
  CHECK(groups.key("alpha") == groups.key("beta"));
  CHECK(groups.key("alpha") != groups.key("other"));
  CHECK(groups.key("gamma1") == groups.key("gamma2"));
  CHECK(groups.key("gamma9") == groups.key("other"));
  CHECK(groups.key("x") == groups.key("other"));
}

TEST_CASE("files that hold nothing for libssh2 need no question to ssh", "[ssh_config]") {
  const TempDir directory;
  const auto groups_of = [&](const std::string& text) {
    SshConfigGroups groups;
    groups.add_file(directory.write("config", text), "/nowhere", "/nowhere");
    return groups;
  };
  const std::string debian =
      "Include /nowhere/*.conf\nHost *\n  SendEnv LANG LC_*\n  GSSAPIAuthentication yes\n";
  CHECK(groups_of("").plain());
  CHECK(groups_of(debian).plain());
  CHECK_FALSE(groups_of(debian).hash_known_hosts());
  CHECK(groups_of(debian + "HashKnownHosts yes\nHashKnownHosts no\n").hash_known_hosts());
  CHECK(groups_of(debian + "HashKnownHosts yes\n").plain());
  for (const char* line :
       {"HashKnownHosts maybe", "Host a", "Host * !a", "Match all", "User me", "Port 23", "ProxyJump a",
        "IdentityFile x", "Ciphers aes256-ctr", "MACs hmac-sha1", "KexAlgorithms -a", "HostKeyAlgorithms +b",
        "IdentityAgent none", "NoSuchOption", "UserKnownHostsFile /x"}) {
    CAPTURE(line);
    CHECK_FALSE(groups_of(debian + line + "\n").plain());
  }
  SshConfigGroups folder;
  folder.add_file(directory.path(""), "/nowhere", "/nowhere");
  CHECK_FALSE(folder.plain());
}

}  // namespace charmtree::ssh_config_test
