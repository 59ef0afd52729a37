// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/client_listener.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tree/io/host/own_addresses.hpp"
#include "tree/io/passed_descriptor.hpp"
#include "tree/io/read_buffer.hpp"
#include "tree/io/socket_folder.hpp"
#include "tree/io/write_queue.hpp"

namespace charmtree::io {

namespace {

constexpr Duration kLook = 1s;  // at who is not read: has it gone?
constexpr Duration kAgain = 10ms;
/// Descriptors on their way to one client: more than one that reads leaves there.
constexpr std::size_t kMostPassing = 1024;

/// POLLRDHUP: the other end says nothing more; what it has said is perhaps not read yet. 0: it is broken.
bool has_ended(int fd, short how) {
  pollfd look{fd, how, 0};
  return ::poll(&look, 1, 0) == 1;
}

}  // namespace

// One accepted socket, of either kind: bytes in, bytes out.
class ClientListener::Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(ClientListener& owner, int fd, proto::ClientKind kind, proto::ClientId id, std::uint32_t peer)
      : owner_(&owner), socket_(owner.io_, fd), look_timer_(owner.io_), kind_(kind), id_(id), peer_(peer) {}

  void read() {
    if (reading_ || paused() || closing_) return;
    reading_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      self->reading_ = false;
      if (!ec) self->take();
    });
  }
  /// What has come already, and waits for more.
  void take() {
    if (owner_ == nullptr || closing_ || paused()) return;
    static thread_local ReadBuffer<64U << 10> buffer;
    const ssize_t got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    const bool of_job = kind_ == proto::ClientKind::ccs;
    if (got == 0 && of_job && listens(is_own_address(peer_))) return fall_silent();
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return lost();
    if (got > 0)
      owner_->sink_.event(
          proto::ClientBytes{kind_, id_, std::string{buffer.data(), static_cast<std::size_t>(got)}});
    if (owner_ != nullptr) read();
  }
  /// `passed`, if not null, goes with the bytes.
  void send(std::string bytes, wire::Blob tail, std::shared_ptr<const UniqueFd> passed) {
    if (closing_) return;
    if (passed && ++passing_ > kMostPassing) return lost();
    if (passed)
      queue_.push(std::move(bytes), std::move(passed));
    else
      queue_.push(std::move(bytes));
    queue_.push(std::move(tail));
    count();
    if (queue_.size() > kMaxBacklog) return lost();
    if (queue_.size() >= WriteQueue::kJoined) return write();
    if (!std::exchange(unsent_, true)) owner_->flush_at_end_of_round(shared_from_this());
  }
  void flush() {
    unsent_ = false;
    if (socket_.is_open() && !queue_.empty()) write();
  }
  void close() {
    closing_ = true;
    if (queue_.empty()) shut();
  }
  /// `paused`: this one, even if the others are read.
  void pause(bool paused) {
    paused_ = paused;
    if (paused)
      look();
    else
      read();
  }
  /// Of a client of the job: what it has not read yet.
  std::size_t job_backlog() const { return kind_ == proto::ClientKind::ccs ? queue_.size() : 0; }
  int fd() { return socket_.native_handle(); }
  /// It is of no use any more.
  void lost() {
    if (owner_ == nullptr) return;
    ClientListener* owner = owner_;
    const auto keep = shared_from_this();
    owner->job_backlog_ -= std::exchange(counted_, 0);
    owner->connections_.erase(id_);
    owner->silent_.erase(id_);
    detach();
    owner->sink_.event(proto::ClientClosed{kind_, id_});
  }
  /// No handler may reach the owner any more.
  void detach() {
    owner_ = nullptr;
    flush();
    shut();
  }

