// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/status_service.hpp"

#include <optional>
#include <utility>

#include "charmrun/control/client.hpp"
#include "charmrun/control/control_socket.hpp"
#include "charmrun/control/framing.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/listener.hpp"

namespace charmtree::wire {
CT_MEMBERS(control::Status, s.json)
}  // namespace charmtree::wire

namespace charmtree::control {

namespace {
constexpr Duration kAnswerWithin =
    2s;  // limit of a client for all answers, and of charmrun for a client that reads
}  // namespace

Result<std::string> encode(const StatusMessage& message) {
  return encode_message(message);
}

bool decode(const wire::Frame& frame, StatusMessage& message) {
  return decode_message(frame, message);
}

void serve_status(Listener& listener, std::function<std::string()> status) {
  Service service;
  service.name = kStatusService;
  service.serves = Service::Serves::any_version;
  service.opened = [&listener, status = std::move(status)](ClientId client) {
    if (auto frame = encode(Status{status()})) listener.send(client, std::move(*frame));
    listener.close(client, kAnswerWithin);
  };
  service.received = [](ClientId, const wire::Frame&) { return false; };
  service.closed = [](ClientId) {};
  listener.add(std::move(service));
}

namespace {

/// Returns the answer as far as it has come. An empty one: the job has refused, or its charmrun is of a
/// version that has another control protocol.
std::optional<std::string> answer_of(Client& client) {
  const auto frame = client.next();
  if (!frame) return std::string{};
  if (!frame->has_value()) return std::nullopt;
  StatusMessage message;
  return decode(**frame, message) ? std::get<Status>(message).json : std::string{};
}

}  // namespace

RunningJobs find_running_jobs() {
  std::vector<Client> clients;
  for (JobSocket& socket : job_sockets()) {
    if (auto connection = io::connect_to_own(socket.name))
      clients.emplace_back(std::move(socket.job), std::move(connection), kStatusService);
  }
  RunningJobs jobs;
  const Instant end = io::now() + kAnswerWithin;
  for (bool is_waiting = true; is_waiting && !clients.empty();) {
    std::erase_if(clients, [&](Client& client) {
      auto answer = answer_of(client);
      if (!answer) return false;
      answer->empty() ? jobs.silent.push_back(client.job()) : jobs.answers.push_back(std::move(*answer));
      return true;
    });
    is_waiting = read_some(clients, end);
  }
  for (const Client& client : clients) jobs.silent.push_back(client.job());
  return jobs;
}

}  // namespace charmtree::control
