// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/stack_service.hpp"

#include <fmt/format.h>

#include <utility>

#include "charmrun/control/client.hpp"
#include "charmrun/control/control_socket.hpp"
#include "charmrun/control/framing.hpp"
#include "stacks/members.hpp"
#include "tree/io/clock.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree {

/// Each group has its hosts.
inline bool is_sound(const StackReport& report) {
  return report.hosts.size() == report.stacks.groups.size();
}

}  // namespace charmtree

namespace charmtree::wire {
CT_MEMBERS(StackReport, s.job, s.processes, s.stacks, s.hosts, s.is_last)
CT_MEMBERS(control::StackRequest, s.raw)
}  // namespace charmtree::wire

namespace charmtree::control {

namespace {
constexpr Duration kRequestWithin =
    5s;  // limit of charmrun for the request, and for a client that reads its report
constexpr Duration kReportWithin = 15s;  // limit of a client for the report
}  // namespace

Result<std::string> encode(const StackMessage& message) {
  return encode_message(message);
}

bool decode(const wire::Frame& frame, StackMessage& message) {
  return decode_message(frame, message);
}

StackService::StackService(Listener& listener, Ask ask) : listener_(listener), ask_(std::move(ask)) {
  Service service;
  service.name = kStackService;
  service.max_clients = 16;
  service.patience = kRequestWithin;
  service.opened = [](ClientId) {};
  service.received = [this](ClientId client, const wire::Frame& frame) { return receive(client, frame); };
  service.closed = [this](ClientId client) { waiting_.erase(client); };
  listener_.add(std::move(service));
}

/// Takes one request of each client.
bool StackService::receive(ClientId client, const wire::Frame& frame) {
  StackMessage message;
  if (!decode(frame, message)) return false;
  const auto* request = std::get_if<StackRequest>(&message);
  if (request == nullptr || !waiting_.insert(client).second) return false;
  ask_({{stacks::StacksFor::Why::asked, client}, request->raw});
  return true;
}

void StackService::answer(ClientId ticket, const StackReport& report) {
  if (waiting_.erase(ticket) == 0) return;
  auto frame = encode(report);
  if (!frame) return listener_.refuse(ticket, frame.error());
  listener_.send(ticket, std::move(*frame));
  listener_.close(ticket, kRequestWithin);
}

Result<StackReport> ask_stacks(const std::string& job, bool raw) {
  const Instant end = io::now() + kReportWithin;
  auto client = open_service(job, kStackService);
  if (!client) return client.error();
  const auto request = encode(StackRequest{raw});
  if (!request || !client->send(*request)) return no_answer(job);
  auto answer = receive<StackMessage>(*client, end);
  if (!answer) return answer.error();
  if (!answer->has_value() && !client->is_connected())
    return Error{Errc::refused, Phase::run, fmt::format("job {} has ended meanwhile", job), {}};
  if (!answer->has_value()) return no_answer(job);
  auto* report = std::get_if<StackReport>(&**answer);
  if (report == nullptr) return not_understood();
  return std::move(*report);
}

}  // namespace charmtree::control
