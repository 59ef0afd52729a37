// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/links.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tree/base/handle.hpp"
#include "tree/base/join.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/link/guardian.hpp"
#include "tree/io/link/host_probe.hpp"
#include "tree/io/link/remote_command.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/overlay/launch_failure.hpp"

namespace charmtree::io {

namespace {
proto::LoginTimes convert(const LoginSteps& t) {
  return {t.begun, t.resolved, t.connected, t.handshaken, t.authenticated, t.executed};
}
proto::StreamEnd convert(const LinkEnd& end) {
  return {end.exit_status, end.exit_signal, end.stderr_tail, end.what};
}

/// A peer that greeted and then broke the protocol.
Error garbage(const Error& error) {
  return {Errc::bad_peer, Phase::run, "garbage came from the launcher there: " + error.what,
          "is it the same charmrun as here, and does nothing else print into its stdout?"};
}

bool is_child(proto::LinkId link) {
  return link != proto::kParentLink && link != proto::kAdopterLink;
}

/// Of one side, when the other is not read.
constexpr std::size_t kMostRelayed = 1U << 20;
/// Bytes that are read of a child that is held, but not looked at, so that the end of its link is noticed:
/// more than an ssh channel or a pipe holds.
constexpr std::size_t kMostReadAhead = 4U << 20;

/// The usual limits, none longer than `limit` (++timeout).
LoginLimits limits_within(Duration limit) {
  LoginLimits limits;
  for (Duration* each :
       {&limits.resolve, &limits.connect, &limits.handshake, &limits.authenticate, &limits.exec}) {
    *each = std::min(*each, limit);
  }
  return limits;
}
}  // namespace

Transport& Transports::of(Via via) const {
  switch (via) {
    case Via::local:
      return *local;
    case Via::command:
      return *command;
    default:
      return *ssh;
  }
}

struct Links::Port {
  proto::LinkId id;
  Via via = Via::local;
  std::string launcher;
  std::optional<Staging> staging;  // before the greeting, where charmrun need not be installed
  Transport* transport = nullptr;
  Transport::LoginId login = 0;
  std::unique_ptr<Link> link;
  wire::LinkReader reader;
  LoginResult login_result;  // kept from login to greeting
  Duration greeting_limit{0};
  asio::steady_timer greeting;
  Instant heard = kNever;       // the last bytes
  std::shared_ptr<void> probe;  // of its host, under way
  bool up = false;              // LinkUp has been put out (parent: from the start)
  bool gone = false;            // nothing may be put out any more
  bool is_held = false;         // its answers wait (LinkFlow), so what it sends is not looked at
  std::size_t ahead = 0;        // bytes that were read since
  bool is_paused = false;       // it is not read, for whichever reason
  std::weak_ptr<Port> other;    // where all that comes is handed on to
  bool is_relayed = false;      // to us, over ...
  std::optional<TcpEnds> carrier;

