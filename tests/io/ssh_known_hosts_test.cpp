// SPDX-License-Identifier: Apache-2.0
// known_hosts files as ssh reads them, checked against ssh-keygen where that can say it.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/ssh/known_hosts_writer.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::ssh_known_hosts_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

KnownHosts parse(const std::string& text) {
  KnownHosts hosts;
  hosts.add_text(text);
  return hosts;
}

/// Writes at once; the lock must be free.
Result<void> add_known_host(const std::string& file, const std::string& name, const HostKey& key,
                            NameStyle style) {
  asio::io_context io;
  KnownHostsWriter writer{io};
  std::optional<Result<void>> result;
  writer.add(file, {name, key, style}, [&](const Result<void>& outcome) { result = outcome; });
  writer.finish();
  return result.value();
}

std::vector<HostKey> keys(const KnownHosts& hosts, const std::string& name) {
  return hosts.lookup(name).keys;
}

}  // namespace

TEST_CASE("plain names, comma lists, ports, comments and blanks", "[known_hosts]") {
  const std::string one = public_line("ed25519"), two = public_line("ecdsa");
  const KnownHosts hosts = parse("# comment\n\n  \t# another\nalpha,Beta.example,10.0.0.1 " + one +
                                 " a comment\r\n\tbeta.example\t" + two + "\n[alpha]:2222 " + two);
  CHECK(keys(hosts, "alpha") == std::vector{public_key("ed25519")});
  CHECK(keys(hosts, "BETA.example") == std::vector{public_key("ed25519"), public_key("ecdsa")});
  CHECK(keys(hosts, "10.0.0.1") == std::vector{public_key("ed25519")});
  CHECK(keys(hosts, "[alpha]:2222") == std::vector{public_key("ecdsa")});
  CHECK(keys(hosts, "alph").empty());
  CHECK(keys(hosts, "[alpha]:22").empty());
  CHECK(hosts.skipped_lines() == 0);
  CHECK(known_hosts_name("Alpha", 22) == "alpha");
  CHECK(known_hosts_name("Alpha", 2222) == "[alpha]:2222");
}

TEST_CASE("wildcards and negation", "[known_hosts]") {
  const KnownHosts hosts = parse("node*,!node13,rack?-n* " + public_line("ed25519"));
  CHECK(keys(hosts, "node1").size() == 1);
  CHECK(keys(hosts, "node").size() == 1);
  CHECK(keys(hosts, "node13").empty());
  CHECK(keys(hosts, "rack1-n22").size() == 1);
  CHECK(keys(hosts, "rack12-n22").empty());
  CHECK(matches_pattern_list("abc", "a*c"));
  CHECK(matches_pattern_list("abbc", "a*b?"));
  CHECK(matches_pattern_list("aXbXc", "*X?"));
  CHECK_FALSE(matches_pattern_list("abc", "!abc"));
  CHECK_FALSE(matches_pattern_list("abc", ""));
  CHECK_FALSE(matches_pattern_list("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*a*c"));
}

TEST_CASE("names hashed by ssh-keygen are found", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.write(
      "kh", "alpha " + public_line("ed25519") + "\n[beta]:2222 " + public_line("ecdsa") + "\n");
  REQUIRE(run({"ssh-keygen", "-H", "-f", file}) == 0);
  REQUIRE(read_text(file).starts_with("|1|"));
  KnownHosts hosts;
  hosts.add_file(file);
  CHECK(keys(hosts, "Alpha") == std::vector{public_key("ed25519")});
  CHECK(keys(hosts, "[beta]:2222") == std::vector{public_key("ecdsa")});
  CHECK(keys(hosts, "beta").empty());
}

TEST_CASE("revoked keys are marked, certificate authorities are noted", "[known_hosts]") {
  const KnownHosts hosts = parse("alpha " + public_line("ed25519") + "\n@revoked * " + public_line("ecdsa") +
                                 "\n@cert-authority *.example " + public_line("ed25519-2") + "\n@unknown x " +
                                 public_line("ed25519"));
  const KnownKeys alpha = hosts.lookup("alpha");
  CHECK(alpha.revoked);
  CHECK_FALSE(alpha.certificate_authority);
  CHECK(alpha.keys == std::vector{public_key("ed25519"), HostKey{"@revoked", public_key("ecdsa").blob}});
  CHECK(hosts.lookup("a.example").certificate_authority);
  CHECK(hosts.skipped_lines() == 1);
}

