// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_agent.hpp"

#include <fcntl.h>

#include <array>

#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree::io {

namespace {

constexpr char kRequestIdentities = 11;
constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr char kSignRequest = 13;
constexpr std::uint8_t kSignResponse = 14;
constexpr std::uint32_t kRsaSha256 = 2, kRsaSha512 = 4;  // SSH_AGENT_RSA_SHA2_256, _512
constexpr std::size_t kMaxSocketPath = 107;              // sizeof(sockaddr_un::sun_path) - 1

std::vector<std::string> read_identities(std::string_view answer) {
  std::vector<std::string> blobs;
  BlobReader reader(answer);
  if (reader.byte() != kIdentitiesAnswer) return blobs;
  const auto count = reader.u32();
  while (count && blobs.size() < *count && blobs.size() < kMaxAgentKeys) {
    const auto blob = reader.string();
    const auto comment = reader.string();
    if (!blob || !comment) break;
    blobs.emplace_back(*blob);
  }
  return blobs;
}

std::uint32_t flags_for(std::string_view algorithm) {
  return algorithm == "rsa-sha2-256" ? kRsaSha256 : algorithm == "rsa-sha2-512" ? kRsaSha512 : 0;
}

}  // namespace

/// Connect, write the request, read the answer; the timer closes the socket, which ends whatever step is
/// under way.
class SshAgent::Question : public std::enable_shared_from_this<Question> {
public:
  using Done = std::function<void(std::string answer)>;  // empty: no answer
  Question(asio::io_context& io, std::string_view body, Done done)
      : socket_(io), timer_(io), done_(std::move(done)) {
    append_string(request_, body);
  }

  void ask(const std::string& path, Duration within) {
    timer_.expires_after(within);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->finish({});
    });
    error_code closed;
    socket_.open(asio::local::stream_protocol(), closed);
    if (!closed) ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
    socket_.async_connect(path, [self = shared_from_this()](error_code error) {
      if (error) return self->finish({});
      self->socket_.async_send(asio::buffer(self->request_), [self](error_code failed, std::size_t sent) {
        if (failed || sent != self->request_.size()) return self->finish({});
        self->read_more();
      });
    });
  }

private:
  void read_more() {
    socket_.async_receive(asio::buffer(part_),
                          [self = shared_from_this()](error_code error, std::size_t got) {
                            self->answer_.append(self->part_.data(), got);
                            BlobReader reader(self->answer_);
                            const auto length = reader.u32();
                            if (length && *length <= reader.rest().size())
                              return self->finish(self->answer_.substr(4, *length));
                            if (error || (length && *length > kMaxAgentAnswer)) return self->finish({});
                            self->read_more();
                          });
  }

  void finish(std::string answer) {
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
    if (const Done done = std::exchange(done_, nullptr)) done(std::move(answer));
  }

  asio::local::stream_protocol::socket socket_;
  asio::steady_timer timer_;
  Done done_;
  std::string request_;
  std::array<char, 4096> part_{};
  std::string answer_;  // with its length in front; not longer than kMaxAgentAnswer and one part
};

void SshAgent::list(std::function<void(const std::vector<std::string>&)> done) {
  if (path_.empty() || path_.size() > kMaxSocketPath) keys_.emplace();
  if (keys_) return done(*keys_);
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  const std::string_view body(&kRequestIdentities, 1);
  const auto question =
      std::make_shared<Question>(io_, body, [self = shared_from_this()](std::string answer) {
        self->keys_ = read_identities(answer);
        for (const auto& waiter : std::exchange(self->waiting_, {})) waiter(*self->keys_);
      });
  question->ask(path_, kAgentListLimit);
}

void SshAgent::sign(std::string_view blob, std::string_view data, Duration within,
                    std::function<void(std::string)> done) {
  std::string body(1, kSignRequest);
  append_string(body, blob);
  append_string(body, data);
  const auto request = wire::parse_userauth_request(data);
  if (!request) return done({});
  append_u32(body, flags_for(request->algorithm));
  auto take = [algorithm = request->algorithm, done = std::move(done)](std::string answer) {
    BlobReader reader(answer);
    if (reader.byte() != kSignResponse) return done({});
    BlobReader signature(reader.string().value_or(std::string_view()));
    if (signature.string() != algorithm) return done({});  // an agent that knows no flags
    done(std::string(signature.string().value_or(std::string_view())));
  };
  const auto question = std::make_shared<Question>(io_, body, std::move(take));
  question->ask(path_, within);
}

}  // namespace charmtree::io
