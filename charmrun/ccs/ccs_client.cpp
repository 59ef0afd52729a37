// SPDX-License-Identifier: Apache-2.0
#include "charmrun/ccs/ccs_client.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "ccs/session.hpp"
#include "charmrun/plan/ccs_plan.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/big_endian.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

constexpr int kConnectSeconds = 10;
constexpr std::size_t kMessageHead = 12, kPart = 1U << 20;
constexpr std::uint32_t kId = 1;

Error lost(std::string what) {
  return {Errc::bad_peer, Phase::run, std::move(what),
          "is that the port that charmrun's `ccs: Server` line names, and does the job run?"};
}

/// 0: none.
void limit_waiting(int fd, int seconds) {
  const timeval limit{seconds, 0};
  for (const int option : {SO_SNDTIMEO, SO_RCVTIMEO})
    ::setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit);
}

Result<io::UniqueFd> connect_to_listener(const CcsQuestion& question) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(question.host.c_str(), question.port.c_str(), &hints, &found);
  if (failure != 0) return lost(fmt::format("{}: {}", quotable(question.host), ::gai_strerror(failure)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner{found, ::freeaddrinfo};
  io::UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int on = 1;
  limit_waiting(fd.get(), kConnectSeconds);
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0) return fd;
  const char* why = errno == EINPROGRESS ? "no answer" : std::strerror(errno);
  return lost(fmt::format("{}:{}: {}", quotable(question.host), question.port, why));
}

/// The client's end of a session.
class Client {
public:
  explicit Client(io::UniqueFd fd) : fd_(std::move(fd)) {}

  Result<void> begin(std::uint8_t level, const ccs::Key* key) {
    const std::string hello = ccs::session_hello(level, io::random_bytes(ccs::kSessionNonce));
    if (!send(hello)) return refused();
    const std::string answer = receive(ccs::kSessionHello);
    if (answer.size() < ccs::kSessionHello || !answer.starts_with(ccs::kSessionMagic)) return refused();
    const bool wants_key = answer[ccs::kSessionMagic.size()] != '\0';
    if (!wants_key && key != nullptr) {
      return Error{Errc::bad_input, Phase::run, fmt::format("the job has no key of level {}", level),
                   "without ++server-auth it is asked without one, if that is the job you mean"};
    }
    if (!wants_key) return {};
    if (key == nullptr)
      return Error{Errc::bad_input, Phase::run, "the job wants a key", "++server-auth FILE names its file"};
    const ccs::SessionSecrets secrets{*key, hello + answer};
    if (!send(secrets.client_proof)) return refused();
    if (!same_secret(receive(ccs::SessionSecrets::kProof), secrets.server_proof)) {
      return Error{Errc::bad_input, Phase::run, "the job has another key",
                   "is it the same ++server-auth file?"};
    }
    to_server_ = ccs::Sealer{secrets.to_server};
    to_client_ = ccs::Sealer{secrets.to_client};
    return {};
  }

  /// From now on it takes as long as it takes.
  void be_patient() { limit_waiting(fd_.get(), 0); }

  Result<std::optional<std::string>> ask(const wire::CcsRequest& request) {
    if (!send(ccs::session_message(to_server_, kId, wire::make_ccs_request(request))))
      return lost("the job has closed the connection");
    std::string reply;
    for (;;) {
      std::string head = receive(kMessageHead);
      const std::size_t size = head.size() < kMessageHead ? 0 : wire::read_u32(head, 0);
      if (size < 8) return lost("the job has ended, or has closed the connection, without a reply");
      head += receive(size - 8);
      if (head.size() != size + 4 || !to_client_.opens(head, receive(to_client_.size())))
        return lost("the reply broke off");
      reply.append(head, kMessageHead);
      const auto status = static_cast<ccs::Status>(wire::read_u32(head, 8));
      if (status == ccs::Status::no_reply) return std::optional<std::string>{};
      if (status == ccs::Status::answered) return std::optional<std::string>{std::move(reply)};
      if (status != ccs::Status::more) return Error{Errc::bad_peer, Phase::run, std::move(reply), {}};
    }
  }

private:
  static Error refused() { return lost("whoever listens there begins no session"); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Fewer bytes: that was the end.
  std::string receive(std::size_t size) {
    std::string bytes, part(std::min(size, kPart), '\0');
    while (bytes.size() < size) {
      const ssize_t more = ::recv(fd_.get(), part.data(), std::min(size - bytes.size(), part.size()), 0);
      if (more == 0 || (more < 0 && errno != EINTR)) break;
      if (more > 0) bytes.append(part, 0, static_cast<std::size_t>(more));
    }
    return bytes;
  }

  io::UniqueFd fd_;
  ccs::Sealer to_server_, to_client_;
};

}  // namespace

Result<std::optional<std::string>> ask_ccs(const CcsQuestion& question, const std::string& keys) {
  ccs::KeyFile file;
  if (!keys.empty()) {
    auto read = read_key_file(keys, true, [] { return std::string(32, '0'); });
    if (!read) return read.error();
    file = std::move(*read);
    const bool made = !file.announced.empty();
    if (made || !file.keys.lowest()) {
      return Error{Errc::bad_input, Phase::options,
                   fmt::format("{} has {}", keys, made ? "OTP where the key must stand" : "no key"),
                   "a line of it is a level and the key that the job's launcher has shown"};
    }
  }
  const auto level = file.keys.lowest();
  auto fd = connect_to_listener(question);
  if (!fd) return fd.error();
  Client client{std::move(*fd)};
  if (auto begun = client.begin(level.value_or(0), level ? &file.keys.of(*level).front() : nullptr); !begun)
    return begun.error();
  client.be_patient();
  return client.ask(question.request);
}

}  // namespace charmtree
