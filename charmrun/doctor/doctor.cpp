// SPDX-License-Identifier: Apache-2.0
#include "charmrun/doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace charmtree {

Doctor::Doctor(RootPlan plan, std::int64_t wall_ms_at_zero) : plan_(std::move(plan)) {
  record_.job = plan_.job;
  record_.hosts = plan_.hosts;
  record_.wall_ms_at_zero = wall_ms_at_zero;
  for (auto& visits : record_.visits) visits.resize(plan_.hosts.size());
}

std::optional<RootPlan> Doctor::next() {
  if (!from_) return from_root();
  conclude();
  return *from_ == Vantage::root ? from_inner_host() : std::nullopt;
}

RootPlan Doctor::from_root() {
  from_ = Vantage::root;
  for (std::uint32_t i = 0; i < plan_.hosts.size(); ++i) {
    order_.push_back(i);
    visit(i)->tried = true;
  }
  return plan_;
}

/// The first host below the root that has no fault becomes the only child; it starts all other hosts. Hosts
/// of this machine are nobody else's to start.
std::optional<RootPlan> Doctor::from_inner_host() {
  const auto remote = [&](std::uint32_t i) {
    const auto& failure = record_.visit(Vantage::root, i).failure;
    const bool silent = failure && failure->code == Errc::timed_out && failure->phase == Phase::hello;
    return record_.profile(i).via != Via::local && !silent;
  };
  const auto fit = [&](std::uint32_t i) {
    const Visit& visit = record_.visit(Vantage::root, i);
    return remote(i) && !visit.failure && visit.checkup;
  };
  const auto sound = [&](std::uint32_t i) {
    return fit(i) && record_.visit(Vantage::root, i).checkup->errors.empty();
  };
  auto inner = std::find_if(order_.begin(), order_.end(), sound);
  if (inner == order_.end()) inner = std::find_if(order_.begin(), order_.end(), fit);
  if (inner == order_.end() || std::count_if(order_.begin(), order_.end(), remote) < 2) return {};
  record_.inner = *inner;
  std::vector<std::uint32_t> order{*inner};
  std::copy_if(order_.begin(), order_.end(), std::back_inserter(order),
               [&](std::uint32_t i) { return remote(i) && i != *record_.inner; });
  order_ = std::move(order);
  from_ = Vantage::inner;
  answered_ = 0;

  RootPlan plan = plan_;
  plan.hosts.clear();
  for (const std::uint32_t i : order_) {
    visit(static_cast<std::uint32_t>(plan.hosts.size()))->tried = true;
    Host host = record_.hosts[i];
    host.index = static_cast<std::uint32_t>(plan.hosts.size());
    host.first_process = host.processes = 0;
    plan.hosts.push_back(std::move(host));
  }
  plan.job.hosts = static_cast<std::uint32_t>(plan.hosts.size());
  plan.job.launch.shape = {1, 2};
  std::rotate(plan.job.id.begin(), plan.job.id.begin() + 1, plan.job.id.end());  // another job
  return plan;
}

/// A launch ends when all hosts have answered or have been silent for too long. If it was the inner host that
/// could not be logged in to again, then nothing was seen from there.
void Doctor::conclude() {
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    Visit& each = *visit(i);
    if (each.failure || each.checkup) continue;
    each.failure = Error{Errc::timed_out, Phase::hello, "no news from its launcher",
                         "does its file system answer? ssh HOST df; see also ++timeout"};
  }
  if (*from_ == Vantage::root || !visit(0)->failure) return;
  record_.visits[static_cast<std::size_t>(Vantage::root)][order_[0]].failure = visit(0)->failure;
  record_.visits[static_cast<std::size_t>(Vantage::inner)].assign(record_.hosts.size(), {});
  record_.inner.reset();
}

Visit* Doctor::visit(std::uint32_t position) {
  if (!from_ || position >= order_.size()) return nullptr;
  return &record_.visits[static_cast<std::size_t>(*from_)][order_[position]];
}

void Doctor::failed(std::uint32_t host, const Error& error) {
  Visit* const each = visit(host);
  if (each == nullptr || each->failure) return;
  answered_ += each->checkup ? 0 : 1;
  each->failure = error;
}

void Doctor::examined(const wire::Checkup& checkup) {
  Visit* const each = visit(checkup.host);
  if (each == nullptr || each->checkup) return;
  answered_ += each->failure ? 0 : 1;
  each->checkup = checkup;
}

void Doctor::stamped(const wire::Stamps& stamps) {
  Visit* const each = visit(stamps.host);
  if (each == nullptr) return;
  using S = wire::Stamps;
  const auto between = [&](S::Step from, S::Step to) -> std::optional<Duration> {
    if (stamps.times[from] == kNever || stamps.times[to] == kNever) return {};
    return std::max(stamps.times[to] - stamps.times[from], Duration{0});
  };
  each->login = between(S::begun, S::authenticated);
  if (each->login) each->shell = between(S::executed, S::hello);
}

std::string Doctor::progress() const {
  const std::string from = from_ == Vantage::inner ? record_.hosts[*record_.inner].name : "here";
  return fmt::format("from {}: {} of {} hosts", from, answered_, order_.size());
}

}  // namespace charmtree
