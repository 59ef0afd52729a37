// SPDX-License-Identifier: Apache-2.0
// Every wait is the same: start something whose handler calls signal_.cancel(), then sleep on signal_, which
// is due at the step's deadline. Handlers of things that outlived their wait only wake the coroutine once
// more, which every loop here allows for. Traps of g++ 12 and libssh2: no braced temporaries inside a
// co_await expression, parameters by value, and after LIBSSH2_ERROR_EAGAIN the same call with the same
// arguments.
#include "tree/io/ssh/ssh_login.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "tree/io/clock.hpp"
#include "tree/io/ssh/known_hosts.hpp"
#include "tree/io/ssh/ssh_agent.hpp"
#include "tree/io/ssh/ssh_keys.hpp"
#include "tree/io/ssh/ssh_link.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/overlay/host_key.hpp"
#include "tree/overlay/launch_failure.hpp"

namespace charmtree::io {

namespace {

constexpr int kStopped = 1;  // a step's own end beside libssh2's codes (<= 0): deadline or cancel()

std::string first_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, text.find_first_of("\r\n"))) {
    line.push_back(static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 0x7F ? '?' : c);
  }
  return line;
}

/// A host that dies without a word (power, network) is given up after about 10 s: by questions to its kernel
/// while nothing is sent, by their acknowledgement while something is.
void notice_silence(int socket) {
  static constexpr int kOn = 1, kIdleSeconds = 5, kIntervalSeconds = 2, kCount = 3, kUnheardMs = 10'000;
  const auto set = [socket](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, kOn);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kIntervalSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kCount);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnheardMs);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Error connect_failed(const error_code& error) {
  const std::string fix = "is the host up, and its network?";
  switch (error.value()) {
    case ECONNREFUSED:
      return Error(Errc::refused, Phase::connect, "connection refused",
                   "is sshd running there, on this port?");
    case ETIMEDOUT:
      return Error(Errc::timed_out, Phase::connect, "no answer", fix);
    case ECONNRESET:
      return Error(Errc::dropped, Phase::connect, "connection reset", fix);
    case EMFILE:
    case ENFILE:
      return Error(Errc::unreachable, Phase::connect, error.message(),
                   "raise `ulimit -n`, or use a smaller ++batch");
    default:
      return Error(Errc::unreachable, Phase::connect, error.message(), fix);
  }
}

/// Which of two failed addresses tells more: something answered, then nothing did, then no way there.
int weight(const Error& error) {
  return error.code == Errc::refused ? 2 : error.code == Errc::timed_out ? 1 : 0;
}

}  // namespace

/// A signature that an opened key makes at once, or the agent, or the root: libssh2 asks for it in the middle
/// of its own call; we note what it wants, answer EAGAIN, ask for it, and repeat the call.
struct SshLogin::Signature {
  OpenedKey key;           // null: the agent's or the root's
  bool forwarded = false;  // the root's
  std::string blob;        // the public key
  std::string data;
  std::string bytes;  // the bare signature, without the algorithm's name
  bool wanted = false, asked = false, refused = false;

  static int callback(LIBSSH2_SESSION*, unsigned char** out, std::size_t* out_length,
                      const unsigned char* data, std::size_t length, void** abstract) {
    auto& self = *static_cast<Signature*>(*abstract);
    if (self.key) self.bytes = io::sign(self.key, {reinterpret_cast<const char*>(data), length});
    if (self.refused || (self.key && self.bytes.empty())) return LIBSSH2_ERROR_AGENT_PROTOCOL;
    if (self.bytes.empty()) {
      self.data.assign(reinterpret_cast<const char*>(data), length);
      self.wanted = true;
      return LIBSSH2_ERROR_EAGAIN;
    }
    *out = static_cast<unsigned char*>(
        std::malloc(self.bytes.size()));  // freed by libssh2, whose allocator is malloc
    if (*out == nullptr) return LIBSSH2_ERROR_ALLOC;
    std::memcpy(*out, self.bytes.data(), self.bytes.size());
    *out_length = self.bytes.size();
    return 0;
  }
};

