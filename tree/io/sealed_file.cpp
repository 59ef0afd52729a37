// SPDX-License-Identifier: Apache-2.0
#include "tree/io/sealed_file.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tree/io/write_all.hpp"

namespace charmtree::io {

/// glibc has memfd_create and its seals since 2.27; hosts are older.
UniqueFd sealed_file(const char* name, std::string_view content) {
  UniqueFd file{static_cast<int>(::syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING))};
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (!file || !write_all(file.get(), content) || ::fcntl(file.get(), F_ADD_SEALS, seals) != 0 ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return {};
  return file;
}

}  // namespace charmtree::io
