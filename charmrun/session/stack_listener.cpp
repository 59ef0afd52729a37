// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/stack_listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "charmrun/session/door.hpp"
#include "stacks/members.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/greeting.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {
CT_MEMBERS(StackReport, s.job, s.processes, s.stacks, s.hosts, s.is_last)
}  // namespace charmtree::wire

namespace charmtree {

namespace {

constexpr char kFolded = 's', kRaw = 'r';
constexpr Duration kPatience = 5s;  // with one who says or hears nothing
constexpr Duration kLongest = 15s;  // until there is an answer
constexpr std::size_t kMostStackAnswer = 64U << 20;

}  // namespace

/// One connection, from its letter to the last byte.
class StackListener::Visitor : public std::enable_shared_from_this<Visitor> {
public:
  Visitor(StackListener& listener, std::uint64_t ticket, int fd)
      : listener_(listener), ticket_(ticket), socket_(listener.io_, fd), timer_(listener.io_) {}

  void begin() {
    limit(kPatience);
    socket_.async_read_some(io::asio::buffer(letter_),
                            [self = shared_from_this()](io::error_code ec, std::size_t size) {
                              if (ec || size == 0) return self->end();
                              self->ask();
                            });
  }
  void answer(std::string text) {
    text_ = std::move(text);
    limit(kPatience);
    io::asio::async_write(socket_, io::asio::buffer(text_),
                          [self = shared_from_this()](io::error_code, std::size_t) { self->end(); });
  }
  /// The listener goes first.
  void detach() {
    attached_ = false;
    timer_.cancel();
    io::error_code ignored;
    socket_.close(ignored);
  }

private:
  void limit(Duration most) {
    timer_.expires_after(most);
    timer_.async_wait([self = shared_from_this()](io::error_code stopped) {
      if (!stopped) self->end();
    });
  }
  void ask() {
    if (!attached_) return;
    if (letter_[0] != kFolded && letter_[0] != kRaw) return end();
    limit(kLongest);
    listener_.ask_({{stacks::StacksFor::Why::asked, ticket_}, letter_[0] == kRaw});
  }
  void end() {
    timer_.cancel();
    if (!std::exchange(attached_, false)) return;
    io::error_code ignored;
    socket_.close(ignored);
    listener_.visitors_.erase(ticket_);
  }

  StackListener& listener_;
  std::uint64_t ticket_;
  io::asio::posix::stream_descriptor socket_;
  io::asio::steady_timer timer_;
  std::array<char, 1> letter_{};
  std::string text_;
  bool attached_ = true;
};

StackListener::StackListener(io::asio::io_context& io, Ask ask)
    : io_(io), ask_(std::move(ask)), listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}

StackListener::~StackListener() {
  for (const auto& [ticket, visitor] : visitors_) visitor->detach();
}

Result<void> StackListener::open(const std::string& job) {
  return open_door(listener_, kStacksDoor, job);
}

void StackListener::admit(int fd) {
  if (io::peer_uid(fd) != ::geteuid() || visitors_.size() >= kMost) {
    ::close(fd);
    return;
  }
  const std::uint64_t ticket = ++last_;
  visitors_.emplace(ticket, std::make_shared<Visitor>(*this, ticket, fd)).first->second->begin();
}

void StackListener::seen(std::uint64_t ticket, const StackReport& report) {
  const auto visitor = visitors_.find(ticket);
  if (visitor == visitors_.end()) return;
  std::shared_ptr<Visitor> {
    visitor->second
    } -> answer(wire::make_greeting() + *wire::encode_whole(report));
}

namespace {

/// To the end of the connection; nothing: that does not come in time.
std::optional<std::string> hear_answer(int fd) {
  std::string text;
  std::array<char, 64U << 10> piece;
  const Instant end = io::now() + kLongest;
  while (io::now() < end && text.size() < kMostStackAnswer) {
    pollfd waiting{fd, POLLIN, 0};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - io::now());
    if (::poll(&waiting, 1, static_cast<int>(rest.count())) <= 0) continue;
    const ssize_t size = ::recv(fd, piece.data(), piece.size(), 0);
    if (size == 0) return text;
    if (size < 0 && errno != EINTR && errno != EAGAIN) return {};
    if (size > 0) text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return {};
}

}  // namespace

Result<StackReport> ask_stacks(const std::string& job, bool raw) {
  const Error silent = no_answer(job);
  const io::UniqueFd fd = io::find_own(door_name(kStacksDoor, job));
  const char letter = raw ? kRaw : kFolded;
  if (!fd || ::send(fd.get(), &letter, 1, MSG_NOSIGNAL) != 1) return silent;
  const auto text = hear_answer(fd.get());
  if (!text) return silent;
  if (text->empty())
    return Error{Errc::refused, Phase::run, fmt::format("job {} has ended meanwhile", job), {}};
  const std::string greeting = wire::make_greeting();
  auto answer = text->starts_with(greeting)
                    ? wire::decode_whole<StackReport>(std::string_view{*text}.substr(greeting.size()))
                    : std::nullopt;
  if (!answer || answer->hosts.size() != answer->stacks.groups.size())
    return Error{Errc::refused, Phase::run, fmt::format("the charmrun of job {} is of another version", job),
                 "use the same one for both"};
  return std::move(*answer);
}

}  // namespace charmtree