SshLogin::SshLogin(asio::io_context& io, Resolver& resolver, std::shared_ptr<SshKeys> keys,
                   std::shared_ptr<SshAgent> agent, Order order, std::function<void(LoginResult)> done)
    : io_(io),
      resolver_(&resolver),
      keys_(std::move(keys)),
      agent_(std::move(agent)),
      order_(std::move(order)),
      done_(std::move(done)),
      session_(std::make_unique<SshSession>(io)),
      signal_(io) {}

void SshLogin::start() {
  result_.times.begun = now();
  asio::co_spawn(io_, run(), [self = shared_from_this()](std::exception_ptr thrown, Result<void> result) {
    if (thrown) result = Error(Errc::internal, self->phase_, "an exception in the ssh login");
    self->end(std::move(result));
  });
}

void SshLogin::cancel() {
  cancelled_ = true;
  done_ = nullptr;
  if (request_ != 0) resolver_->cancel(request_);
  resolver_ = nullptr;
  signal_.cancel();
}

void SshLogin::end(Result<void> result) {
  const auto done = std::exchange(done_, nullptr);
  if (cancelled_ || !result.ok() || !done) session_.reset();
  if (!done) return;
  if (result.ok()) {
    result_.link = std::make_unique<SshLink>(std::move(session_));
  } else {
    result_.error = result.error();
  }
  done(std::move(result_));
}

SshLogin::Step SshLogin::run() {
  Result<Addresses> addresses = co_await resolve();
  if (!addresses.ok()) co_return addresses.error();
  result_.times.resolved = now();
  Result<void> step = co_await connect(std::move(*addresses));
  if (!step.ok()) co_return step;
  result_.times.connected = now();
  step = co_await handshake();
  if (!step.ok()) co_return step;
  step = check_host_key();
  if (!step.ok()) co_return step;
  result_.times.handshaken = now();
  step = co_await authenticate();
  if (!step.ok()) co_return step;
  result_.times.authenticated = now();
  step = co_await execute();
  if (step.ok()) result_.times.executed = now();
  co_return step;
}

void SshLogin::begin(Phase phase, Duration limit) {
  phase_ = phase;
  limit_ = limit;
  deadline_ = now() + limit;
}

bool SshLogin::expired() const {
  return now() >= deadline_;
}

Error SshLogin::timed_out() const {
  static constexpr std::string_view kFix = "is the host up, and does a firewall let ssh through?";
  return Error(Errc::timed_out, phase_, fmt::format("no answer within {:g} s", seconds(limit_)),
               phase_ == Phase::connect ? std::string(kFix) : "is the host overloaded?");
}

/// The connection ended in the middle of a step.
Error SshLogin::lost() const {
  if (!session_->farewell().empty()) {
    return Error(Errc::dropped, phase_, "the server ended the session: " + session_->farewell());
  }
  const int error = session_->connection_error();
  const bool early = phase_ == Phase::handshake && !session_->first_bytes().starts_with("SSH-");
  return Error(early ? Errc::busy : Errc::dropped, phase_,
               error != 0 ? std::string("connection lost: ") + std::strerror(error)
                          : "the server closed the connection",
               "too many logins at a time for it (MaxStartups)? try a smaller ++batch");
}

