// SPDX-License-Identifier: Apache-2.0
#include "tree/io/user/output_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tree/io/signals_blocked.hpp"

namespace charmtree::io {

OutputFiles::OutputFiles(asio::io_context& io, std::function<void()> on_progress,
                         std::function<void()> on_failure)
    : io_(io), on_progress_(std::move(on_progress)), on_failure_(std::move(on_failure)) {
  const SignalsBlocked blocked;
  thread_ = std::thread{[this] { run(); }};
}

OutputFiles::~OutputFiles() {
  {
    const std::lock_guard lock{mutex_};
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void OutputFiles::write(std::string path, std::string bytes) {
  {
    const std::lock_guard lock{mutex_};
    backlog_ += bytes.size();
    queue_.push_back({std::move(path), std::move(bytes)});
  }
  wake_.notify_one();
}

void OutputFiles::confirm(std::function<void()> done) {
  {
    const std::lock_guard lock{mutex_};
    queue_.push_back({{}, {}, std::move(done)});
  }
  wake_.notify_one();
}

bool OutputFiles::drain(Duration limit) {
  std::unique_lock lock{mutex_};
  return drained_.wait_for(lock, limit, [this] { return queue_.empty() && !writing_; });
}

std::optional<OutputFiles::Failure> OutputFiles::first_failure() const {
  const std::lock_guard lock{mutex_};
  return first_failure_;
}

void OutputFiles::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Piece piece = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    if (piece.done)
      asio::post(io_, piece.done);
    else
      put(piece);
    lock.lock();
    writing_ = false;
    backlog_ -= piece.bytes.size();
    if (!queue_.empty()) continue;
    drained_.notify_all();
    asio::post(io_, on_progress_);
  }
}

void OutputFiles::put(const Piece& piece) {
  const auto [entry, fresh] = files_.try_emplace(piece.path);
  File& file = entry->second;
  if (file.given_up) return;
  if (const int error = open(piece.path, file, fresh); error != 0) return give_up(piece.path, file, error);
  for (std::size_t done = 0; done < piece.bytes.size();) {
    const ssize_t put = ::write(file.fd.get(), piece.bytes.data() + done, piece.bytes.size() - done);
    if (put > 0) done += static_cast<std::size_t>(put);
    if (put < 0 && errno != EINTR) return give_up(piece.path, file, errno);
  }
}

int OutputFiles::open(const std::string& path, File& file, bool fresh) {
  if (file.fd.get() >= 0) {
    open_.splice(open_.begin(), open_, file.place);
    return 0;
  }
  if (open_.size() >= kMostOpen) {
    open_.back()->fd = {};
    open_.pop_back();
  }
  if (fresh) {
    std::error_code ignored;  // opening the file tells
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), ignored);
  }
  const int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0);
  file.fd = UniqueFd{::open(path.c_str(), how, 0666)};
  if (file.fd.get() < 0) return errno;
  open_.push_front(&file);
  file.place = open_.begin();
  return 0;
}

void OutputFiles::give_up(const std::string& path, File& file, int error) {
  if (file.fd.get() >= 0) {
    open_.erase(file.place);
    file.fd = {};
  }
  file.given_up = true;
  const std::lock_guard lock{mutex_};
  if (failures_++ == 0) first_failure_ = {path, error};
  asio::post(io_, on_failure_);
}

}  // namespace charmtree::io
