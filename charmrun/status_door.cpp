// SPDX-License-Identifier: Apache-2.0
#include "charmrun/status_door.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <vector>

#include "tree/io/clock.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

namespace {

constexpr Duration kPatience = 2s;             // with a job that is asked, and with one who asks
constexpr std::size_t kMaxAnswer = 16U << 20;  // a million late hosts are less

/// What the names of this user's jobs begin with.
std::string own_names() {
  return fmt::format("@charmtree-{}-", ::geteuid());
}

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
  for (const auto& each : asking_) each->detach();
}

Result<void> StatusDoor::open(const std::string& job) {
  if (auto opened = door_.open_local(own_names() + job); !opened) return opened;
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

/// Empty if there is no answer in time.
std::string ask(const std::string& name) {
  const auto address = io::local_address(name);
  const io::UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd || !address || ::connect(fd.get(), address->get(), address->size) != 0) return {};
  if (io::peer_uid(fd.get()) != ::geteuid()) return {};
  std::string answer;
  const Instant end = io::now() + kPatience;
  std::array<char, 64U << 10> part;
  while (io::now() < end && answer.size() < kMaxAnswer) {
    pollfd waiting{fd.get(), POLLIN, 0};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - io::now());
    ::poll(&waiting, 1, static_cast<int>(rest.count()));
    const ssize_t size = ::recv(fd.get(), part.data(), part.size(), 0);
    if (size == 0) return answer;
    if (size > 0) answer.append(part.data(), static_cast<std::size_t>(size));
    if (size < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  return {};
}

/// From the kernel's table; both ends of a connection are in it.
std::set<std::string> names_of_jobs() {
  std::set<std::string> names;
  std::ifstream table("/proc/net/unix");
  const std::string head = own_names();
  for (std::string line; std::getline(table, line);) {
    const auto name = line.rfind(' ');
    if (name != std::string::npos && line.compare(name + 1, head.size(), head) == 0)
      names.insert(line.substr(name + 1));
  }
  return names;
}

}  // namespace

std::vector<std::string> ask_running_jobs() {
  std::vector<std::string> answers;
  for (const std::string& name : names_of_jobs()) {
    std::string answer = ask(name);
    if (!answer.empty()) answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace charmtree