private:
  bool paused() const { return paused_ || silent_ || (owner_ != nullptr && owner_->paused_); }
  /// Who has closed its connection has said all, too: on this machine the kernel knows which it was.
  bool listens(bool local) {
    if (has_ended(fd(), 0)) return false;
    local_ = local;
    return !local || owner_->peers_.inode(fd());
  }
  /// It has said all, and may wait for what is said to it.
  void fall_silent() {
    silent_ = true;
    owner_->silent_.insert(id_);
    look();
    owner_->sink_.event(proto::ClientClosed{kind_, id_, true});
  }
  void write() {
    if (writing_) return;
    const int more = closing_ ? MSG_MORE : 0;  // the last bytes and the end of the connection: one packet
    // broken: what it said before it went is still to be read
    const auto state = queue_.write([this, more](const char* bytes, std::size_t size, int passed) {
      const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | more;
      return passed < 0 ? ::send(fd(), bytes, size, flags) : pass(bytes, size, passed, flags);
    });
    count();
    if (state == WriteQueue::State::blocked && std::exchange(too_many_refs_, false)) {
      writing_ = true;
      look_timer_.expires_after(kAgain);
      look_timer_.async_wait([self = shared_from_this()](error_code ec) {
        self->writing_ = false;
        if (!ec && self->socket_.is_open()) self->write();
      });
      return;
    }
    if (state == WriteQueue::State::blocked) {
      writing_ = true;
      socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](error_code ec) {
                           self->writing_ = false;
                           if (!ec && self->socket_.is_open()) self->write();
                         });
      return;
    }
    if (closing_) shut();
  }
  /// Of all its processes, a user may have only so many descriptors under way as one may have open: then it
  /// must wait for others to read.
  ssize_t pass(const char* bytes, std::size_t size, int passed, int flags) {
    const ssize_t sent = send_with(fd(), bytes, size, passed, flags);
    if (sent >= 0) --passing_;
    too_many_refs_ = sent < 0 && errno == ETOOMANYREFS;
    if (too_many_refs_) errno = EAGAIN;
    return sent;
  }
  void shut() {
    closing_ = true;
    error_code ignored;
    socket_.close(ignored);
    look_timer_.cancel();
    if (owner_ == nullptr) return;
    owner_->job_backlog_ -= std::exchange(counted_, 0);
    owner_->silent_.erase(id_);
    std::exchange(owner_, nullptr)->connections_.erase(id_);
  }
  /// Tells the owner how much has not been read.
  void count() {
    if (owner_ == nullptr || kind_ != proto::ClientKind::ccs) return;
    owner_->job_backlog_ += queue_.size() - counted_;
    counted_ = queue_.size();
  }
  /// Nothing else would tell that a client of the job has gone, as long as it is not read.
  void look() {
    if (kind_ != proto::ClientKind::ccs) return;
    look_timer_.expires_after(kLook);
    look_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->owner_ == nullptr || !(self->paused_ || self->silent_)) return;
      if (self->silent_ ? !self->listens(self->local_) : has_ended(self->fd(), POLLRDHUP))
        return self->lost();
      self->look();
    });
  }

  ClientListener* owner_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer look_timer_;
  proto::ClientKind kind_;
  proto::ClientId id_;
  std::uint32_t peer_;  // its address
  WriteQueue queue_;
  std::size_t counted_ = 0;  // of it, by the owner
  std::size_t passing_ = 0;  // descriptors in it
  bool reading_ = false, writing_ = false, unsent_ = false, paused_ = false, closing_ = false,
       silent_ = false, local_ = false, too_many_refs_ = false;
};

ClientListener::ClientListener(asio::io_context& io, Sink sink)
    : io_(io),
      sink_(std::move(sink)),
      tcp_(listener(proto::ClientKind::charm)),
      local_(listener(proto::ClientKind::native)),
      pmi_(listener(proto::ClientKind::pmi)) {}

std::unique_ptr<Listener> ClientListener::listener(proto::ClientKind kind) {
  return std::make_unique<Listener>(io_,
                                    [this, kind](int fd, Listener::Peer peer) { admit(fd, kind, peer); });
}

void ClientListener::drop_clients() {
  flush();
  for (auto connections = std::exchange(connections_, {}); auto& [id, connection] : connections)
    connection->detach();
}

ClientListener::~ClientListener() {
  drop_clients();
  local_.reset();
  if (!path_.empty()) remove_stale_socket(path_);
}

/// A free port of the first address may be taken at the others: then another one is tried.
Result<std::uint16_t> ClientListener::open_to_clients(const std::vector<std::uint32_t>& addresses,
                                                      std::uint16_t port, bool any_user) {
  any_user_ = any_user;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  most_job_clients_ = std::min<std::size_t>(kMaxClients, limit.rlim_cur / 2);
  constexpr int kTries = 16;
  Result<std::uint16_t> listening = port;
  for (int i = 0; i < (port == 0 ? kTries : 1); ++i) {
    listeners_.clear();
    listening = port;
    for (const std::uint32_t address : addresses) {
      listeners_.push_back(listener(proto::ClientKind::ccs));
      listening = listeners_.back()->open_tcp(address, *listening);
      if (!listening) break;
    }
    if (listening) break;
  }
  if (listening) {
    for (const auto& each : listeners_) each->accept();
  }
  return listening;
}

Result<void> ClientListener::open(const std::string& job, std::uint32_t host) {
  if (port_ == 0) {
    const auto port = tcp_->open_tcp(INADDR_LOOPBACK, 0);
    if (!port) return port.error();
    port_ = *port;
    tcp_->accept();
  }
  if (!path_.empty() && ::access(path_.c_str(), F_OK) == 0) return {};
  local_->close();  // its file is gone
  const auto folder = socket_folder(
      [&](const std::string& each) { return local_->open_local(socket_path(each, job, host)); });
  if (!folder) return folder.error();
  path_ = socket_path(folder->path, job, host);
  local_->accept();
  if (!folder->remark.empty()) sink_.note(folder->remark);
  return {};
}

