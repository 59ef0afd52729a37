// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/spool_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tree/io/signals_blocked.hpp"
#include "tree/io/write_error.hpp"

namespace charmtree::io {

namespace {

/// A file without a name, ours alone; -1 with errno: why not.
UniqueFd make_unnamed_file(const std::string& folder) {
  UniqueFd file{::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  if (file || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
  std::string name = folder + "/charmtree-XXXXXX";  // a file system that has no such files, as NFS
  file.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (file) ::unlink(name.c_str());
  return file;
}

}  // namespace

SpoolFile::~SpoolFile() {
  if (!thread_) return;
  thread_->stop();
  thread_->join();
}

template <class Work>
void SpoolFile::run(Work work) {
  if (!thread_) {
    const SignalsBlocked blocked;
    thread_ = std::make_unique<asio::thread_pool>(1);
  }
  asio::post(*thread_, [this, work = std::move(work)] {
    asio::post(io_, [sink = sink_, answer = work()]() mutable { sink(std::move(answer)); });
  });
}

void SpoolFile::execute(const proto::SpoolWrite& action) {
  run([this, action] { return write(action); });
}

void SpoolFile::execute(const proto::SpoolRead& action) {
  run([this, action] { return read(action); });
}

proto::Spooled SpoolFile::write(const proto::SpoolWrite& action) {
  if (!file_) {
    const char* wanted = ::secure_getenv("TMPDIR");
    folder_ = wanted != nullptr && wanted[0] == '/' ? wanted : "/tmp";
    file_ = make_unnamed_file(folder_);
    if (!file_) return {fmt::format("{}: {}", folder_, strerror(errno))};
  }
  const std::string& bytes = *action.bytes;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(action.offset + done));
    if (put > 0) done += static_cast<std::size_t>(put);
    if (put < 0 && errno != EINTR) return {fmt::format("{}: {}", folder_, write_error(errno))};
  }
  return {};
}

proto::Unspooled SpoolFile::read(const proto::SpoolRead& action) {
  proto::Unspooled answer;
  answer.bytes.resize(action.size);
  for (std::size_t done = 0; done < action.size;) {
    const ssize_t got = ::pread(file_.get(), answer.bytes.data() + done, action.size - done,
                                static_cast<off_t>(action.offset + done));
    if (got > 0) done += static_cast<std::size_t>(got);
    if (got == 0 || (got < 0 && errno != EINTR))
      return {{}, fmt::format("{}: {}", folder_, got == 0 ? "the file is too short" : strerror(errno))};
  }
  if (action.last) (void)!::ftruncate(file_.get(), 0);  // only gives room back
  return answer;
}

}  // namespace charmtree::io
