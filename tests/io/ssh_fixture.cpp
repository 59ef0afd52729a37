// SPDX-License-Identifier: Apache-2.0
#include "tests/io/ssh_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "tree/io/clock.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/ssh/ssh_ask.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/io/unique_fd.hpp"

// libssh2 1.10 itself loses about 100 bytes when a session ends in the middle of a key exchange and 50 with
// each renewed key exchange. That every session is freed shows all the same: its owner, SshSession, is ours.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libssh2\nleak:libcrypto\n";
}

namespace charmtree::io::test {

TempDir::TempDir() {
  std::string pattern = std::filesystem::temp_directory_path() / "charmtree-io-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::write(const std::string& name, const std::string& text) const {
  const std::string file = path(name);
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file) << text;
  chmod(file.c_str(), 0600);
  return file;
}

Process::Process(const std::vector<std::string>& argv, const std::string& log) : pid_(fork()) {
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(null, 0);
  dup2(out, 1);
  dup2(out, 2);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(const std::vector<std::string>& argv) {
  return run_commands({argv}, 30s)[0].status;
}

std::string key_path(const std::string& which) {
  static const TempDir directory;
  std::string path = directory.path(which);
  if (std::filesystem::exists(path)) return path;
  const std::size_t begin = which.starts_with("host_") ? 5 : 0;
  const std::string type = which.substr(begin, which.find('-') - begin);
  const bool secret = which.find("-passphrase") != std::string::npos;
  if (run({"ssh-keygen", "-q", "-t", type, "-N", secret ? "secret" : "", "-C", "test", "-f", path}) != 0) {
    throw std::runtime_error("ssh-keygen");
  }
  return path;
}

std::string public_line(const std::string& which) {
  const std::string text = read_text(key_path(which) + ".pub");
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

HostKey public_key(const std::string& which) {
  const std::string line = public_line(which);
  HostKey key;
  key.type = line.substr(0, line.find(' '));
  key.blob = decode_base64(line.substr(line.find(' ') + 1)).value();
  return key;
}

std::uint16_t free_port() {
  asio::io_context io;
  const asio::ip::tcp::acceptor acceptor(io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

Sshd::Sshd(const SshdSetup& setup) : setup_(setup), port_(free_port()) {
  if (geteuid() == 0) mkdir("/run/sshd", 0755);  // sshd's privilege separation needs it
  std::string config = fmt::format(
      "Port {}\nListenAddress 127.0.0.1\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n"
      "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd "
      "no\nLogLevel VERBOSE\n",
      port_, directory_.path("authorized_keys"));
  for (const std::string& key : setup.host_keys) config += "HostKey " + key_path("host_" + key) + "\n";
  std::string authorized;
  for (const std::string& key : setup.authorized) authorized += public_line(key) + "\n";
  directory_.write("authorized_keys", authorized);
  const std::string file = directory_.write("sshd_config", setup.extra + "\n" + config);
  process_ = std::make_unique<Process>(std::vector<std::string>{"/usr/sbin/sshd", "-D", "-e", "-f", file},
                                       directory_.path("log"));
  const Instant deadline = now() + 10s;
  const auto listens = [&] { return log().find("Server listening") != std::string::npos; };
  while (!listens() && now() < deadline) usleep(5000);  // tidy: allow(sleep) the start of another program
  if (!listens()) throw std::runtime_error("sshd did not start: " + log());
}

Host Sshd::host() const {
  Host host;
  host.name = "127.0.0.1";
  for (const std::string& key : setup_.host_keys) host.known_keys.push_back(public_key("host_" + key));
  return host;
}

Profile Sshd::profile() const {
  Profile profile;
  profile.user = getpwuid(geteuid())->pw_name;
  profile.port = port_;
  profile.identity_files = {key_path("ed25519")};
  return profile;
}

SshSurroundings Bench::nobody() {
  SshSurroundings surroundings;
  surroundings.home = "/nonexistent";
  surroundings.user = getpwuid(geteuid())->pw_name;
  return surroundings;
}

Bench::Bench(SshSurroundings surroundings) : transport(io, resolver, std::move(surroundings)) {}

bool Bench::run_until(const std::function<bool()>& done) {
  const Instant deadline = now() + 30s;
  while (!done()) {
    if (now() > deadline) return false;
    if (io.stopped()) io.restart();
    io.run_one_for(100ms);
  }
  return true;
}

LoginResult Bench::login(const Host& host, const Profile& profile, const std::string& command,
                         LoginLimits limits) {
  std::optional<LoginResult> outcome;
  transport.login(host, profile, command, limits, [&](LoginResult result) { outcome = std::move(result); });
  if (outcome) throw std::runtime_error("done was called from inside login()");
  if (!run_until([&] { return outcome.has_value(); })) throw std::runtime_error("the login did not end");
  return std::move(*outcome);
}

Agent::Agent(const std::vector<std::string>& keys) : process_({"ssh-agent", "-D", "-a", socket()}) {
  const Instant deadline = now() + 5s;
  const auto listens = [address = local_address(socket())] {  // its file is there a moment before
    const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    return ::connect(fd.get(), address->get(), address->size) == 0;
  };
  while (!listens() && now() < deadline) usleep(2000);  // tidy: allow(sleep) the start of another program
  const std::string askpass = directory_.write("askpass", "#!/bin/sh\necho secret\n");
  chmod(askpass.c_str(), 0700);
  for (const std::string& key : keys) {
    if (run({"env", "SSH_AUTH_SOCK=" + socket(), "SSH_ASKPASS=" + askpass, "SSH_ASKPASS_REQUIRE=force",
             "ssh-add", key_path(key)}) != 0)
      throw std::runtime_error("ssh-add");
  }
}

SshSurroundings with_agent(const std::string& socket) {
  SshSurroundings surroundings = Bench::nobody();
  surroundings.agent_socket = socket;
  return surroundings;
}

std::shared_ptr<Collected> collect(Link& link) {
  auto collected = std::make_shared<Collected>();
  Link::Handlers handlers;
  handlers.on_bytes = [collected](std::string_view bytes) { collected->bytes += bytes; };
  handlers.on_end = [collected](LinkEnd end) { collected->end = std::move(end); };
  link.start(std::move(handlers));
  return collected;
}

FakeServer::FakeServer(asio::io_context& io, std::string text, Then then)
    : acceptor_(io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      text_(std::move(text)),
      then_(then) {
  accept();
}

void FakeServer::accept() {
  auto socket = std::make_shared<asio::ip::tcp::socket>(acceptor_.get_executor());
  acceptor_.async_accept(*socket, [this, socket](error_code error) {
    if (error) return;
    socket->async_send(asio::buffer(text_), [this, socket](error_code, std::size_t) {
      error_code ignored;
      if (then_ == Then::close) socket->shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    });
    if (then_ == Then::silence) kept_.push_back(socket);
    accept();
  });
}

}  // namespace charmtree::io::test
