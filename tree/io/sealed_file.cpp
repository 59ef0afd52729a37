// SPDX-License-Identifier: Apache-2.0
#include "tree/io/sealed_file.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tree/io/write_all.hpp"

namespace charmtree::io {

namespace {

/// glibc has memfd_create and its seals since 2.27; hosts are older. Where vm.memfd_noexec is 2, Linux 6.3
/// makes none but those that can never be executed.
UniqueFd memory_file(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING, kNeverExecuted = 8;  // MFD_NOEXEC_SEAL
  long file = ::syscall(SYS_memfd_create, name, kFlags);
  if (file < 0 && errno == EACCES) file = ::syscall(SYS_memfd_create, name, kFlags | kNeverExecuted);
  return UniqueFd{static_cast<int>(file)};
}

}  // namespace

UniqueFd sealed_file(const char* name, std::string_view content) {
  UniqueFd file = memory_file(name);
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (!file || !write_all(file.get(), content) || ::fcntl(file.get(), F_ADD_SEALS, seals) != 0 ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return {};
  return file;
}

}  // namespace charmtree::io
