// SPDX-License-Identifier: Apache-2.0
// The pump works in turns. A turn reads stdout and stderr until libssh2 has nothing left (a byte that stays
// in its queue makes no socket readable), then writes what is queued, and starts over as long as anything
// moved, up to a bound; then it waits on the socket. Every libssh2 call takes whatever packets have come,
// also those for another stream: that nothing is left is asked after the last call of a round. After close()
// the turns go on without handlers: write the rest, say EOF, read until the far side has closed too (to close
// a socket with unread bytes would reset the connection and might destroy the last bytes that we sent).
#include "tree/io/ssh/ssh_link.hpp"

#include <array>
#include <cstring>

#include "tree/io/clock.hpp"
#include "tree/io/read_buffer.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kReadBytes = 256 * 1024;
constexpr int kRoundsPerTurn = 4;  // at most 1 MB in, 128 KB out, before other links get their turn
constexpr Duration kExitStatusWait =
    2s;  // from the end of stdout to the channel's close with the exit status

}  // namespace

class SshLink::Pump : public std::enable_shared_from_this<Pump> {
public:
  explicit Pump(std::unique_ptr<SshSession> session)
      : session_(std::move(session)), timer_(session_->socket().get_executor()) {}

  void start(Handlers handlers);
  void send(std::string bytes);
  std::size_t backlog() const { return sending_.size() - sent_ + waiting_.size(); }
  void pause_reading(bool paused);
  std::optional<TcpEnds> ends() const;
  void close(Duration linger);
  void release();

private:
  enum class Step : std::uint8_t { none, read_out, read_err, write, send_eof, wait_closed };

  void schedule();
  void turn();
  bool round();
  bool may(Step step) const { return session_ && (half_sent_ == Step::none || half_sent_ == step); }
  bool settle(Step step, long code);
  bool read(Step step, int stream);
  bool write();
  bool say_eof();
  bool wait_closed();
  bool more_to_read();
  void arm();
  void wait_for(asio::ip::tcp::socket::wait_type what, bool& armed);
  void start_timer(Duration after);
  void finish(std::string what);

  std::unique_ptr<SshSession> session_;  // null: released
  std::shared_ptr<Handlers> handlers_;   // shared, so that a handler may drop them while it runs
  asio::steady_timer timer_;
  std::string sending_;  // never touched between its first write and its last
  std::string waiting_;  // goes next
  std::size_t sent_ = 0;
  std::string stderr_tail_;
  Step half_sent_ = Step::none;
  std::uint64_t looked_at_ = 0;  // what had been received when it was last asked for more to read
  bool scheduled_ = false;
  bool read_armed_ = false, write_armed_ = false;
  bool paused_ = false;
  bool closing_ = false;
  bool eof_seen_ = false, eof_said_ = false, closed_seen_ = false;
};

void SshLink::Pump::start(Handlers handlers) {
  handlers_ = std::make_shared<Handlers>(std::move(handlers));
  schedule();
}

void SshLink::Pump::send(std::string bytes) {
  if (!session_ || closing_ || bytes.empty()) return;
  if (waiting_.empty()) {
    waiting_ = std::move(bytes);
  } else {
    waiting_ += bytes;
  }
  schedule();
}

void SshLink::Pump::pause_reading(bool paused) {
  paused_ = paused && !closing_;
  if (!paused_) schedule();
}

std::optional<TcpEnds> SshLink::Pump::ends() const {
  return session_ ? tcp_ends(session_->socket().native_handle()) : std::nullopt;
}

void SshLink::Pump::close(Duration linger) {
  handlers_.reset();
  if (!session_ || closing_) return;
  closing_ = true;
  paused_ = false;
  if (linger <= Duration::zero()) {
    release();
    return;
  }
  start_timer(linger);
  schedule();
}

/// Everything goes: the session says good-bye if no packet is half sent, and the connection is cut.
void SshLink::Pump::release() {
  handlers_.reset();
  timer_.cancel();
  sending_.clear();
  waiting_.clear();
  sent_ = 0;
  if (!session_) return;
  if (half_sent_ == Step::none) session_->say_goodbye();
  session_.reset();
}

void SshLink::Pump::schedule() {
  if (scheduled_ || !session_ || (!handlers_ && !closing_)) return;
  scheduled_ = true;
  asio::post(timer_.get_executor(), [self = shared_from_this()] {
    self->scheduled_ = false;
    self->turn();
  });
}

void SshLink::Pump::turn() {
  const auto self = shared_from_this();  // a handler may drop the last other owner
  for (int i = 0; i < kRoundsPerTurn; ++i) {
    if (!session_) return;
    if (round()) continue;
    arm();
    return;
  }
  schedule();
}

/// One pass over all steps; true if anything moved.
bool SshLink::Pump::round() {
  bool moved = false, nothing_to_read = false;
  const bool half_read = half_sent_ == Step::read_out || half_sent_ == Step::read_err;
  if ((!paused_ || half_read) && !eof_seen_) {
    nothing_to_read = half_sent_ == Step::none;
    if (may(Step::read_out)) moved |= read(Step::read_out, 0);
    if (may(Step::read_err)) moved |= read(Step::read_err, SSH_EXTENDED_DATA_STDERR);
    nothing_to_read = nothing_to_read && !moved;
  }
  if (may(Step::write)) moved |= write();
  if (closing_ && backlog() == 0 && !eof_said_ && may(Step::send_eof)) moved |= say_eof();
  if (eof_seen_ && may(Step::wait_closed)) moved |= wait_closed();
  if (!session_ || half_sent_ != Step::none || paused_ || eof_seen_) return moved;
  const bool stuck = nothing_to_read && session_->unread() > 0 && session_->received() == looked_at_;
  looked_at_ = session_->received();
  if (!stuck) return moved || more_to_read();
  // A key exchange holds up what has come; or it is of no stream that we know, and would for ever.
  if (session_->connection_ended()) finish("connection closed with data of an unknown kind");
  return moved;
}

