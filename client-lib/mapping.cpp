// SPDX-License-Identifier: Apache-2.0
#include "client-lib/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace charmtree::client {

Mapping::~Mapping() {
  if (at_ != nullptr) ::munmap(at_, size_);
}

/// What could shrink would end us by SIGBUS. Privately: before Linux 6.7 what may not be written cannot be
/// mapped as shared. Pages that are only read are the same ones either way.
Mapping Mapping::of_sealed(int fd) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_WRITE;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  struct stat file {};
  if (seals < 0 || (seals & kNeeded) != kNeeded || ::fstat(fd, &file) != 0 || file.st_size <= 0) return {};
  const auto size = static_cast<std::size_t>(file.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  return at == MAP_FAILED ? Mapping{} : Mapping{at, size};
}

Mapping Mapping::to_write(int fd, std::size_t size) {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? Mapping{} : Mapping{at, size};
}

Mapping Mapping::wiped_by_fork() {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return {};
  Mapping page{at, size};
  if (::madvise(at, size, MADV_WIPEONFORK) != 0) return {};
  *static_cast<char*>(at) = 1;
  return page;
}

}  // namespace charmtree::client
