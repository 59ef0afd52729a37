// SPDX-License-Identifier: Apache-2.0
// The election is one bind(): of an abstract socket, which ends with its owner, needs no folder that the
// host's processes share and no other host's processes see, and which belongs to a network namespace. Its
// name comes from the secret, so that nobody else can own it first; it is another one on each machine, since
// everybody there can read it as soon as it is taken.
#include "tree/io/mpiexec/mpiexec_rank.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tree/base/hexadecimal.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/mpiexec/rendezvous_listener.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMostProcessors = 8192;
constexpr std::size_t kMostLocal = wire::kMaxRankReport + kMostProcessors / 8 + 16;  // bytes of a message

Error broken(const std::string& what) {
  return {Errc::remote_shell, Phase::hello, fmt::format("{}: {}", what, strerror(errno))};
}

/// The same in all containers of a machine. Empty if the kernel does not say.
std::string boot_id() {
  constexpr std::size_t kMostBytes = 64;
  auto id = read_file("/proc/sys/kernel/random/boot_id", kMostBytes);
  return id ? std::move(*id) : std::string{};
}

bool is_of_our_user(int fd) {
  const auto uid = peer_uid(fd);
  return uid && *uid == ::geteuid();
}

/// The processors on which this process may run, as sched_getaffinity gives them; empty: unknown.
std::string own_affinity() {
  alignas(cpu_set_t) std::array<char, kMostProcessors / 8> mask{};
  if (::sched_getaffinity(0, mask.size(), reinterpret_cast<cpu_set_t*>(mask.data())) != 0) return {};
  const auto last = std::find_if(mask.rbegin(), mask.rend(), [](char c) { return c != 0; });
  std::string bytes{mask.begin(), last.base()};
  bytes.resize((bytes.size() + 7) / 8 * 8);  // whole words
  return bytes;
}

std::string local_message(const wire::RankReport& report) {
  wire::Writer out;
  out.string(wire::to_frame(report));
  out.string(own_affinity());
  return out.take();
}

}  // namespace

/// A process of this host.
struct RankLauncher::Local {
  Local(asio::io_context& io, int fd) : socket(io, fd) {}
  asio::posix::stream_descriptor socket;
};

