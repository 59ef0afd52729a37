// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/singleton.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "charmrun/mpiexec/mpiexec_words.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/io/write_all.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::mpiexec {

namespace {

constexpr std::string_view kWord = "-pmi_args", kRelayWord = "++singleton-relay";
constexpr std::size_t kMaxLine = 4096;  // bytes; a line of the greeting has about 60

/// Reads a line, with its end, and not a byte further; empty: the connection is closed, or sends no lines.
std::string read_pmi_line(int fd) {
  std::string line;
  char next = 0;
  while (line.size() < kMaxLine) {
    const ssize_t size = ::read(fd, &next, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return {};
    line += next;
    if (next == '\n') return line;
  }
  return {};
}

/// Returns the launcher's answer to a request; empty if there is none.
std::string request(int launcher, std::string_view text) {
  return io::write_all(launcher, text) ? read_pmi_line(launcher) : std::string{};
}

/// Queries the launcher for the name of the job's key-value space, and names it to the program. Both sides
/// say their versions later, by init.
bool greet(int launcher, int program) {
  constexpr std::string_view kName = " kvsname=";
  if (request(launcher, "cmd=init pmi_version=1 pmi_subversion=1\n").empty()) return false;
  const std::string answer = request(launcher, "cmd=get_my_kvsname\n");
  const std::size_t name = answer.find(kName);
  if (name == std::string::npos) return false;
  if (request(program, "cmd=singinit authtype=none\n").empty()) return false;
  return io::write_all(program, "cmd=singinit_info versionok=yes stdio=no" + answer.substr(name));
}

io::UniqueFd connect_to(std::uint16_t port) {
  io::UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

/// Carries what one of the two sends to the other one, until one of them closes.
void carry(int launcher, int program) {
  std::array<pollfd, 2> ends{{{launcher, POLLIN, 0}, {program, POLLIN, 0}}};
  std::array<char, 1U << 16> bytes{};
  while (::poll(ends.data(), ends.size(), -1) > 0 || errno == EINTR) {
    for (std::size_t each = 0; each < ends.size(); ++each) {
      if (ends[each].revents == 0) continue;
      const ssize_t size = ::read(ends[each].fd, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return;
      if (!io::write_all(ends[1 - each].fd, {bytes.data(), static_cast<std::size_t>(size)})) return;
    }
  }
}

/// Returns why it cannot be done; empty: the program or the launcher has closed the connection.
std::string relay(std::uint16_t port) {
  ::signal(SIGPIPE, SIG_IGN);
  int launcher = -1;
  if (!read_whole(io::own_variable("PMI_FD").value_or(""), launcher))
    return "the relay of a program without launcher is started by charmrun alone";
  const io::UniqueFd program = connect_to(port);
  if (!program) return "the program that wants to start others does not accept a connection";
  if (!greet(launcher, program.get())) return "the program that wants to start others does not speak PMI-1";
  carry(launcher, program.get());
  return {};
}

}  // namespace

std::optional<Singleton> singleton_of(std::span<const std::string> argv) {
  if (argv.empty() || !is_mpiexec(argv[0])) return {};
  Singleton program;
  auto words = argv.subspan(1);
  program.verbose = !words.empty() && words[0] == "-v";
  if (program.verbose) words = words.subspan(1);
  constexpr std::size_t kWords = 5;
  if (words.size() != kWords || words[0] != kWord) return {};
  if (!read_whole(words[1], program.port) || !read_whole(words[4], program.process)) return {};
  return program;
}

std::vector<std::string> job_of(const Singleton& program, const std::string& self) {
  std::vector<std::string> words{"charmrun",      "++launcher",    self, "+p1", "++local", "++pmi", "1",
                                 "++allow-spawn", "++kill-on-exit"};
  if (program.verbose) words.emplace_back("++verbose");
  words.insert(words.end(), {self, "++", std::string{kRelayWord}, std::to_string(program.port)});
  return words;
}

void end_program(const Singleton& program) {
  const pid_t parent = ::getppid();
  if (parent > 1 && (program.process == parent || program.process == ::getpid())) ::kill(parent, SIGTERM);
}

std::optional<std::string> run_singleton_relay(std::span<const std::string> argv) {
  std::uint16_t port = 0;
  if (argv.size() != 3 || argv[1] != kRelayWord || !read_whole(argv[2], port)) return {};
  return relay(port);
}

}  // namespace charmtree::mpiexec