TEST_CASE("malformed lines are skipped, the others count", "[known_hosts]") {
  const std::string good = public_line("ed25519");
  const std::string blob = good.substr(good.find(' ') + 1);
  const KnownHosts hosts =
      parse("alpha\nalpha ssh-ed25519\nalpha ssh-ed25519 !!!!\nalpha ssh-rsa " + blob +
            "\nalpha 1024 35 12345\n|1|bad|bad " + good + "\n|2|x|y " + good + "\n@revoked\nalpha " +
            std::string(100'000, 'A') + "\nalpha " + good + "\n" + std::string("\0\x01\xff", 3));
  CHECK(keys(hosts, "alpha") == std::vector{public_key("ed25519")});
  CHECK(hosts.skipped_lines() == 10);
}

TEST_CASE("a host on another port falls back to its name, marked", "[known_hosts]") {
  const KnownHosts hosts =
      parse("alpha " + public_line("ed25519") + "\n@revoked alpha " + public_line("ecdsa") +
            "\n[beta]:2222 " + public_line("ed25519") + "\nbeta " + public_line("ecdsa"));
  const KnownKeys alpha = hosts.lookup_host("alpha", 2222, "");
  CHECK(alpha.keys == std::vector{HostKey{"@other-port", public_key("ed25519").blob},
                                  HostKey{"@revoked", public_key("ecdsa").blob}});
  CHECK(alpha.revoked);
  CHECK(hosts.lookup_host("beta", 2222, "").keys == std::vector{public_key("ed25519")});
  CHECK(hosts.lookup_host("other", 2222, "beta").keys == std::vector{public_key("ecdsa")});
}

TEST_CASE("ten thousand names among ten thousand lines are quick", "[known_hosts]") {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "node" + std::to_string(i) + " " + public_line("ed25519") + "\n";
  const KnownHosts hosts = parse(text);
  const Instant begun = now();
  std::size_t found = 0;
  for (int i = 0; i < 10'000; ++i) found += keys(hosts, "node" + std::to_string(i)).size();
  CHECK(found == 10'000);
  CHECK(now() - begun < 2s);
}

TEST_CASE("more keys for a name than anybody has are cut and said so", "[known_hosts]") {
  std::string text;
  HostKey key = public_key("ed25519");
  for (std::size_t i = 0; i < kMaxKeysPerHost + 1; ++i) {
    key.blob.back() = static_cast<char>(i);
    key.blob[key.blob.size() - 2] = static_cast<char>(i >> 8);
    text += "alpha " + key.type + " " + encode_base64(key.blob) + "\n";
  }
  const KnownHosts hosts = parse(text);
  CHECK(hosts.lookup("alpha").keys.size() == kMaxKeysPerHost);
  CHECK(hosts.lookup("alpha").too_many);
}

TEST_CASE("a key is added once, in a directory and a file that only the user can read", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.path("dot-ssh/known_hosts");
  for (int i = 0; i < 3; ++i) {
    REQUIRE(add_known_host(file, "Alpha", public_key("ed25519"), NameStyle::plain).ok());
    REQUIRE(add_known_host(file, "[beta]:2222", public_key("ed25519"), NameStyle::hashed).ok());
  }
  const std::string text = read_text(file);
  CHECK(text.starts_with("alpha " + public_line("ed25519") + "\n|1|"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(run({"ssh-keygen", "-F", "[beta]:2222", "-f", file}) == 0);
  CHECK(run({"ssh-keygen", "-F", "gamma", "-f", file}) != 0);
  struct stat info {};
  REQUIRE(stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(stat(directory.path("dot-ssh").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
}

TEST_CASE("no key is added beside another one of its type, nor one that is revoked", "[known_hosts]") {
  const TempDir directory;
  const std::string text =
      "alpha " + public_line("ed25519") + "\n@revoked beta " + public_line("ecdsa") + "\n";
  const std::string file = directory.write("kh", text);
  const auto second = add_known_host(file, "alpha", public_key("ed25519-2"), NameStyle::plain);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().what == "another key of its type is there");
  const auto revoked = add_known_host(file, "beta", public_key("ecdsa"), NameStyle::hashed);
  REQUIRE_FALSE(revoked.ok());
  CHECK(revoked.error().what == "it is revoked there");
  CHECK(read_text(file) == text);
  CHECK(add_known_host(file, "alpha", public_key("ecdsa"), NameStyle::plain).ok());
  CHECK(add_known_host(file, "beta", public_key("ed25519"), NameStyle::hashed).ok());
}

TEST_CASE("of two keys that come together for one name the first is added", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.path("kh");
  asio::io_context io;
  KnownHostsWriter writer{io};
  std::vector<bool> added;
  for (const char* key : {"ed25519", "ed25519-2"})
    writer.add(file, {"alpha", public_key(key), NameStyle::hashed},
               [&](const Result<void>& outcome) { added.push_back(outcome.ok()); });
  writer.finish();
  CHECK(added == std::vector{true, false});
  KnownHosts hosts;
  hosts.add_file(file);
  CHECK(keys(hosts, "alpha") == std::vector{public_key("ed25519")});
}

TEST_CASE("a last line without its end stays a line of its own", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.write("kh", "alpha " + public_line("ed25519"));
  REQUIRE(add_known_host(file, "beta", public_key("ecdsa"), NameStyle::plain).ok());
  KnownHosts hosts;
  hosts.add_file(file);
  CHECK(keys(hosts, "alpha").size() == 1);
  CHECK(keys(hosts, "beta").size() == 1);
}

TEST_CASE("writers in several processes neither mix nor repeat lines", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.path("kh");
  const HostKey key = public_key("ed25519");
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      bool good = true;
      for (int i = 0; i < 50; ++i)
        good &= add_known_host(file, "node" + std::to_string(i), key, NameStyle::plain).ok();
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  const std::string text = read_text(file);
  CHECK(std::count(text.begin(), text.end(), '\n') == 50);
}

TEST_CASE("nothing is written but one name, one type and its key", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.write("kh", "");
  const HostKey good = public_key("ed25519");
  HostKey blank = good, other = good;
  blank.type += "\nevil ssh-ed25519";
  other.type = "ssh-rsa";
  for (const char* name : {"", "alpha beta", "alpha\nevil", "alpha\t"})
    CHECK_FALSE(add_known_host(file, name, good, NameStyle::plain).ok());
  CHECK_FALSE(add_known_host(file, "alpha", blank, NameStyle::plain).ok());
  CHECK_FALSE(add_known_host(file, "alpha", other, NameStyle::plain).ok());
  CHECK(read_text(file).empty());
}

TEST_CASE("keys that come together are written together, each once", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.path("kh"), other = directory.path("other");
  asio::io_context io;
  KnownHostsWriter writer{io};
  int good = 0;
  const auto count = [&](const Result<void>& outcome) { good += outcome.ok() ? 1 : 0; };
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i)
      writer.add(file, {"node" + std::to_string(i), public_key("ed25519"), NameStyle::plain}, count);
    writer.add(other, {"alpha", public_key("ed25519"), NameStyle::hashed}, count);
  }
  CHECK(good == 0);

  io.run();

  CHECK(good == 1002);
  const std::string text = read_text(file), hashed = read_text(other);
  CHECK(std::count(text.begin(), text.end(), '\n') == 500);
  CHECK(std::count(hashed.begin(), hashed.end(), '\n') == 1);
}

TEST_CASE("somebody's lock holds up neither the loop nor the key", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.write("kh", "");
  UniqueFd holder{open(file.c_str(), O_RDWR)};
  REQUIRE(flock(holder.get(), LOCK_EX) == 0);
  asio::io_context io;
  KnownHostsWriter writer{io};
  asio::steady_timer beat{io};
  Instant last = now();
  Duration longest{0};
  bool done = false;
  std::function<void()> tick = [&] {
    longest = std::max(longest, now() - last);
    last = now();
    beat.expires_after(1ms);
    if (!done) beat.async_wait([&](error_code) { tick(); });
  };
  asio::steady_timer release{io, std::chrono::milliseconds{300}};
  release.async_wait([&](error_code) { holder.reset(); });

  const Instant begun = now();
  writer.add(file, {"alpha", public_key("ed25519"), NameStyle::plain}, [&](const Result<void>& outcome) {
    CHECK(outcome.ok());
    done = true;
  });
  CHECK(now() - begun < 100ms);
  tick();
  io.run();

  CHECK(done);
  CHECK(longest < 200ms);
  CHECK(read_text(file).starts_with("alpha "));
}

TEST_CASE("a lock that is never given up, and a place that cannot be written, are errors", "[known_hosts]") {
  const TempDir directory;
  const std::string file = directory.write("kh", "");
  const int fd = open(file.c_str(), O_RDWR);
  REQUIRE(flock(fd, LOCK_EX) == 0);
  const Instant begun = now();
  const auto locked = add_known_host(file, "alpha", public_key("ed25519"), NameStyle::plain);
  CHECK_FALSE(locked.ok());
  CHECK(locked.error().phase == Phase::host_key);
  CHECK(now() - begun < 5s);
  close(fd);
  CHECK_FALSE(add_known_host("/proc/nowhere/kh", "alpha", public_key("ed25519"), NameStyle::plain).ok());
}

}  // namespace charmtree::ssh_known_hosts_test