asio::awaitable<void> SshLogin::sleep() {
  error_code ignored;
  signal_.expires_at(to_steady(deadline_));
  if (!cancelled_) co_await signal_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> SshLogin::wait_for_socket() {
  using Socket = asio::ip::tcp::socket;
  const auto what = session_->wants_write() ? Socket::wait_write : Socket::wait_read;
  session_->socket().async_wait(what, [self = shared_from_this()](error_code) { self->signal_.cancel(); });
  co_await sleep();
}

/// Repeats a libssh2 call until it is through; kStopped after the deadline or cancel().
template <class Call>
asio::awaitable<int> SshLogin::until_done(Call call) {
  for (;;) {
    const int code = call();
    if (code != LIBSSH2_ERROR_EAGAIN) co_return code;
    if (stopped()) co_return kStopped;
    co_await wait_for_socket();
    if (cancelled_) co_return kStopped;
  }
}

asio::awaitable<Result<Addresses>> SshLogin::resolve() {
  begin(Phase::resolve, order_.limits.resolve);
  if (cancelled_) co_return timed_out();
  auto answer = std::make_shared<std::optional<Result<Addresses>>>();
  request_ = resolver_->resolve(order_.host.target(), order_.limits.resolve,
                                [answer, weak = weak_from_this()](Result<Addresses> result) {
                                  *answer = std::move(result);
                                  if (const auto self = weak.lock()) self->signal_.cancel();
                                });
  while (!*answer && !cancelled_) {
    deadline_ =
        now() +
        2 * limit_;  // the resolver keeps the deadline; this one is only there to never sleep for ever
    co_await sleep();
  }
  request_ = 0;
  if (!*answer) co_return timed_out();
  co_return std::move(**answer);
}

asio::awaitable<error_code> SshLogin::connect_to(asio::ip::tcp::endpoint endpoint) {
  auto& socket = session_->socket();
  error_code error;
  socket.close(error);
  socket.open(endpoint.protocol(), error);
  if (error) co_return error;
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  auto outcome = std::make_shared<std::optional<error_code>>();
  socket.async_connect(endpoint, [outcome, self = shared_from_this()](error_code result) {
    *outcome = result;
    self->signal_.cancel();
  });
  while (!*outcome && !stopped()) co_await sleep();
  co_return outcome->value_or(error_code(ETIMEDOUT, boost::system::system_category()));
}

/// One address after the other; each gets its share of the time that is left.
SshLogin::Step SshLogin::connect(Addresses addresses) {
  begin(Phase::connect, order_.limits.connect);
  const Instant last = deadline_;
  std::optional<Error> worst;
  for (std::size_t i = 0; i < addresses.size() && !cancelled_; ++i) {
    const auto left = static_cast<Duration::rep>(addresses.size() - i);
    deadline_ = now() + (last - now()) / left;
    const asio::ip::tcp::endpoint endpoint(addresses[i], order_.profile.port);
    const error_code error = co_await connect_to(endpoint);
    if (!error) {
      notice_silence(session_->socket().native_handle());
      co_return Result<void>();
    }
    Error failure = expired() ? timed_out() : connect_failed(error);
    if (!worst || weight(failure) > weight(*worst)) worst = std::move(failure);
  }
  co_return worst.value_or(Error(Errc::no_such_host, Phase::connect, "no address"));
}

Error SshLogin::handshake_failed(int code) {
  const std::string& said = session_->first_bytes();
  if (!said.empty() && !said.starts_with("SSH-")) {
    if (contains(said, "Not allowed at this time")) {
      return Error(Errc::penalised, phase_, "the server makes us wait: " + first_line(said),
                   "see PerSourcePenalties in its sshd_config");
    }
    if (contains(said, "MaxStartups")) {
      return Error(Errc::busy, phase_, "the server is too busy: " + first_line(said),
                   "raise MaxStartups in its sshd_config");
    }
    return Error(Errc::handshake, phase_,
                 fmt::format("this is not an ssh server, it said \"{}\"", first_line(said)),
                 "check the port");
  }
  if (session_->connection_ended()) return lost();
  if (code == LIBSSH2_ERROR_TIMEOUT) return timed_out();
  if (code == LIBSSH2_ERROR_KEX_FAILURE || code == LIBSSH2_ERROR_METHOD_NONE) {
    return Error(Errc::no_usable_key, phase_, "libssh2 and the server have no algorithm in common");
  }
  std::string message = session_->last_message();
  if (message.empty()) message = "the server sent what is no packet of ssh";
  return Error(Errc::handshake, phase_, fmt::format("the ssh handshake failed: {} ({})", message, code));
}

SshLogin::Step SshLogin::handshake() {
  begin(Phase::handshake, order_.limits.handshake);
  SshAlgorithms algorithms = order_.profile.algorithms;
  algorithms.host_keys = proto::host_key_order(order_.host, algorithms.host_keys);
  if (Result<void> begun = session_->begin(algorithms); !begun) co_return begun;
  const auto call = [session = session_.get()] { return session->handshake(); };
  const int code = co_await until_done(call);
  if (code == kStopped) co_return timed_out();
  if (code != 0) co_return handshake_failed(code);
  co_return Result<void>();
}

Result<void> SshLogin::check_host_key() {
  phase_ = Phase::host_key;
  std::string blob = session_->host_key();
  const Result<proto::HostKeyVerdict> verdict = proto::judge_host_key(order_.host, order_.profile, blob);
  if (!verdict.ok() || *verdict == proto::HostKeyVerdict::new_key) {
    result_.note = fmt::format("host key {} {}", key_type(blob), fingerprint(blob));
  }
  if (!verdict.ok()) return verdict.error();
  if (*verdict != proto::HostKeyVerdict::new_key) return {};
  result_.accepted_key.type = key_type(blob);
  result_.accepted_key.blob = std::move(blob);
  return {};
}

asio::awaitable<std::vector<std::string>> SshLogin::agent_keys() {
  auto answer = std::make_shared<std::optional<std::vector<std::string>>>();
  if (!agent_->exists() || !keys_->wants_agent(order_.profile)) co_return std::vector<std::string>();
  agent_->list([answer, weak = weak_from_this()](const std::vector<std::string>& blobs) {
    *answer = blobs;
    if (const auto self = weak.lock()) self->signal_.cancel();
  });
  while (!*answer && !stopped()) co_await sleep();
  co_return answer->value_or(std::vector<std::string>());
}

/// A key file that libssh2 parses itself, each time.
asio::awaitable<int> SshLogin::try_file(std::shared_ptr<KeyToTry> key) {
  const KeyFile& file = *key->file;
  const std::string shown = file.blob.empty() ? std::string() : file.type + " " + encode_base64(file.blob);
  const auto call = [this, &file, &shown] {
    const std::string& user = order_.profile.user;
    return libssh2_userauth_publickey_frommemory(session_->session(), user.data(), user.size(), shown.data(),
                                                 shown.size(), file.text.data(), file.text.size(), nullptr);
  };
  const int code = co_await until_done(call);
  co_return code;
}

asio::awaitable<void> SshLogin::sign(std::shared_ptr<Signature> signature) {
  signature->asked = true;
  auto answered = std::make_shared<bool>(false);
  std::function<void(std::string)> take = [signature, answered, weak = weak_from_this()](std::string bytes) {
    *answered = true;
    signature->bytes = std::move(bytes);
    if (const auto self = weak.lock()) self->signal_.cancel();
  };
  if (signature->forwarded) {
    signature_came_ = std::move(take);
    order_.sign(signature->data);
  } else {
    agent_->sign(signature->blob, signature->data, deadline_ - now(), std::move(take));
  }
  while (!*answered && !stopped()) co_await sleep();
  signature->refused = unsigned_ = signature->bytes.empty();
}

void SshLogin::give_signature(std::string bytes) {
  if (const auto take = std::exchange(signature_came_, nullptr)) take(std::move(bytes));
}

asio::awaitable<int> SshLogin::try_signing(std::shared_ptr<KeyToTry> key) {
  auto signature = std::make_shared<Signature>();
  if (key->file) signature->key = key->file->opened;
  signature->forwarded = key->forwarded;
  signature->blob = key->public_blob();
  void* abstract = signature.get();
  for (;;) {
    const int code =
        libssh2_userauth_publickey(session_->session(), order_.profile.user.c_str(),
                                   reinterpret_cast<const unsigned char*>(signature->blob.data()),
                                   signature->blob.size(), &Signature::callback, &abstract);
    if (code != LIBSSH2_ERROR_EAGAIN) co_return code;
    if (stopped()) co_return kStopped;
    if (signature->wanted && !signature->asked) {
      co_await sign(signature);
    } else {
      co_await wait_for_socket();
    }
    if (cancelled_) co_return kStopped;
  }
}

SshLogin::Step SshLogin::authenticate() {
  begin(Phase::authenticate, order_.limits.authenticate);
  const std::vector<std::string> agent_blobs = co_await agent_keys();
  if (cancelled_) co_return timed_out();
  std::vector<KeyToTry> keys = keys_->to_try(order_.profile, agent_blobs);
  if (order_.sign) keys = with_forwarded(std::move(keys), order_.profile.forwarded_keys);
  for (const KeyToTry& candidate : keys) {
    auto key = std::make_shared<KeyToTry>(candidate);
    int code = 0;
    if (key->file && !(key->file->opened && agent_type_usable(key->file->type))) {
      code = co_await try_file(key);
    } else {
      code = co_await try_signing(key);
    }
    if (code == 0) co_return Result<void>();
    if (code == kStopped) co_return timed_out();
    if (session_->connection_ended()) break;
  }
  const char* methods = nullptr;
  if (!session_->connection_ended()) {
    const auto list = [this, &methods] {
      const std::string& user = order_.profile.user;
      methods = libssh2_userauth_list(session_->session(), user.data(), static_cast<unsigned>(user.size()));
      return methods == nullptr ? session_->last_error() : 0;
    };
    const int code = co_await until_done(list);
    if (code == kStopped) co_return timed_out();
    if (libssh2_userauth_authenticated(session_->session()) != 0)
      co_return Result<void>();  // it asks for no key at all
  }
  co_return refused(keys.size(), methods == nullptr ? std::string_view("publickey") : methods);
}

/// No key was taken. What the server says it would take decides whether the ssh command has a chance.
Error SshLogin::refused(std::size_t tried, std::string_view methods) {
  static constexpr int kProtocolError = 2, kNoMoreMethods = 14;  // sshd: too many failures; RFC 4253 §11.1
  const int reason = session_->farewell_reason();
  if (session_->connection_ended() && reason != kProtocolError && reason != kNoMoreMethods) return lost();
  // The ssh command may have a connection there that is open already (ControlMaster).
  if (!proto::takes_keys(methods)) return proto::takes_no_key(Errc::no_usable_key, methods);
  const std::string complaint = keys_->complaint(order_.profile);
  std::string what = tried == 0 ? "no usable private key"
                                : fmt::format("the server refused {}", tried == 1 ? "the key" : "all keys");
  if (!session_->farewell().empty()) what += fmt::format(" ({})", session_->farewell());
  if (unsigned_) what = "nobody signed with the key that the server takes";
  if (!complaint.empty()) what += fmt::format(" ({})", complaint);
  return Error(Errc::no_usable_key, phase_, std::move(what),
               tried == 0 ? "ssh-keygen -t ed25519, then ssh-copy-id" : "ssh-copy-id puts a key there");
}

SshLogin::Step SshLogin::execute() {
  begin(Phase::exec, order_.limits.exec);
  const auto open = [this] {
    session_->set_channel(libssh2_channel_open_session(session_->session()));
    return session_->channel() == nullptr ? session_->last_error() : 0;
  };
  int code = co_await until_done(open);
  if (code == kStopped) co_return timed_out();
  if (session_->channel() == nullptr) {
    if (session_->connection_ended()) co_return lost();
    co_return Error(Errc::remote_shell, phase_, "the server opens no session: " + session_->last_message(),
                    "see MaxSessions in its sshd_config");
  }
  const auto exec = [this] { return libssh2_channel_exec(session_->channel(), order_.command.c_str()); };
  code = co_await until_done(exec);
  if (code == 0) co_return Result<void>();
  if (code == kStopped) co_return timed_out();
  if (session_->connection_ended()) co_return lost();
  if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) {
    co_return Error(Errc::remote_shell, phase_, "the server refuses to run commands");
  }
  // libssh2 issue 671: an innocent interleaving may end here; another session works.
  co_return Error(Errc::dropped, phase_,
                  fmt::format("libssh2 failed to run the command: {}", session_->last_message()));
}

}  // namespace charmtree::io
