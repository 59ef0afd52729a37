// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/dashboard_listener.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "charmrun/view/dashboard_page.hpp"
#include "tree/io/clock.hpp"

namespace charmtree {

namespace {

/// "/changes?since=N".
std::optional<Dashboard::Version> version_of(std::string_view target) {
  constexpr std::string_view kHead = "/changes?since=";
  Dashboard::Version version = 0;
  if (!target.starts_with(kHead)) return {};
  const auto [stop, error] =
      std::from_chars(target.data() + kHead.size(), target.data() + target.size(), version);
  if (error != std::errc{} || stop != target.data() + target.size()) return {};
  return version;
}

}  // namespace

DashboardListener::DashboardListener(io::asio::io_context& io, Dashboard dashboard,
                                     std::function<proto::JobStatus()> status,
                                     std::function<void(std::string)> note)
    : io_(io),
      dashboard_(std::move(dashboard)),
      status_(std::move(status)),
      pause_(io),
      beat_(io),
      listener_(io, std::string{kDashboardPage},
                {[this](io::HttpListener::Ticket page, const std::string& target) { asked(page, target); },
                 [this](io::HttpListener::Ticket page) { waiting_.erase(page); }, std::move(note)}) {}

Result<std::string> DashboardListener::open() {
  const auto port = listener_.open();
  if (!port) return port.error();
  return fmt::format("http://127.0.0.1:{}/#{}", *port, listener_.token());
}

void DashboardListener::asked(io::HttpListener::Ticket page, const std::string& target) {
  const auto version = version_of(target);
  if (!version) return listener_.answer(page, {});
  if (waiting_.empty()) await_beat();
  waiting_[page] = *version;
  arm();
}

/// News are told a moment later, together. A page that knows nothing gets all at once.
void DashboardListener::arm() {
  bool wanted = false, empty_page = false;
  for (const auto& [page, version] : waiting_) {
    wanted |= version != dashboard_.version();
    empty_page |= version == 0;
  }
  if (empty_page) return answer(false);
  if (!wanted || std::exchange(armed_, true)) return;
  pause_.expires_after(kPause);
  pause_.async_wait([this](io::error_code ec) {
    if (!ec) answer(false);
  });
}

void DashboardListener::answer(bool all) {
  armed_ = false;
  pause_.cancel();
  const proto::JobStatus status = status_();
  for (const auto& [page, version] : std::exchange(waiting_, {})) {
    if (!all && version == dashboard_.version())
      waiting_.emplace(page, version);
    else
      listener_.answer(page, dashboard_.changes(version, status, io::now()));
  }
}

void DashboardListener::await_beat() {
  beat_.expires_after(kBeat);
  beat_.async_wait([this](io::error_code ec) {
    if (ec) return;
    answer(true);
  });
}

void DashboardListener::finish() {
  listener_.close();
  answer(true);
  const Instant end = io::now() + kFarewell;
  io_.restart();
  while (listener_.expected() > 0 && io::now() < end) {
    io_.run_one_until(io::to_steady(end));
    answer(true);
  }
}

}  // namespace charmtree