/// True if packets were taken for a stream whose turn was over, the end of all streams among them.
bool SshLink::Pump::more_to_read() {
  if (session_->unread() > 0) return true;
  eof_seen_ = libssh2_channel_eof(session_->channel()) != 0;
  if (eof_seen_ && !closing_) start_timer(kExitStatusWait);
  return eof_seen_;
}

/// Takes note of how a libssh2 call ended; true if it succeeded. Every other error than EAGAIN ends the link.
bool SshLink::Pump::settle(Step step, long code) {
  half_sent_ = Step::none;
  if (code >= 0) return true;
  if (code == LIBSSH2_ERROR_EAGAIN) {
    if (session_->wants_write()) half_sent_ = step;
    return false;
  }
  const int error = session_->connection_error();
  if (!session_->farewell().empty()) {
    finish("the server ended the session: " + session_->farewell());
  } else if (error != 0) {
    finish(std::string("connection lost: ") + std::strerror(error));
  } else {
    finish(session_->connection_ended() ? "connection closed by the other side"
                                        : "ssh: " + session_->last_message());
  }
  return false;
}

bool SshLink::Pump::read(Step step, int stream) {
  static thread_local ReadBuffer<kReadBytes> buffer;
  const ssize_t got = libssh2_channel_read_ex(session_->channel(), stream, buffer.data(), buffer.size());
  if (!settle(step, got) || got == 0) return false;
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (step == Step::read_err) {
    stderr_tail_ += bytes;
    if (stderr_tail_.size() > kStderrTail) stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
  } else if (const auto handlers = handlers_; handlers && handlers->on_bytes) {
    handlers->on_bytes(bytes);
  }
  return true;
}

bool SshLink::Pump::write() {
  if (sent_ == sending_.size()) {
    if (waiting_.empty()) return false;
    sending_ = std::move(waiting_);
    waiting_.clear();
    sent_ = 0;
  }
  const ssize_t wrote =
      libssh2_channel_write_ex(session_->channel(), 0, sending_.data() + sent_, sending_.size() - sent_);
  if (!settle(Step::write, wrote) || wrote == 0) return false;
  sent_ += static_cast<std::size_t>(wrote);
  if (sent_ < sending_.size()) return true;
  sending_ = {};
  sent_ = 0;
  if (const auto handlers = handlers_; waiting_.empty() && handlers && handlers->on_drained)
    handlers->on_drained();
  return true;
}

bool SshLink::Pump::say_eof() {
  const int code = libssh2_channel_send_eof(session_->channel());
  if (!settle(Step::send_eof, code)) return false;
  eof_said_ = true;
  return true;
}

bool SshLink::Pump::wait_closed() {
  const int code = libssh2_channel_wait_closed(session_->channel());
  if (!settle(Step::wait_closed, code)) return false;
  closed_seen_ = true;
  finish("closed by the other side");
  return false;
}

void SshLink::Pump::arm() {
  using Socket = asio::ip::tcp::socket;
  if (!session_) return;
  if (half_sent_ != Step::none) {
    wait_for(Socket::wait_write, write_armed_);
  } else if (!paused_ || ((backlog() > 0 || closing_) && !session_->connection_ended())) {
    wait_for(Socket::wait_read, read_armed_);
  }
}

void SshLink::Pump::wait_for(asio::ip::tcp::socket::wait_type what, bool& armed) {
  if (armed) return;
  armed = true;
  session_->socket().async_wait(what, [self = shared_from_this(), &armed](error_code) {
    armed = false;
    self->turn();
  });
}

void SshLink::Pump::start_timer(Duration after) {
  timer_.expires_after(after);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || !self->session_ || self->timer_.expiry() > to_steady(now())) return;
    if (self->closing_) {
      self->release();
    } else if (self->eof_seen_) {
      self->finish("closed its output");
    }
  });
}

void SshLink::Pump::finish(std::string what) {
  LinkEnd end;
  end.what = std::move(what);
  end.stderr_tail = std::move(stderr_tail_);
  LIBSSH2_CHANNEL* channel = session_->channel();
  char* signal = nullptr;
  std::size_t length = 0;
  libssh2_channel_get_exit_signal(channel, &signal, &length, nullptr, nullptr, nullptr, nullptr);
  if (signal != nullptr) {
    end.exit_signal.assign(signal, length);
    libssh2_free(session_->session(), signal);
  }
  const int status = libssh2_channel_get_exit_status(channel);
  // libssh2 says 0 when it was told nothing: only an orderly close makes that a status.
  if (end.exit_signal.empty() && (status != 0 || closed_seen_)) end.exit_status = status;
  const auto handlers = handlers_;
  release();
  if (handlers && handlers->on_end) handlers->on_end(std::move(end));
}

SshLink::SshLink(std::unique_ptr<SshSession> session) : pump_(std::make_shared<Pump>(std::move(session))) {}

SshLink::~SshLink() {
  pump_->close(Duration::zero());
}

void SshLink::start(Handlers handlers) {
  pump_->start(std::move(handlers));
}
void SshLink::send(std::string bytes) {
  pump_->send(std::move(bytes));
}
std::size_t SshLink::backlog() const {
  return pump_->backlog();
}
void SshLink::pause_reading(bool paused) {
  pump_->pause_reading(paused);
}
std::optional<TcpEnds> SshLink::ends() const {
  return pump_->ends();
}
void SshLink::close(Duration linger) {
  pump_->close(linger);
}

}  // namespace charmtree::io