  Port(asio::io_context& io, proto::LinkId id_, wire::LinkReader::From from, const wire::MessageTypes& types)
      : id(id_), reader(from, types), greeting(io) {}
};

Links::Links(asio::io_context& io, const wire::MessageTypes& types, Transports transports,
             std::function<void(proto::Event)> sink, std::function<void(proto::LinkId)> on_drained,
             Remits remit)
    : io_(io),
      types_(types),
      transports_(transports),
      sink_(std::move(sink)),
      on_drained_(std::move(on_drained)),
      remit_(std::move(remit)),
      look_(io),
      linger_(io),
      life_(io) {}

Links::~Links() {
  for (auto& [id, port] : ports_) port->gone = true;
}

void Links::open_parent(std::unique_ptr<Link> link) {
  auto port = std::make_shared<Port>(io_, proto::kParentLink, wire::LinkReader::From::parent, types_);
  port->link = std::move(link);
  port->heard = now();
  port->up = true;
  ports_.emplace(proto::kParentLink, port);
  guard_link(port->link->descriptor());
  port->link->send(wire::make_greeting());
  start(port);
  transports_.ssh->set_signer(
      [this](Transport::LoginId login, std::string data) { want_signature(login, std::move(data)); });
}

void Links::start(const PortPtr& port) {
  Link::Handlers handlers;
  // Weak: the port owns the link, the link its handlers.
  handlers.on_bytes = [this, weak = std::weak_ptr{port}](std::string_view bytes) {
    if (const PortPtr alive = weak.lock()) received(alive, bytes);
  };
  handlers.on_end = [this, weak = std::weak_ptr{port}](LinkEnd end) {
    if (const PortPtr alive = weak.lock()) ended(alive, end);
  };
  handlers.on_drained = [this, weak = std::weak_ptr{port}] {
    if (const PortPtr alive = weak.lock()) drained(alive);
  };
  port->link->start(std::move(handlers));
}

void Links::execute(const proto::Login& action) {
  auto port = std::make_shared<Port>(io_, action.link, wire::LinkReader::From::child, types_);
  port->via = action.via;
  port->launcher = action.profile.launcher;
  const std::string command = stage(*port, action);
  port->transport = &transports_.of(action.via);
  ports_.emplace(action.link, port);
  const LoginLimits limits = limits_within(action.limit);
  port->greeting_limit = std::min(kGreetingLimit, action.limit);
  if (action.via == Via::command) port->greeting_limit += limits.connect;  // it still has to connect
  port->login =
      port->transport->login(action.host, action.profile, command, limits,
                             [this, port](LoginResult result) { logged_in(port, std::move(result)); });
}

void Links::logged_in(const PortPtr& port, LoginResult result) {
  if (port->gone) return;
  if (!result.link) {
    ports_.erase(port->id);
    port->gone = true;
    return sink_(proto::LoginFailed{port->id, std::move(result.error), std::move(result.note)});
  }
  port->link = std::move(result.link);
  port->login_result = std::move(result);
  await_greeting(port);
  start(port);
}

/// From now on.
void Links::await_greeting(const PortPtr& port) {
  port->greeting.expires_after(port->greeting_limit);
  port->greeting.async_wait([this, port](error_code ec) {
    if (ec || port->gone || port->up) return;
    fail(port, Error{Errc::timed_out, Phase::hello,
                     fmt::format("no answer from the launcher within {:g} s", seconds(port->greeting_limit)),
                     "is its login shell slow or waiting for input? try: ssh HOST true"});
  });
}

/// How its launcher is started, and given to it where it is not installed: not to this host, and not if our
/// own file cannot be read.
std::string Links::stage(Port& port, const proto::Login& action) {
  const bool stages = action.profile.stages && action.via != Via::local;
  if (stages && !own_file_) own_file_ = OwnFile::open();
  if (!stages || !own_file_) return remote_command(port.launcher);
  port.staging.emplace(port.launcher, own_file_);
  return action.replaces ? staging_command() : staging_command(port.launcher, own_file_->description());
}

/// Who takes it lives: it has as long as it takes pieces.
void Links::send_staged(const PortPtr& port, std::string bytes) {
  if (bytes.empty()) return;
  await_greeting(port);
  port->link->send(std::move(bytes));
}

void Links::drained(const PortPtr& port) {
  if (port->staging) send_staged(port, port->staging->next_piece());
  if (const PortPtr other = port->other.lock()) other->link->pause_reading(false);
  on_drained_(port->id);
}

void Links::received(const PortPtr& port, std::string_view bytes) {
  if (port->gone) return;
  port->heard = now();
  if (const PortPtr other = port->other.lock()) {
    other->link->send(std::string{bytes});
    if (other->link->backlog() > kMostRelayed) port->link->pause_reading(true);
    return;
  }
  if (auto ok = port->reader.append(bytes); !ok) return fail(port, ok.error());
  if (!port->up) {
    if (const auto request = port->reader.take_stage_request(); request && port->staging) {
      auto answer = port->staging->answer(*request);
      if (!answer) return fail(port, answer.error());
      return send_staged(port, std::move(*answer));
    }
    if (!port->reader.greeted()) return;
    greeted(*port);
  }
  if (port->is_held) port->ahead += bytes.size();
  take_messages(port);
  if (!port->gone) read_or_pause(*port);
}

void Links::greeted(Port& port) {
  port.up = true;
  read_or_pause(port);
  port.greeting.cancel();
  LoginResult& login = port.login_result;
  std::string note = std::move(login.note);
  if (!port.reader.chatter().empty()) {
    note += (note.empty() ? "" : "; ") + std::string{"its shell printed before the launcher: "} +
            port.reader.chatter().substr(0, 200);
    std::replace(note.begin(), note.end(), '\n', ' ');
  }
  if (port.staging && port.staging->sent() > 0)
    note += fmt::format("{}charmrun was sent there, {:.1f} MB", note.empty() ? "" : "; ",
                        static_cast<double>(port.staging->sent()) / 1e6);
  port.staging.reset();
  sink_(proto::LinkUp{port.id, convert(login.times), std::move(login.accepted_key), std::move(note)});
}

/// Handles what has come, as long as the port is read: one read may bring thousands of requests.
void Links::take_messages(const PortPtr& port) {
  while (!port->gone && !is_held(*port)) {
    auto message = port->reader.next(remit_(port->id));
    if (!message) return fail(port, garbage(message.error()));
    if (!message->has_value()) return;
    const bool is_carrier = port->is_relayed && handle(**message, [&](const wire::Relayed& relayed) {
                              port->carrier = ssh_connection(relayed.connection);
                            });
    if (is_carrier) continue;
    if (is_child(port->id)) handled_ = port->id;
    sink_(proto::LinkMessage{port->id, std::move(**message)});
    handled_.reset();
  }
}

void Links::ended(const PortPtr& port, const LinkEnd& end) {
  if (port->gone) return;
  if (!port->other.expired()) return end_relay(port);
  // What it has said last counts, but if there is no one left to take the answers.
  if (port->is_held && flow_.held(port->id) == proto::LinkFlow::Held::by_others) {
    flow_.forget(port->id);
    take_messages(port);
    if (port->gone) return;
  }
  proto::StreamEnd how = convert(end);
  if (port->up) return fail(port, proto::explain_lost_link(how));
  how.said = port->reader.chatter() + how.said;
  fail(port, proto::explain_failed_launch(how, port->via, port->launcher));
}

void Links::fail(const PortPtr& port, Error error) {
  const bool was_up = port->up;
  drop(port);
  if (was_up)
    sink_(proto::LinkDown{port->id, std::move(error)});
  else
    sink_(proto::LoginFailed{port->id, std::move(error), {}});
}

void Links::drop(const PortPtr& port) {
  port->gone = true;
  port->greeting.cancel();
  ports_.erase(port->id);
  flow_.forget(port->id);
  if (port->link) port->link->close(kLinger);
  if (port->id == proto::kParentLink) {
    end_guarded_link();
    live_without_parent();
  }
  if (port->id == proto::kParentLink && parent_ended_) asio::post(io_, std::exchange(parent_ended_, nullptr));
  // The link may be calling us: it goes when the loop comes round.
  asio::post(io_, [port] { port->link.reset(); });
}

/// Shows signs of life as long as the loop turns and no other parent has come.
void Links::live_without_parent() {
  life_.expires_after(kSignOfLife);
  life_.async_wait([this](error_code ec) {
    if (ec || ports_.contains(proto::kParentLink)) return;
    show_sign_of_life();
    live_without_parent();
  });
}

void Links::execute(const proto::CancelLogin& action) {
  const auto it = ports_.find(action.link);
  if (it == ports_.end()) return;
  const PortPtr port = it->second;
  if (!port->link) port->transport->cancel(port->login);
  drop(port);
}

/// Only a launcher with a parent is asked: the root signs by itself.
void Links::want_signature(Transport::LoginId login, std::string data) {
  const auto asks = [&](const auto& entry) {
    const Port& port = *entry.second;
    return port.transport == transports_.ssh && !port.link && port.login == login;
  };
  const auto it = std::find_if(ports_.begin(), ports_.end(), asks);
  if (it != ports_.end()) sink_(proto::SignatureWanted{it->first, std::move(data)});
}

void Links::execute(const proto::Signed& action) {
  const auto it = ports_.find(action.link);
  if (it != ports_.end() && !it->second->link && it->second->transport == transports_.ssh)
    transports_.ssh->give_signature(it->second->login, action.signature);
}

void Links::execute(const proto::Send& action) {
  const auto it = ports_.find(action.link);
  if (it == ports_.end() || !it->second->link) return;
  Port& port = *it->second;
  if (port.link->backlog() > proto::LinkFlow::kMostForOthers && action.message.type().is_asked_again) return;
  auto frames = wire::encode_frames(action.message);
  if (!frames) return sink_(proto::SendRefused{action.link, frames.error()});
  const std::size_t size = frames->size();
  port.link->send(std::move(*frames));
  if (is_child(port.id)) note_sent(port, size);
}

void Links::execute(const proto::CloseLink& action) {
  const auto it = ports_.find(action.link);
  if (it != ports_.end()) drop(PortPtr{it->second});
}

// ---- children that take nothing are not read

bool Links::is_held(const Port& port) const {
  return is_child(port.id) && flow_.held(port.id) != proto::LinkFlow::Held::no;
}

/// Greetings are always read: whoever waits for one must not wait for the reader of our output.
void Links::read_or_pause(Port& port) const {
  if (!is_child(port.id) || !port.up) return;
  port.is_held = is_held(port);
  if (!port.is_held) port.ahead = 0;
  const bool pause = paused_ || port.ahead >= kMostReadAhead;
  if (std::exchange(port.is_paused, pause) != pause) port.link->pause_reading(pause);
}

void Links::note_sent(Port& port, std::size_t size) {
  const bool was_full = flow_.any_full();
  flow_.sent(port.id, size, port.link->backlog(), handled_, now());
  if (!flow_.any_full()) return;
  read_or_pause(port);
  if (const auto cause = handled_ ? ports_.find(*handled_) : ports_.end(); cause != ports_.end())
    read_or_pause(*cause->second);
  if (!was_full) look_at_full();
}

/// Reads those again of whose answers most have gone; what had been read of theirs comes first.
void Links::look_at_full() {
  look_.expires_after(proto::LinkFlow::kLook);
  look_.async_wait([this](error_code ec) {
    if (ec) return;
    for (const proto::LinkId link : flow_.full()) flow_.look(link, backlog(link), now());
    std::vector<PortPtr> children;
    for (const auto& [id, port] : ports_) {
      if (port->is_held && !is_held(*port)) children.push_back(port);
    }
    for (const PortPtr& port : children) {
      if (!port->gone) take_messages(port);
      if (!port->gone) read_or_pause(*port);
    }
    if (flow_.any_full()) look_at_full();
  });
}

/// Answers for a child whose messages are not looked at. One whose answers wait lives as long as it takes
/// some. One that waits for another child lives as long as its host acknowledges.
void Links::probe_held(const PortPtr& port, const proto::Probe& action) {
  const bool by_own = flow_.held(port->id) == proto::LinkFlow::Held::by_own;
  const Duration heard = now() - (by_own ? flow_.took(port->id) : port->heard);
  const auto judge = [by_own](proto::Evidence evidence) {
    const bool may_live = evidence.port_answers || !evidence.asked;
    if (!by_own && (evidence.acknowledged || may_live))
      evidence.heard = std::min(evidence.heard, evidence.acknowledged.value_or(Duration{0}));
    return evidence;
  };
  const auto ends = port->link->ends();
  if (action.here || !ends) {
    const auto acknowledged = action.here ? std::optional{Duration{0}} : std::nullopt;
    return sink_(proto::Probed{port->id, judge({heard, acknowledged, false, false})});
  }
  const HostProbeLimits limits{action.within, action.fresh, HostProbeLimits::Unread::ignored};
  port->probe = probe_host(io_, *ends, limits, heard,
                           [this, judge, weak = std::weak_ptr{port}](const proto::Evidence& evidence) {
                             const PortPtr alive = weak.lock();
                             if (alive && !alive->gone) sink_(proto::Probed{alive->id, judge(evidence)});
                           });
}

// ---- adoption

/// Not anew for each run of the program: a name that all can read must not be free for a moment.
Result<void> Links::open_to_adopters(const std::string& socket) {
  if (adopters_) return {};
  auto listener = std::make_unique<Listener>(io_, [this](int fd, Listener::Peer) { admit_adopter(fd); });
  if (auto opened = listener->open_local(socket); !opened) return opened;
  adopters_ = std::move(listener);
  adopters_->accept();
  return {};
}

Links::PortPtr Links::local_port(UniqueFd fd) {
  UniqueFd output{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)};
  auto port = std::make_shared<Port>(io_, proto::kAdopterLink, wire::LinkReader::From::parent, types_);
  port->link =
      std::make_unique<FdLinkHandle>(FdLink::make(io_, std::move(fd), std::move(output), {}, 0, nullptr));
  port->heard = now();
  port->up = true;
  ports_.insert_or_assign(proto::kAdopterLink, port);
  return port;
}