Result<std::uint16_t> ClientListener::pmi_port() {
  if (pmi_port_ != 0) return pmi_port_;
  const auto port = pmi_->open_tcp(INADDR_LOOPBACK, 0);
  if (!port) return port.error();
  pmi_->accept();
  return pmi_port_ = *port;
}

/// Whoever connects from another machine has no uid here.
bool ClientListener::welcome(int fd, proto::ClientKind kind, Listener::Peer peer) {
  if (kind == proto::ClientKind::ccs && any_user_) return true;
  const auto uid = peers_.uid(fd);
  if (!uid) return kind == proto::ClientKind::ccs && !is_own_address(peer.address);
  if (*uid == ::geteuid()) return true;
  if (refused_.size() < kMaxNotes && refused_.insert(*uid).second)
    sink_.note(fmt::format("refused a connection of uid {} to a local socket", *uid));
  return false;
}

/// For a client of the job: whoever only waits for a reply goes first.
void ClientListener::make_room() {
  if (connections_.size() < most_job_clients_ || silent_.empty()) return;
  const std::shared_ptr<Connection> first = connections_.at(*silent_.begin());
  first->lost();
}

void ClientListener::admit(int fd, proto::ClientKind kind, Listener::Peer peer) {
  const bool of_job = kind == proto::ClientKind::ccs;
  if (of_job) make_room();
  if (connections_.size() >= (of_job ? most_job_clients_ : kMaxClients) || !welcome(fd, kind, peer)) {
    ::close(fd);
    return;
  }
  const int on = 1;  // else a client whose host has gone would stay
  if (of_job) ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  begin(fd, kind, peer, wire::kNoProcess);
}

proto::ClientId ClientListener::take(UniqueFd fd, proto::ClientKind kind, std::uint32_t process) {
  return begin(fd.release(), kind, {}, process);
}

proto::ClientId ClientListener::begin(int fd, proto::ClientKind kind, Listener::Peer peer,
                                      std::uint32_t made_for) {
  const proto::ClientId id = ++last_;
  auto connection = std::make_shared<Connection>(*this, fd, kind, id, peer.address);
  connections_.emplace(id, connection);
  sink_.event(proto::ClientOpened{kind, id, peer.address, peer.port, made_for});
  connection->take();
  return id;
}

void ClientListener::send(proto::ClientId client, std::string bytes, wire::Blob tail,
                          const proto::SharedContent& shared, const std::optional<proto::PassedPort>& port) {
  const auto it = connections_.find(client);
  if (it == connections_.end()) return;
  const std::shared_ptr<Connection> connection = it->second;
  std::shared_ptr<const UniqueFd> passed;
  if (shared.coded) {
    const auto file = contents_.of(shared);
    if (!file) {
      sink_.note(file.error().what);
      return connection->lost();
    }
    passed = *file;
  }
  if (port) {
    auto socket = ports_.take(*port);
    if (socket) {
      passed = std::make_shared<const UniqueFd>(std::move(*socket));
    } else {
      if (!std::exchange(has_told_of_ports_, true)) sink_.note(socket.error().what);
      bytes = port->otherwise;
    }
  }
  connection->send(std::move(bytes), std::move(tail), std::move(passed));
  if (job_backlog_ > kMaxJobBacklog) drop_largest_backlog();
}

void ClientListener::drop_largest_backlog() {
  std::shared_ptr<Connection> most;
  for (const auto& [id, connection] : connections_) {
    if (!most || connection->job_backlog() > most->job_backlog()) most = connection;
  }
  if (most) most->lost();
}

void ClientListener::flush(Unsent& unsent) {
  for (const auto& connection : std::exchange(unsent, {})) connection->flush();
}

void ClientListener::flush_at_end_of_round(std::shared_ptr<Connection> connection) {
  if (unsent_->empty()) asio::post(io_, [unsent = unsent_] { flush(*unsent); });
  unsent_->push_back(std::move(connection));
}

void ClientListener::close(proto::ClientId client) {
  const auto it = connections_.find(client);
  if (it != connections_.end()) std::shared_ptr {
      it->second
      } -> close();
}

void ClientListener::pause_reading(bool paused) {
  paused_ = paused;
  for (auto& [id, connection] : connections_) connection->read();
}

void ClientListener::pause_client(proto::ClientId client, bool paused) {
  const auto it = connections_.find(client);
  if (it != connections_.end()) it->second->pause(paused);
}

bool ClientListener::has_unread(proto::ClientId client) const {
  const auto it = connections_.find(client);
  int bytes = 0;
  return it != connections_.end() && ::ioctl(it->second->fd(), FIONREAD, &bytes) == 0 && bytes > 0;
}

std::optional<std::uint64_t> ClientListener::inode_of(proto::ClientId client) {
  const auto it = connections_.find(client);
  return it == connections_.end() ? std::nullopt : peers_.inode(it->second->fd());
}

}  // namespace charmtree::io
