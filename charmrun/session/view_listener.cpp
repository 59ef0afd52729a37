// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/view_listener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "charmrun/session/door.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree {

namespace {

/// Whoever has been left behind goes on after so long, if he has read what he had.
constexpr Duration kBehind = 1s;

session::Said said(proto::Tone tone, std::string line) {
  return {static_cast<std::uint8_t>(tone), std::move(line)};
}

session::ToShow to_show(const proto::Show& action) {
  session::ToShow shown{action.output, action.host, action.processes, action.raw};
  shown.output.wants_receipt = false;
  return shown;
}

void send(io::FdLink& link, const ViewMessage& message) {
  if (auto frame = encode_view(message)) link.send(std::move(*frame));
}

}  // namespace

ViewListener::ViewListener(io::asio::io_context& io, Hooks hooks)
    : io_(io),
      hooks_(std::move(hooks)),
      listener_(io, [this](int fd, io::Listener::Peer) { admit(fd); }),
      timer_(io) {}

ViewListener::~ViewListener() {
  for (auto& [number, viewer] : viewers_) viewer.link->close(Duration{0});
}

Result<void> ViewListener::open(const std::string& job) {
  return open_door(listener_, kViewDoor, job);
}

void ViewListener::admit(int fd) {
  const auto link = let_in(io_, io::UniqueFd{fd});
  if (!link || viewers_.size() >= kMost) return;
  const Number number = ++last_;
  viewers_[number].link = link;
  link->start({[this, number](std::string_view bytes) { hear(number, bytes); },
               [this, number](const io::LinkEnd&) { gone(number); },
               {}});
  send(*link, Viewed{wire::make_greeting(), hooks_.status()});
}

/// Whatever else he says is his end.
void ViewListener::hear(Number number, std::string_view bytes) {
  Viewer& viewer = viewers_.at(number);
  viewer.decoder.append(bytes);
  const auto message = next_view(viewer.decoder);
  if (message && !message->has_value()) return;
  const Overloaded begins{[&](const ViewWanted& wanted) {
                            if (viewer.wanted) return false;
                            begin(viewer, wanted);
                            return true;
                          },
                          [](const auto&) { return false; }};
  if (!message || !std::visit(begins, **message)) gone(number);
}

void ViewListener::begin(Viewer& viewer, const ViewWanted& wanted) {
  wire::ProcessSet& set = viewer.wanted.emplace();
  for (const auto& range : wanted.which) {
    if (range.first <= range.last) set.add(range);
  }
  const Overloaded send_piece{[&](const session::Said& each) { send(*viewer.link, each); },
                              [&](const session::ToShow& each) {
                                if (viewer.wants(each.output.process)) send(*viewer.link, each);
                              }};
  for (const ViewHistory::Piece& piece : history_.pieces()) std::visit(send_piece, piece);
  if (hooks_.all_seen) see(set);
}

void ViewListener::see(const wire::ProcessSet& wanted) {
  const std::uint32_t all = hooks_.processes();
  if (wanted.empty() && all > 0) seen_.add({0, all - 1});
  seen_.add_all(wanted.ranges());
  if (seen_.size() >= all) std::exchange(hooks_.all_seen, nullptr)();
}

void ViewListener::gone(Number number) {
  const auto viewer = viewers_.find(number);
  if (viewer == viewers_.end()) return;
  viewer->second.link->close(Duration{0});
  viewers_.erase(viewer);
}

/// Its bytes are the same for all. If not all can have them who could take them, nobody has.
void ViewListener::show(const proto::Show& action) {
  history_.add(action);
  if (viewers_.empty()) return;
  const std::size_t size = action.output.text.size();
  const auto wants = [&](const auto& each) { return each.second.wants(action.output.process); };
  const auto can_take = [&](const auto& each) {
    return wants(each) && each.second.feed.can_take(size, each.second.link->backlog());
  };
  const auto takers = static_cast<std::size_t>(std::count_if(viewers_.begin(), viewers_.end(), can_take));
  const bool passes = takers > 0 && budget_.take(takers * (size + kViewPiece), io::now());
  const auto frame = passes ? encode_view(to_show(action)) : Result<std::string>{std::string{}};
  for (auto& each : viewers_) {
    if (passes && frame && can_take(each))
      each.second.link->send(*frame);
    else if (wants(each))
      each.second.feed.miss(size);
  }
  const auto misses = [](const auto& each) { return each.second.feed.misses(); };
  if (std::any_of(viewers_.begin(), viewers_.end(), misses)) await_readers();
}

void ViewListener::say(proto::Tone tone, const std::string& line) {
  history_.add(said(tone, line));
  for (auto& [number, viewer] : viewers_) {
    if (viewer.wanted && viewer.link->backlog() < 2 * ViewFeed::kMostUnread)
      send(*viewer.link, said(tone, line));
  }
}

void ViewListener::tell_missed() {
  for (auto& [number, viewer] : viewers_) {
    const std::uint64_t bytes = viewer.feed.take_missed(viewer.link->backlog());
    if (bytes > 0)
      send(*viewer.link,
           said(proto::Tone::info, fmt::format("... {} bytes of output left out for this viewer "
                                               "(++output FILE keeps all)",
                                               bytes)));
  }
}

void ViewListener::await_readers() {
  if (std::exchange(awaits_readers_, true)) return;
  timer_.expires_after(kBehind);
  timer_.async_wait([this](io::error_code stopped) {
    if (stopped) return;
    awaits_readers_ = false;
    tell_missed();
    const auto misses = [](const auto& each) { return each.second.feed.misses(); };
    if (std::any_of(viewers_.begin(), viewers_.end(), misses)) await_readers();
  });
}

void ViewListener::finish(const proto::Finish& result) {
  listener_.close();
  timer_.cancel();
  tell_missed();
  const int status = result.signal != 0 ? status_of_signal(result.signal) : result.status;
  for (auto& [number, viewer] : viewers_)
    send(*viewer.link,
         session::Over{static_cast<std::uint8_t>(status), static_cast<std::uint8_t>(result.signal), {}});
  const Instant end = io::now() + kLastWords;
  const auto reads = [](const auto& each) { return each.second.link->backlog() > 0; };
  io_.restart();
  while (std::any_of(viewers_.begin(), viewers_.end(), reads) && io::now() < end)
    io_.run_one_for(end - io::now());
}

}  // namespace charmtree