/// One at a time: an earlier one has not been quick enough.
void Links::admit_adopter(int fd) {
  UniqueFd socket{fd};
  if (peer_uid(socket.get()) != ::geteuid()) return;
  if (const auto earlier = ports_.find(proto::kAdopterLink); earlier != ports_.end())
    drop(PortPtr{earlier->second});
  const PortPtr port = local_port(std::move(socket));
  port->is_relayed = true;
  start(port);
  sink_(proto::LinkUp{proto::kAdopterLink, {}, {}, {}});
}

void Links::execute(const proto::Relay& action) {
  const auto parent = ports_.find(proto::kParentLink);
  UniqueFd fd = connect_to_own(action.socket);
  if (parent == ports_.end() || !fd) return asio::post(io_, [this] { sink_(proto::NobodyWaits{}); });
  const PortPtr above = parent->second, waiting = local_port(std::move(fd));
  waiting->other = above;
  above->other = waiting;
  const auto words = ssh_connection_words();
  const auto hello = wire::encode_frames(wire::Relayed{join(words, " ")});
  if (hello) waiting->link->send(*hello);
  start(waiting);
}

/// What one of them said last still goes to the other.
void Links::end_relay(const PortPtr& port) {
  for (const PortPtr& each : {port->other.lock(), PortPtr{port}}) {
    if (each) drop(each);
  }
  linger_.expires_after(kLinger / 4);
  linger_.async_wait([this](error_code ec) {
    if (!ec) sink_(proto::LinkDown{proto::kParentLink, {Errc::link_lost, Phase::run, "the relay has ended"}});
  });
}

