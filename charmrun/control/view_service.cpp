// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/view_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/io/clock.hpp"

namespace charmtree::control {

namespace {

/// The pause before a viewer that is behind is looked at again.
constexpr Duration kBehind = 1s;

Line line_of(proto::Tone tone, std::string text) {
  return {static_cast<std::uint8_t>(tone), std::move(text)};
}

Printed printed(const proto::Show& action) {
  Printed printed{action.output, action.host, action.processes, action.raw};
  printed.output.wants_receipt = false;
  return printed;
}

}  // namespace

ViewService::ViewService(io::asio::io_context& io, Listener& listener, Hooks hooks)
    : listener_(listener), hooks_(std::move(hooks)), timer_(io) {
  Service service;
  service.name = kViewService;
  service.max_clients = kMaxViewers;
  service.opened = [this](ClientId client) {
    viewers_[client];
    send(client, ViewJob{hooks_.status()});
  };
  service.received = [this](ClientId client, const wire::Frame& frame) { return receive(client, frame); };
  service.closed = [this](ClientId client) { viewers_.erase(client); };
  listener_.add(std::move(service));
}

bool ViewService::receive(ClientId client, const wire::Frame& frame) {
  ViewMessage message;
  const auto* request = decode(frame, message) ? std::get_if<ViewRequest>(&message) : nullptr;
  if (request == nullptr || viewers_.at(client).wanted) return false;
  begin(client, *request);
  return true;
}

void ViewService::send(ClientId client, const ViewMessage& message) {
  if (auto frame = encode(message)) listener_.send(client, std::move(*frame));
}

void ViewService::begin(ClientId client, const ViewRequest& request) {
  Viewer& viewer = viewers_.at(client);
  wire::ProcessSet& set = viewer.wanted.emplace();
  for (const auto& range : request.which) {
    if (range.first <= range.last) set.add(range);
  }
  const Overloaded send_piece{[&](const Line& each) { send(client, each); },
                              [&](const Printed& each) {
                                if (viewer.wants(each.output.process)) send(client, each);
                              }};
  for (const ViewHistory::Piece& piece : history_.pieces()) std::visit(send_piece, piece);
  if (hooks_.all_seen) see(set);
}

void ViewService::see(const wire::ProcessSet& wanted) {
  const std::uint32_t all = hooks_.processes();
  if (wanted.empty() && all > 0) seen_.add({0, all - 1});
  seen_.add_all(wanted.ranges());
  if (seen_.size() >= all) std::exchange(hooks_.all_seen, nullptr)();
}

/// The bytes are the same for all viewers. If the budget is too small for all that could read them, none gets
/// them.
void ViewService::show(const proto::Show& action) {
  history_.add(action);
  if (viewers_.empty()) return;
  const std::size_t size = action.output.text.size();
  const auto wants = [&](const auto& each) { return each.second.wants(action.output.process); };
  const auto can_take = [&](const auto& each) {
    return wants(each) && each.second.feed.can_take(size, listener_.backlog(each.first));
  };
  const auto takers = static_cast<std::size_t>(std::count_if(viewers_.begin(), viewers_.end(), can_take));
  const bool passes = takers > 0 && budget_.take(takers * (size + kViewPiece), io::now());
  const auto frame = passes ? encode(printed(action)) : Result<std::string>{std::string{}};
  for (auto& each : viewers_) {
    if (passes && frame && can_take(each))
      listener_.send(each.first, *frame);
    else if (wants(each))
      each.second.feed.miss(size);
  }
  if (is_any_behind()) await_readers();
}

void ViewService::say(proto::Tone tone, const std::string& line) {
  history_.add(line_of(tone, line));
  for (const auto& [client, viewer] : viewers_) {
    if (viewer.wanted && listener_.backlog(client) < 2 * ViewFeed::kMostUnread)
      send(client, line_of(tone, line));
  }
}

bool ViewService::is_any_behind() const {
  return std::any_of(viewers_.begin(), viewers_.end(),
                     [](const auto& each) { return each.second.feed.misses(); });
}

void ViewService::notify_missed() {
  for (auto& [client, viewer] : viewers_) {
    const std::uint64_t bytes = viewer.feed.take_missed(listener_.backlog(client));
    if (bytes > 0)
      send(client, line_of(proto::Tone::info, fmt::format("... {} bytes of output left out for this viewer "
                                                          "(++output FILE keeps all)",
                                                          bytes)));
  }
}

void ViewService::await_readers() {
  if (std::exchange(awaits_readers_, true)) return;
  timer_.expires_after(kBehind);
  timer_.async_wait([this](io::error_code stopped) {
    if (stopped) return;
    awaits_readers_ = false;
    notify_missed();
    if (is_any_behind()) await_readers();
  });
}

void ViewService::finish(const proto::Finish& result) {
  timer_.cancel();
  notify_missed();
  const int status = result.signal != 0 ? status_of_signal(result.signal) : result.status;
  for (const auto& [client, viewer] : viewers_) send(client, ViewOver{static_cast<std::uint8_t>(status)});
}

}  // namespace charmtree::control
