// SPDX-License-Identifier: Apache-2.0
#include "client-lib/segment.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

namespace charmtree::client {

namespace {
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

/// A number, and nothing else.
bool is_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}
}  // namespace

std::optional<Segment> Segment::make(std::size_t size) {
  // glibc has memfd_create since 2.27; hosts are older.
  const int fd = static_cast<int>(::syscall(SYS_memfd_create, "charmtree", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) return {};
  Segment segment{fd, {}};
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0 || ::fcntl(fd, F_ADD_SEALS, kSeals) != 0) return {};
  segment.mapping_ = Mapping::to_write(fd, size);
  if (segment.mapping_.empty()) return {};
  return segment;
}

/// Only what is sealed is such memory: no other file can be meant, whatever the name says.
std::optional<Segment> Segment::open(std::string_view name, std::size_t size) {
  const std::size_t gap = name.find(' ');
  if (gap == std::string_view::npos || !is_number(name.substr(0, gap)) || !is_number(name.substr(gap + 1)))
    return {};
  const std::string path =
      "/proc/" + std::string{name.substr(0, gap)} + "/fd/" + std::string{name.substr(gap + 1)};
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  Segment segment{fd, {}};
  struct stat file {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(fd, &file) != 0 ||
      static_cast<std::size_t>(file.st_size) != size)
    return {};
  segment.mapping_ = Mapping::to_write(fd, size);
  if (segment.mapping_.empty()) return {};
  return segment;
}

Segment::~Segment() {
  if (fd_ >= 0) ::close(fd_);
}

std::string Segment::name() const {
  return std::to_string(::getpid()) + ' ' + std::to_string(fd_);
}

}  // namespace charmtree::client