void Links::execute(const proto::ReplaceParent&) {
  const auto adopter = ports_.find(proto::kAdopterLink);
  if (adopter == ports_.end()) return;
  const PortPtr port = adopter->second;
  ports_.erase(adopter);
  if (const auto old = ports_.find(proto::kParentLink); old != ports_.end()) drop(PortPtr{old->second});
  port->id = proto::kParentLink;
  ports_.emplace(port->id, port);
  life_.cancel();
  guard_link(port->link->descriptor());
}

/// Who is not read has been heard, as far as anybody can tell. Behind a command of the user's, or under a
/// kernel that does not say, may be anything.
void Links::execute(const proto::Probe& action) {
  const auto it = ports_.find(action.link);
  if (it == ports_.end() || !it->second->link) return;
  const PortPtr port = it->second;
  if (is_held(*port)) return probe_held(port, action);
  const bool is_parent = action.link == proto::kParentLink;
  const Duration heard = now() - port->heard;
  if (paused_ && !is_parent) return sink_(proto::Probed{port->id, {Duration{0}}});
  if (action.here) return sink_(proto::Probed{port->id, {heard, Duration{0}, false, false}});
  auto ends = port->is_relayed ? port->carrier : port->link->ends();
  if (!ends && is_parent && !port->is_relayed) ends = ssh_connection();
  if (!ends) return sink_(proto::Probed{port->id, {heard, {}, false, false}});
  port->probe = probe_host(io_, *ends, {action.within, action.fresh}, heard,
                           [this, weak = std::weak_ptr{port}](const proto::Evidence& evidence) {
                             const PortPtr alive = weak.lock();
                             if (alive && !alive->gone) sink_(proto::Probed{alive->id, evidence});
                           });
}

std::size_t Links::backlog() const {
  std::size_t bytes = 0;
  for (const auto& [id, port] : ports_) bytes += port->link ? port->link->backlog() : 0;
  return bytes;
}

std::size_t Links::backlog(proto::LinkId link) const {
  const auto it = ports_.find(link);
  return it == ports_.end() || !it->second->link ? 0 : it->second->link->backlog();
}

void Links::pause_children(bool paused) {
  paused_ = paused;
  for (auto& [id, port] : ports_) read_or_pause(*port);
}

void Links::await_parent(std::function<void()> done) {
  if (!ports_.contains(proto::kParentLink)) return asio::post(io_, std::move(done));
  parent_ended_ = std::move(done);
  linger_.expires_after(kLinger);
  linger_.async_wait([this](error_code ec) {
    if (!ec && parent_ended_) std::exchange(parent_ended_, nullptr)();
  });
}

}  // namespace charmtree::io
