// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/mpir_daemons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace charmtree {

namespace {

/// Of a daemon's output so much is on its way; a line of it that is longer is said in pieces.
constexpr std::uint32_t kWindow = 64U << 10;
constexpr std::size_t kMostLine = 8U << 10;

}  // namespace

void MpirDaemons::watch() {
  look();
  timer_.expires_after(kLook);
  timer_.async_wait([this](io::error_code stopped) {
    if (!stopped) watch();
  });
}

void MpirDaemons::show(std::function<void()> then) {
  then_ = std::move(then);
  look();
  const auto come = [](const auto& each) { return each.second.awaited.empty(); };
  if (std::all_of(all_.begin(), all_.end(), come)) stop();
}

/// Of what it asks for now, it is to see the beginning, too.
void MpirDaemons::stop() {
  Mpir::stop();
  if (look() || !then_) return;
  std::exchange(then_, nullptr)();
}

bool MpirDaemons::look() {
  if (mpir_.processes() == 0) return false;
  auto words = Mpir::take_daemon();
  if (!words) return false;
  const std::vector<wire::ProcessSet::Range> which{{0, mpir_.processes() - 1}};
  const std::uint64_t ticket = ++last_;
  Daemons& daemons = all_[ticket];
  daemons.program = words->front();
  for (const ProcessPlace& place : mpir_.places_of(which)) {
    daemons.on[place.process] = {place.host};
    daemons.awaited.insert(place.process);
  }
  hooks_.ask({ticket, {0, debug::ToolOrder::What::begin, false, kWindow, std::move(*words), {}, which}});
  return true;
}

bool MpirDaemons::heard(const debug::ToolHeard& heard) {
  if (heard.ticket < kTickets) return false;
  const auto found = all_.find(heard.ticket);
  if (found == all_.end()) return true;
  if (heard.over) return all_.erase(found), true;
  const bool were_awaited = !found->second.awaited.empty();
  hear(heard.ticket, found->second, heard.said);
  if (were_awaited && found->second.awaited.empty() && !mpir_.holds()) stop();  // else show() will
  return true;
}

void MpirDaemons::hear(std::uint64_t ticket, Daemons& daemons, const debug::ToolSaid& said) {
  using What = debug::ToolSaid::What;
  if (said.which.empty()) return;
  const auto daemon = daemons.on.find(said.which.front().first);
  if (said.what == What::failed) {
    const wire::ProcessSet which{said.which};
    for (auto& [process, each] : daemons.on) {
      if (!which.contains(process)) continue;
      daemons.awaited.erase(process);
      hooks_.say(fmt::format("{}: a tool's daemon, {}: {}", each.host, daemons.program, said.bytes));
    }
  }
  if (said.what == What::failed || daemon == daemons.on.end()) return;
  switch (said.what) {
    case What::output:
    case What::error:
      show_text(daemon->second, daemons.program, said.bytes);
      return hooks_.ask({ticket,
                         {0,
                          debug::ToolOrder::What::taken,
                          false,
                          static_cast<std::uint32_t>(said.bytes.size()),
                          {},
                          {},
                          {{daemon->first, daemon->first}}}});
    case What::started:
      daemons.awaited.erase(daemon->first);
      return;
    case What::ended:
      if (!daemon->second.line.empty()) show_text(daemon->second, daemons.program, "\n");
      if (said.number != 0)
        hooks_.say(fmt::format("{}: a tool's daemon, {}, has ended with status {}", daemon->second.host,
                               daemons.program, said.number));
      daemons.on.erase(daemon);
      return;
    default:
      return;
  }
}

void MpirDaemons::show_text(Daemon& daemon, std::string_view program, std::string_view bytes) {
  daemon.line += bytes;
  for (;;) {
    const std::size_t end = std::min(daemon.line.find('\n'), kMostLine);
    if (end >= daemon.line.size()) return;
    hooks_.say(fmt::format("{}: {}: {}", daemon.host, program.substr(program.rfind('/') + 1),
                           daemon.line.substr(0, end)));
    daemon.line.erase(0, end + (daemon.line[end] == '\n' ? 1 : 0));
  }
}

}  // namespace charmtree
