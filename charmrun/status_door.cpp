// SPDX-License-Identifier: Apache-2.0
#include "charmrun/status_door.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tree/io/client_listener.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

namespace {

constexpr std::string_view kEnding = ".job";
constexpr Duration kPatience = 2s;             // with a job that is asked, and with one who asks
constexpr std::size_t kMaxAnswer = 16U << 20;  // a million late hosts are folded long before

}  // namespace

/// One connection, from its greeting to the last byte.
class StatusDoor::Answer : public std::enable_shared_from_this<Answer> {
public:
  Answer(StatusDoor& door, int fd, std::string text)
      : door_(door), socket_(door.io_, fd), timer_(door.io_), text_(std::move(text)) {}

  void begin() {
    timer_.expires_after(kPatience);
    timer_.async_wait([self = shared_from_this()](io::error_code stopped) {
      if (!stopped) self->socket_.cancel();
    });
    io::asio::async_write(socket_, io::asio::buffer(text_),
                          [self = shared_from_this()](io::error_code, std::size_t) { self->end(); });
  }
  /// The door goes first.
  void detach() {
    attached_ = false;
    timer_.cancel();
    socket_.cancel();
  }

private:
  void end() {
    timer_.cancel();
    if (attached_) door_.asking_.erase(shared_from_this());
  }

  StatusDoor& door_;
  io::asio::posix::stream_descriptor socket_;
  io::asio::steady_timer timer_;
  std::string text_;
  bool attached_ = true;
};

StatusDoor::StatusDoor(io::asio::io_context& io, std::function<std::string()> answer)
    : io_(io), answer_(std::move(answer)), door_(io, [this](int fd, io::Door::Peer) { admit(fd); }) {}

StatusDoor::~StatusDoor() {
  if (!path_.empty()) ::unlink(path_.c_str());
  for (const auto& each : asking_) each->detach();
}

Result<void> StatusDoor::open(const std::string& job) {
  const auto folder = io::socket_folder();
  if (!folder) return folder.error();
  const std::string path = *folder + "/" + job + std::string{kEnding};
  if (auto opened = door_.open_local(path); !opened) return opened;
  path_ = path;
  door_.accept();
  return {};
}

void StatusDoor::admit(int fd) {
  const auto uid = io::peer_uid(fd);
  if (uid != ::geteuid() || asking_.size() >= kMaxAsking) {
    ::close(fd);
    return;
  }
  (*asking_.insert(std::make_shared<Answer>(*this, fd, answer_())).first)->begin();
}

namespace {

struct Asked {
  std::string answer;
  bool dead = false;  // nobody listens there any more
};

/// The answer is empty if there is none in time.
Asked ask(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const io::UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return {};
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {{}, errno == ECONNREFUSED};
  if (io::peer_uid(fd.get()) != ::geteuid()) return {};
  std::string answer;
  const Instant end = io::now() + kPatience;
  std::array<char, 64U << 10> part;
  while (io::now() < end && answer.size() < kMaxAnswer) {
    pollfd waiting{fd.get(), POLLIN, 0};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - io::now());
    ::poll(&waiting, 1, static_cast<int>(rest.count()));
    const ssize_t size = ::recv(fd.get(), part.data(), part.size(), 0);
    if (size == 0) return {std::move(answer)};
    if (size > 0) answer.append(part.data(), static_cast<std::size_t>(size));
    if (size < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  return {};
}

}  // namespace

Result<std::vector<RunningJob>> running_jobs() {
  const auto folder = io::socket_folder();
  if (!folder) return folder.error();
  std::vector<std::string> ids;
  if (DIR* open = ::opendir(folder->c_str())) {
    while (const dirent* entry = ::readdir(open)) {
      const std::string_view name = entry->d_name;
      if (name.ends_with(kEnding)) ids.emplace_back(name.substr(0, name.size() - kEnding.size()));
    }
    ::closedir(open);
  }
  std::sort(ids.begin(), ids.end());
  std::vector<RunningJob> jobs;
  for (std::string& id : ids) {
    const std::string path = *folder + "/" + id + std::string{kEnding};
    Asked asked = ask(path);
    if (asked.dead) ::unlink(path.c_str());
    if (!asked.answer.empty()) jobs.push_back({std::move(id), std::move(asked.answer)});
  }
  return jobs;
}

}  // namespace charmtree
