// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "charmrun/control/control_socket.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/base/visible.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/listener.hpp"

namespace charmtree::control {

namespace {
constexpr Duration kLongestPoll = 60s;  // poll counts milliseconds in an int
}  // namespace

Error not_understood() {
  return {Errc::refused, Phase::run, "the charmrun of that job sends what this one does not understand",
          "use the same one for both"};
}

Error error_of(const Refused& refused) {
  return {Errc::refused, Phase::run, visible(refused.what), visible(refused.fix)};
}

Client::Client(std::string job, io::UniqueFd connection, std::string_view service)
    : job_(std::move(job)), fd_(std::move(connection)) {
  const std::string request = encode(Hello{kVersion, own_version()}) + encode(Open{std::string{service}});
  if (fd_ && !send(request)) fd_.reset();
}

bool Client::send(std::string_view frame) {
  ssize_t sent = -1;
  do {
    sent = ::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(frame.size());
}

void Client::read() {
  std::array<char, 64U << 10> piece;
  const ssize_t size = ::recv(fd_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (size > 0) return decoder_.append({piece.data(), static_cast<std::size_t>(size)});
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) fd_.reset();
}

Result<bool> Client::open() {
  while (!is_open_) {
    const auto frame = decoder_.next();
    if (!frame) return not_understood();
    if (!frame->has_value()) return false;
    const auto message = decode(**frame);
    if (!message) return not_understood();
    if (auto handled = handle(*message); !handled) return handled.error();
  }
  return true;
}

Result<std::optional<wire::Frame>> Client::next() {
  const auto opened = open();
  if (!opened) return opened.error();
  if (!*opened) return std::optional<wire::Frame>{};
  auto frame = decoder_.next();
  if (!frame) return not_understood();
  if (!frame->has_value() || (*frame)->type >= kServiceFrames) return frame;
  const auto message = decode(**frame);
  const auto handled = message ? handle(*message) : not_understood();
  return handled ? not_understood() : handled.error();
}

Result<void> Client::handle(const Message& message) {
  const Overloaded act{[](const Hello& hello) -> Result<void> {
                         if (hello.version == kVersion) return {};
                         return other_version(hello.charmrun, own_version());
                       },
                       [this](const Opened&) -> Result<void> {
                         is_open_ = true;
                         return {};
                       },
                       [](const Refused& refused) -> Result<void> { return error_of(refused); },
                       [](const Open&) -> Result<void> { return not_understood(); }};
  return std::visit(act, message);
}

std::pair<io::UniqueFd, wire::FrameDecoder> Client::release() {
  return {std::move(fd_), std::move(decoder_)};
}

bool read_some(std::span<Client> clients, Instant end) {
  std::vector<pollfd> waiting;
  waiting.reserve(clients.size());
  for (const Client& client : clients) waiting.push_back({client.descriptor(), POLLIN, 0});
  const auto is_connected = [](const Client& client) { return client.is_connected(); };
  if (std::none_of(clients.begin(), clients.end(), is_connected)) return false;
  for (int ready = 0; ready <= 0;) {
    const Instant now = io::now();
    if (now >= end) return false;
    const auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(end - now, kLongestPoll));
    ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(rest.count()));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (waiting[i].revents != 0) clients[i].read();
  }
  return true;
}

Result<Client> open_service(const std::string& job, std::string_view service, const Error& silent) {
  auto connection = io::find_own(socket_name(job));
  if (!connection) return silent;
  Client client{job, std::move(connection), service};
  const Instant end = io::now() + kOpenWithin;
  for (;;) {
    const auto opened = client.open();
    if (!opened) return opened.error();
    if (*opened) return client;
    if (!read_some({&client, 1}, end)) return silent;
  }
}

Result<Client> open_service(const std::string& job, std::string_view service) {
  return open_service(job, service, no_answer(job));
}

}  // namespace charmtree::control
