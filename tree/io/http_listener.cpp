// SPDX-License-Identifier: Apache-2.0
#include "tree/io/http_listener.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tree/base/hexadecimal.hpp"
#include "tree/io/http_request.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/write_queue.hpp"

namespace charmtree::io {

namespace {

constexpr std::string_view kBearer = "Bearer ";

/// Under this name a browser takes us for who its user meant. The port does not count: a tunnel may have
/// another one.
bool is_our_name(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost";
}

/// A source of a Content-Security-Policy: exactly what stands between `begin` and `end`.
std::string hash_source(std::string_view page, std::string_view begin, std::string_view end) {
  const std::size_t from = page.find(begin), to = page.find(end, from);
  if (from == std::string_view::npos || to == std::string_view::npos) return "'none'";
  const std::string_view text = page.substr(from + begin.size(), to - from - begin.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  ::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> coded{};
  const int length = ::EVP_EncodeBlock(coded.data(), digest.data(), static_cast<int>(size));
  return fmt::format("'sha256-{}'", std::string{coded.begin(), coded.begin() + length});
}

std::string policy_of(std::string_view page) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'self'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'",
      hash_source(page, "<script>", "</script>"), hash_source(page, "<style>", "</style>"));
}

std::string response(std::string_view status, std::string_view type, std::string_view more,
                     std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n{}\r\n{}",
      status, type, body.size(), more, body);
}

std::string refusal(std::string_view status, std::string_view why) {
  return response(status, "text/plain", "Connection: close\r\n", fmt::format("{}\n", why));
}

}  // namespace

// One connection: a request, its answer, the next request.
class HttpListener::Visitor : public std::enable_shared_from_this<Visitor> {
public:
  enum class State { asking, waiting, answering };

  Visitor(HttpListener& listener, int fd, Ticket id)
      : listener_(&listener), socket_(listener.io_, fd), timer_(listener.io_), id_(id) {}

  void begin() { await_request(); }
  State state() const { return state_; }
  /// It has the token, and has had an answer.
  bool may_return() const { return trusted_ && state_ != State::waiting; }
  void answer(std::string bytes, bool last) {
    if (state_ != State::waiting) return;
    write(std::move(bytes), last || !keeps_alive_);
  }
  /// No handler may reach the listener any more.
  void leave() {
    if (listener_ == nullptr) return;
    HttpListener* listener = std::exchange(listener_, nullptr);
    const auto keep = shared_from_this();
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
    listener->visitors_.erase(id_);
    if (state_ == State::waiting) listener->sink_.gone(id_);
  }

private:
  void await_request() {
    state_ = State::asking;
    limit_time();
    next_request();
  }
  void limit_time() {
    timer_.expires_after(listener_->patience_);
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec) self->leave();
    });
  }
  void next_request() {
    if (auto request = reader_.next()) return serve(*request);
    if (reader_.broken()) return write(refusal("400 Bad Request", "this is no request"), true);
    read();
  }
  /// Also while it waits for its answer: only so it shows that it has gone.
  void read() {
    if (std::exchange(reading_, true)) return;
    socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](error_code ec) { self->readable(ec); });
  }
  void readable(error_code ec) {
    reading_ = false;
    if (ec || listener_ == nullptr) return leave();
    std::array<char, 4096> bytes;
    const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return leave();
    if (got > 0) reader_.append({bytes.data(), static_cast<std::size_t>(got)});
    if (state_ == State::asking) return next_request();
    if (reader_.waiting() > HttpReader::kMaxHead) return leave();
    read();
  }
  void serve(const HttpRequest& request) {
    keeps_alive_ = request.keeps_alive;
    if (!is_our_name(request.host))
      return write(refusal("403 Forbidden", "only for http://127.0.0.1 and http://localhost"), true);
    if (!request.is_get) return write(refusal("405 Method Not Allowed", "only GET"), true);
    if (request.target == "/") return write(listener_->page_answer(), !keeps_alive_);
    if (!knows_token(request.authorization))
      return write(refusal("403 Forbidden", "the token is missing or wrong"), true);
    trusted_ = true;
    state_ = State::waiting;
    timer_.cancel();
    read();
    listener_->sink_.asked(id_, request.target);
  }
  bool knows_token(const std::string& authorization) const {
    const std::string right = std::string{kBearer} + listener_->token_;
    return authorization.size() == right.size() &&
           ::CRYPTO_memcmp(authorization.data(), right.data(), right.size()) == 0;
  }
  void write(std::string bytes, bool last) {
    state_ = State::answering;
    last_ = last;
    queue_.push(std::move(bytes));
    limit_time();
    write_more();
  }
  void write_more() {
    const auto state = queue_.write([fd = socket_.native_handle()](const char* bytes, std::size_t size) {
      return ::send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (state == WriteQueue::State::broken) return leave();
    if (state == WriteQueue::State::empty) return last_ ? part() : await_request();
    socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [self = shared_from_this()](error_code ec) {
                         if (ec || self->listener_ == nullptr) return self->leave();
                         self->write_more();
                       });
  }
  /// What has come and was not read would make the kernel throw away what it has yet to send.
  void part() {
    std::array<char, 4096> bytes;
    for (int i = 0; i < 16 && ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0;)
      ++i;
    leave();
  }

  HttpListener* listener_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  Ticket id_;
  HttpReader reader_;
  WriteQueue queue_;
  State state_ = State::asking;
  bool reading_ = false, keeps_alive_ = true, last_ = false, trusted_ = false;
};