std::string election_socket(const std::string& secret, const std::string& machine) {
  const std::string text = "charmtree election " + secret + machine;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return "@charmtree-" + hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Result<Election> elect(const std::string& secret, Duration patience) {
  const LocalAddress name = *local_address(election_socket(secret, boot_id()));
  const Instant deadline = now() + patience;
  for (;;) {
    UniqueFd fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    if (!fd) return broken("no socket");
    if (::bind(fd.get(), name.get(), name.size) == 0) {
      if (::listen(fd.get(), 4096) != 0) return broken("cannot listen");
      return Election{std::move(fd), {}};
    }
    if (errno != EADDRINUSE) return broken("cannot bind");
    if (::connect(fd.get(), name.get(), name.size) == 0) {
      if (!is_of_our_user(fd.get()))
        return Error{Errc::bad_peer, Phase::hello, "another user holds the launcher's socket"};
      return Election{{}, std::move(fd)};
    }
    // It has a name and does not listen yet, or not any more; nothing tells when that changes.
    if (errno != ECONNREFUSED || now() >= deadline) return broken("no launcher on this host");
    ::poll(nullptr, 0, 1);
  }
}

void wait_for_launcher(const Election& election, const wire::RankReport& report) {
  const int fd = election.launcher.get();
  const std::string message = local_message(report);
  char nothing = 0;
  if (::send(fd, message.data(), message.size(), MSG_NOSIGNAL) < 0) return;
  while (::recv(fd, &nothing, 1, 0) > 0 || errno == EINTR) errno = 0;
}

Result<wire::Ticket> read_ticket() {
  const UniqueFd input{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
  auto text = read_file(input, "standard input", wire::Ticket::kMostBytes);
  if (!text) return text.error();
  while (text->ends_with('\n')) text->pop_back();
  return wire::ticket_of(*text, CHARMTREE_VERSION);
}

RankLauncher::RankLauncher(asio::io_context& io, wire::Ticket ticket, Election election, Sink sink)
    : io_(io),
      ticket_(std::move(ticket)),
      sink_(std::move(sink)),
      context_(PskContext::End::client, ticket_.secret),
      listener_(io, [this](int fd, Listener::Peer) { admit(fd); }),
      affinity_(own_affinity()),
      socket_(io),
      timer_(io) {
  set_non_blocking(election.listening.get());
  listener_.assign(std::move(election.listening));
}

/// A root that has been killed cannot take its script away; with any other the script is of no use either
/// once one of its launchers has ended before the job has begun.
RankLauncher::~RankLauncher() {
  if (established_ && !begun_) ::unlink(ticket_.script.c_str());
}

void RankLauncher::start(const wire::RankReport& own) {
  report(own);
  listener_.accept();
  give_up_at_ = now() + ticket_.patience;
  try_next();
}

void RankLauncher::fail(Error error) {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  sink_.failed(error);
}

// ---- the other processes of this host

void RankLauncher::admit(int fd) {
  UniqueFd socket{fd};
  if (!is_of_our_user(fd) || locals_.size() >= ticket_.processes) return;
  locals_.push_back(std::make_shared<Local>(io_, socket.release()));
  hear(locals_.back());
}

void RankLauncher::hear(const std::shared_ptr<Local>& local) {
  local->socket.async_wait(asio::posix::stream_descriptor::wait_read, [this, local](error_code ec) {
    std::array<char, kMostLocal> buffer;
    const ssize_t got = ec ? -1 : ::recv(local->socket.native_handle(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    wire::Reader in{{buffer.data(), static_cast<std::size_t>(got)}};
    wire::FrameDecoder frames{wire::kMaxRankReport};
    frames.append(in.string(kMostLocal));
    const std::string processors = in.string(kMostLocal);
    const auto frame = frames.next();
    if (!in.finished() || !frame || !frame->has_value()) return;
    const auto its = wire::decode_rank_report(**frame);
    if (!its) return;
    affinity_.resize(std::max(affinity_.size(), processors.size()));
    for (std::size_t i = 0; i < processors.size(); ++i)
      affinity_[i] = static_cast<char>(affinity_[i] | processors[i]);
    report(*its);
  });
}

/// To the root, now or when it has been found.
void RankLauncher::report(const wire::RankReport& report) {
  if (over_) return;
  if (established_)
    link_->send(wire::to_frame(report));
  else
    reports_ += wire::to_frame(report);
}

// ---- the root

void RankLauncher::try_next() {
  if (over_) return;
  if (next_place_ >= ticket_.places.size()) {
    if (now() >= give_up_at_ || ticket_.places.empty()) {
      return fail({Errc::unreachable, Phase::connect,
                   fmt::format("cannot reach the root at {}", last_failure_),
                   "see ++useip, and whether a firewall is between the hosts"});
    }
    next_place_ = 0;
    timer_.expires_after(kPause);
    timer_.async_wait([this](error_code ec) {
      if (!ec) try_next();
    });
    return;
  }
  const std::string& place = ticket_.places[next_place_];
  const std::size_t colon = place.rfind(':');
  error_code wrong;
  const auto address = asio::ip::make_address_v4(place.substr(0, colon), wrong);
  const auto port = static_cast<std::uint16_t>(std::strtoul(place.c_str() + colon + 1, nullptr, 10));
  socket_ = asio::ip::tcp::socket{io_};
  // Made by us: Asio's would stay open in the programs.
  socket_.assign(asio::ip::tcp::v4(), ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), wrong);
  timer_.expires_after(kTry);
  timer_.async_wait([this](error_code ec) {
    if (!ec && !established_) dropped("no answer");
  });
  socket_.async_connect({address, port}, [this](error_code ec) {
    if (ec == asio::error::operation_aborted) return;
    if (ec) return dropped(ec.message());
    connected();
  });
}

void RankLauncher::connected() {
  watch_connection(socket_.native_handle());
  UniqueFd input{socket_.release()}, output{::fcntl(input.get(), F_DUPFD_CLOEXEC, 3)};
  if (!output) return dropped("out of file descriptors");
  link_ = std::make_unique<PskLink>(std::make_unique<FdLinkHandle>(FdLink::make(
                                        io_, std::move(input), std::move(output), UniqueFd{}, 0, nullptr)),
                                    context_);
  link_->on_established([this] { established(); });
  Link::Handlers handlers;
  handlers.on_bytes = [this](std::string_view bytes) { received(bytes); };
  handlers.on_end = [this](const LinkEnd& end) { dropped(end.what); };
  link_->start(std::move(handlers));
}

void RankLauncher::established() {
  established_ = true;
  timer_.cancel();
  link_->send(std::exchange(reports_, {}));
}

/// Whoever was at this place is not the root, or the root has gone.
void RankLauncher::dropped(const std::string& what) {
  if (over_) return;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  if (link_) {
    link_->close(Duration{0});
    auto link = std::shared_ptr<PskLink>{std::move(link_)};
    asio::post(io_, [link] {});  // it may be calling us
  }
  if (established_) return fail({Errc::link_lost, Phase::hello, "the root has gone (" + what + ")"});
  last_failure_ = fmt::format("{} ({})", ticket_.places[next_place_], what);
  ++next_place_;
  asio::post(io_, [this] { try_next(); });
}

void RankLauncher::received(std::string_view bytes) {
  if (over_) return;
  frames_.append(bytes);
  const auto frame = frames_.next();
  if (frame && !frame->has_value()) return;
  if (!frame || !wire::is_begin(**frame)) return dropped("it said something unexpected");
  over_ = begun_ = true;
  if (!affinity_.empty())
    ::sched_setaffinity(0, affinity_.size(), reinterpret_cast<const cpu_set_t*>(affinity_.data()));
  link_->pause_reading(true);
  asio::post(io_, [this] { sink_.begun(std::move(link_)); });  // it is calling us
}

}  // namespace charmtree::io
