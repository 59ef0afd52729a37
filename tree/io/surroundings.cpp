// SPDX-License-Identifier: Apache-2.0
#include "tree/io/surroundings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sstream>

extern char** environ;

namespace charmtree::io {

namespace {

constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

Error unreadable(const std::string& path, int error) {
  return {Errc::bad_input, Phase::options, fmt::format("cannot read {}: {}", path, strerror(error))};
}

bool is_program(const std::string& path) {
  struct stat info {};
  return ::access(path.c_str(), X_OK) == 0 && ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

}  // namespace

std::string own_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::optional<std::string>{} : value;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

std::array<std::string, 4> ssh_connection_words() {
  const char* text = std::getenv("SSH_CONNECTION");
  std::istringstream stream{text == nullptr ? "" : text};
  std::array<std::string, 4> words;
  for (std::string& word : words) stream >> word;
  return words;
}

std::vector<std::string> program_candidates(const std::string& program, std::string_view path) {
  if (program.find('/') != std::string::npos) return {program};
  if (path.empty()) path = kUsualPath;
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string_view folder = path.substr(at, end - at);
    found.push_back(fmt::format("{}/{}", folder.empty() ? "." : folder, program));
    at = end + 1;
  }
  return found;
}

std::string find_program(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::vector<std::string> all = program_candidates(program, path == nullptr ? "" : path);
  const auto it = std::find_if(all.begin(), all.end(), is_program);
  return it == all.end() ? std::string{} : *it;
}

Result<std::string> read_file(const UniqueFd& file, const std::string& path, std::size_t limit) {
  std::string text;
  std::array<char, 64U << 10> part;
  for (;;) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > limit) {
      return Error{Errc::bad_input, Phase::options,
                   limit < (1U << 20) ? fmt::format("{} is longer than {} bytes", path, limit)
                                      : fmt::format("{} is longer than {} MiB", path, limit >> 20)};
    }
  }
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return unreadable(path, errno);
  return read_file(file, path, limit);
}

/// glibc has getrandom since 2.25, kernels since 3.17; hosts are older, and have the device. Without either
/// nothing may go on.
std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  UniqueFd device;
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = device ? ::read(device.get(), bytes.data() + at, size - at)
                               : ::syscall(SYS_getrandom, bytes.data() + at, size - at, 0);
    if (got > 0) at += static_cast<std::size_t>(got);
    if (got <= 0 && !device) device = UniqueFd{::open("/dev/urandom", O_RDONLY | O_CLOEXEC)};
  }
  return bytes;
}

std::optional<Pipe> open_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return {};
  return Pipe{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

std::optional<SocketPair> socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) return {};
  return SocketPair{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

void set_non_blocking(int fd) {
  int on = 1;
  ::ioctl(fd, FIONBIO, &on);
}

}  // namespace charmtree::io
