// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/listener.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "charmrun/control/control_socket.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/base/visible.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/peer_uid.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::control {

namespace {

constexpr const char* kSameVersion = "use the same charmrun for both";

Error refused(std::string what, std::string fix = {}) {
  return {Errc::refused, Phase::run, std::move(what), std::move(fix)};
}
Error violation() {
  return refused("this connection does not speak the control protocol of charmrun", kSameVersion);
}

}  // namespace

Listener::Listener(io::asio::io_context& io, const Limits& limits)
    : io_(io), limits_(limits), listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }) {}

Listener::~Listener() {
  for (auto& [client, connection] : connections_) connection.link->close(Duration{0});
}

Result<void> Listener::open(const std::string& job) {
  if (auto opened = listener_.open_to_seekers(socket_name(job)); !opened) return opened;
  listener_.accept();
  return {};
}

void Listener::admit(int fd) {
  io::UniqueFd socket{fd};
  if (io::peer_uid(fd) != ::geteuid()) return;
  const auto link = link_over(io_, std::move(socket));
  if (!link) return;
  std::erase_if(leaving_, [](const Leaving& each) { return !each.is_unread(); });
  link->send(encode(Hello{kVersion, own_version()}));
  if (connections_.size() + leaving_.size() >= limits_.connections) {
    link->send(encode(Refused{"this job has too many clients", "try again"}));
    return link->close(Duration{0});
  }
  const ClientId client = ++last_;
  Connection& connection = connections_[client];
  connection.link = link;
  limit(client, connection, limits_.patience, "the client has not opened a service in time");
  link->start({[this, client](std::string_view bytes) { receive(client, bytes); },
               [this, client](const io::LinkEnd&) { lose(client); },
               {}});
}

/// Handling a frame may close the connection.
void Listener::receive(ClientId client, std::string_view bytes) {
  connections_.at(client).decoder.append(bytes);
  for (auto each = connections_.find(client); each != connections_.end(); each = connections_.find(client)) {
    Connection& connection = each->second;
    const auto frame =
        connection.decoder.next(connection.service ? connection.service->max_frame : kMaxFirstFrame);
    if (frame && !frame->has_value()) return;
    if (!frame || !handle_frame(client, **frame)) return refuse(client, violation());
  }
}

/// Returns false for a frame that the client may not send.
bool Listener::handle_frame(ClientId client, const wire::Frame& frame) {
  Connection& connection = connections_.at(client);
  if (connection.service) {
    connection.limit.reset();
    return connection.service->received(client, frame);
  }
  const auto message = decode(frame);
  if (message) begin(client, *message);
  return message.has_value();
}

void Listener::begin(ClientId client, const Message& message) {
  const Overloaded act{[&](const Hello& hello) { greet(client, hello); },
                       [&](const Open& open) { open_service(client, open.service); },
                       [&](const Opened&) { refuse(client, violation()); },
                       [&](const Refused&) { refuse(client, violation()); }};
  std::visit(act, message);
}

void Listener::greet(ClientId client, const Hello& hello) {
  Connection& connection = connections_.at(client);
  if (!connection.charmrun.empty() || hello.charmrun.empty()) return refuse(client, violation());
  if (hello.version != kVersion)
    return refuse(client, refused(fmt::format("the charmrun of that job has version {} of the control "
                                              "protocol, and the client has {}",
                                              kVersion, hello.version),
                                  kSameVersion));
  connection.charmrun = hello.charmrun;
}