HttpListener::HttpListener(asio::io_context& io, std::string page, Sink sink, Duration patience)
    : io_(io),
      page_(std::move(page)),
      policy_(policy_of(page_)),
      token_(hexadecimal(random_bytes(kTokenBytes))),
      sink_(std::move(sink)),
      patience_(patience),
      listener_(io, [this](int fd, Listener::Peer) { admit(fd); }) {}

HttpListener::~HttpListener() {
  sink_.gone = [](Ticket) {};
  while (!visitors_.empty()) visitors_.begin()->second->leave();
}

Result<std::uint16_t> HttpListener::open() {
  auto port = listener_.open_tcp(INADDR_LOOPBACK, 0);
  if (port) listener_.accept();
  return port;
}

void HttpListener::admit(int fd) {
  const auto uid = peer_uid(fd);
  if (uid != ::geteuid()) {
    ::close(fd);
    if (uid && !std::exchange(noted_, true))
      sink_.note(fmt::format("refused a connection of uid {} to the dashboard", *uid));
    return;
  }
  if (visitors_.size() >= kMaxVisitors) {
    auto idle = visitors_.begin();
    while (idle != visitors_.end() && idle->second->state() != Visitor::State::asking) ++idle;
    if (idle == visitors_.end()) {
      ::close(fd);
      return;
    }
    std::shared_ptr {
      idle->second
      } -> leave();
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const Ticket id = ++last_;
  const auto visitor = std::make_shared<Visitor>(*this, fd, id);
  visitors_.emplace(id, visitor);
  visitor->begin();
}

std::string HttpListener::page_answer() const {
  return response("200 OK", "text/html",
                  fmt::format("Content-Security-Policy: {}\r\nX-Frame-Options: DENY\r\n", policy_), page_);
}

void HttpListener::answer(Ticket visitor, const std::string& json) {
  const auto it = visitors_.find(visitor);
  if (it == visitors_.end()) return;
  const std::shared_ptr<Visitor> keep = it->second;
  if (json.empty()) return keep->answer(refusal("404 Not Found", "there is no such thing"), true);
  keep->answer(response("200 OK", "application/json", closing_ ? "Connection: close\r\n" : "", json),
               closing_);
}

void HttpListener::close() {
  closing_ = true;
}

std::size_t HttpListener::expected() const {
  std::size_t count = 0;
  for (const auto& [id, visitor] : visitors_) count += visitor->may_return() ? 1 : 0;
  return count;
}

}  // namespace charmtree::io
