// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/status_listener.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "tree/io/clock.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

namespace {

constexpr Duration kAnswerWithin = 2s;         // with a job that is asked, and with one who asks
constexpr std::size_t kMaxAnswer = 16U << 20;  // a million late hosts are less

/// What the names of this user's jobs begin with.
std::string own_names() {
  return fmt::format("@charmtree-{}-", ::geteuid());
}

}  // namespace

/// One connection, from its greeting to the last byte.
class StatusListener::Answer : public std::enable_shared_from_this<Answer> {
public:
  Answer(StatusListener& listener, int fd, std::string text)
      : listener_(listener), socket_(listener.io_, fd), timer_(listener.io_), text_(std::move(text)) {}

  void begin() {
    timer_.expires_after(kAnswerWithin);
    timer_.async_wait([self = shared_from_this()](io::error_code stopped) {
      if (!stopped) self->socket_.cancel();
    });
    io::asio::async_write(socket_, io::asio::buffer(text_),
                          [self = shared_from_this()](io::error_code, std::size_t) { self->end(); });
  }
  /// The listener goes first.
  void detach() {
    attached_ = false;
    timer_.cancel();
    socket_.cancel();
  }

private:
  void end() {
    timer_.cancel();
    if (attached_) listener_.asking_.erase(shared_from_this());
  }

  StatusListener& listener_;
  io::asio::posix::stream_descriptor socket_;
  io::asio::steady_timer timer_;
  std::string text_;
  bool attached_ = true;
};

StatusListener::StatusListener(io::asio::io_context& io, std::function<std::string()> answer)
    : io_(io), answer_(std::move(answer)), listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}

StatusListener::~StatusListener() {
  for (const auto& each : asking_) each->detach();
}

Result<void> StatusListener::open(const std::string& job) {
  if (auto opened = listener_.open_to_seekers(own_names() + job); !opened) return opened;
  listener_.accept();
  return {};
}

void StatusListener::admit(int fd) {
  const auto uid = io::peer_uid(fd);
  if (uid != ::geteuid() || asking_.size() >= kMaxAsking) {
    ::close(fd);
    return;
  }
  (*asking_.insert(std::make_shared<Answer>(*this, fd, answer_())).first)->begin();
}

namespace {

struct Question {
  std::string job;
  io::UniqueFd fd;  // until its end
  std::string answer;
};

/// False: it has ended, and left nothing if it was not in order.
bool hear(Question& question) {
  std::array<char, 64U << 10> part;
  const ssize_t size = ::recv(question.fd.get(), part.data(), part.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size > 0) question.answer.append(part.data(), static_cast<std::size_t>(size));
  if (size > 0 && question.answer.size() < kMaxAnswer) return true;
  if (size != 0) question.answer.clear();
  return false;
}

/// Those who have not answered by the end have no answer.
void hear_all(std::vector<Question>& questions, Instant end) {
  for (;;) {
    std::vector<pollfd> waiting;
    waiting.reserve(questions.size());
    for (const Question& question : questions) waiting.push_back({question.fd.get(), POLLIN, 0});
    const bool is_over = std::none_of(questions.begin(), questions.end(),
                                      [](const Question& question) { return bool{question.fd}; });
    if (is_over || io::now() >= end) break;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - io::now());
    ::poll(waiting.data(), waiting.size(), static_cast<int>(rest.count()));
    for (std::size_t i = 0; i < questions.size(); ++i) {
      if (waiting[i].revents != 0 && !hear(questions[i])) questions[i].fd.reset();
    }
  }
  for (Question& question : questions) {
    if (question.fd) question.answer.clear();
  }
}

}  // namespace

RunningJobs find_running_jobs() {
  std::vector<Question> questions;
  const std::string names = own_names();
  for (const std::string& name : io::local_names(names)) {
    if (auto fd = io::connect_to_own(name))
      questions.push_back({name.substr(names.size()), std::move(fd), {}});
  }
  hear_all(questions, io::now() + kAnswerWithin);
  RunningJobs jobs;
  for (Question& question : questions)
    question.answer.empty() ? jobs.silent.push_back(std::move(question.job))
                            : jobs.answers.push_back(std::move(question.answer));
  return jobs;
}

}  // namespace charmtree