void Listener::open_service(ClientId client, const std::string& name) {
  Connection& connection = connections_.at(client);
  if (connection.charmrun.empty()) return refuse(client, violation());
  const auto service = std::find_if(services_.begin(), services_.end(),
                                    [&](const Service& each) { return each.name == name; });
  if (service == services_.end())
    return refuse(client, refused(fmt::format("the charmrun of that job has no service '{}'", visible(name)),
                                  kSameVersion));
  if (service->serves == Service::Serves::own_version && connection.charmrun != own_version())
    return refuse(client, other_version(own_version(), connection.charmrun));
  if (clients_of(*service) >= service->max_clients)
    return refuse(client,
                  refused(fmt::format("that job has {} clients of its service '{}', as many as it may",
                                      service->max_clients, name),
                          "try again when one has ended"));
  connection.service = &*service;
  limit(client, connection, service->patience, "the client has not said in time what it wants");
  connection.link->send(encode(Opened{}));
  service->opened(client);
}

/// Refuses the client, for that reason, when the time has passed.
void Listener::limit(ClientId client, Connection& connection, Duration most, const char* why) {
  connection.limit = std::make_unique<io::asio::steady_timer>(io_);
  connection.limit->expires_after(most);
  connection.limit->async_wait([this, client, why](io::error_code stopped) {
    if (!stopped) refuse(client, refused(why));
  });
}

std::size_t Listener::clients_of(const Service& service) {
  std::erase_if(leaving_, [](const Leaving& each) { return !each.is_unread(); });
  const auto is_its = [&](const auto& each) { return each.service == &service; };
  const auto open = std::count_if(connections_.begin(), connections_.end(),
                                  [&](const auto& each) { return is_its(each.second); });
  return static_cast<std::size_t>(open + std::count_if(leaving_.begin(), leaving_.end(), is_its));
}

void Listener::send(ClientId client, std::string frame) {
  const auto each = connections_.find(client);
  if (each == connections_.end()) return;
  Connection& connection = each->second;
  if (connection.service && connection.link->backlog() > connection.service->max_unread)
    return limit(client, connection, Duration{0}, "the client does not read what it gets");
  connection.link->send(std::move(frame));
}

std::size_t Listener::backlog(ClientId client) const {
  const auto each = connections_.find(client);
  return each == connections_.end() ? 0 : each->second.link->backlog();
}

void Listener::close(ClientId client, Duration linger) {
  auto each = connections_.extract(client);
  if (each.empty()) return;
  Connection& connection = each.mapped();
  connection.link->close(linger);
  leaving_.push_back({connection.link, connection.service});
}

void Listener::refuse(ClientId client, const Error& error) {
  const auto each = connections_.find(client);
  if (each == connections_.end()) return;
  const Service* service = each->second.service;
  if (note_)
    note_(fmt::format("control socket: a client{} is refused: {}",
                      service ? fmt::format(" of service '{}'", service->name) : "", error.what));
  each->second.link->send(encode(Refused{error.what, error.fix}));
  close(client, limits_.linger);
  if (service) service->closed(client);
}

/// The client has closed the connection.
void Listener::lose(ClientId client) {
  const auto each = connections_.find(client);
  if (each == connections_.end()) return;
  const Service* service = each->second.service;
  each->second.link->close(Duration{0});
  connections_.erase(each);
  if (service) service->closed(client);
}

bool Listener::has_unread(std::string_view service) const {
  const auto is_its = [&](const Service* its) {
    return service.empty() || (its != nullptr && its->name == service);
  };
  return std::any_of(connections_.begin(), connections_.end(),
                     [&](const auto& each) {
                       return is_its(each.second.service) && each.second.link->backlog() > 0;
                     }) ||
         std::any_of(leaving_.begin(), leaving_.end(),
                     [&](const Leaving& each) { return is_its(each.service) && each.is_unread(); });
}

void Listener::drain(std::string_view service, Duration most) {
  const Instant end = io::now() + most;
  io_.restart();
  while (has_unread(service) && io::now() < end) io_.run_one_for(end - io::now());
}

void Listener::finish() {
  listener_.close();
  note_ = nullptr;
  for (auto& [client, connection] : connections_) {
    connection.limit.reset();
    connection.service = nullptr;
    connection.link->pause_reading(true);
  }
}

}  // namespace charmtree::control
