// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/fence_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kvs/fence_part.hpp"
#include "tests/sim/launch_tree.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::fence {

using namespace proto;

namespace {
constexpr std::size_t kOverhead = 32;  // of a message, besides what is given
constexpr std::uint8_t kService = 1;
}  // namespace

/// A launcher of which there is nothing but its part of fences. Launcher 0 is the root's, which has no
/// processes; another one has those of a host.
class Launcher : public Turn {
public:
  Launcher(World& world, std::uint32_t number, std::shared_ptr<const wire::JobSpec> job, const Host& host,
           Random& random)
      : world_(world),
        number_(number),
        job_(std::move(job)),
        host_(host),
        launch_(*job_, nullptr, {.is_root = number == 0}, random),
        processes_(number == 0 ? nullptr : std::make_unique<HostProcesses>(job_, host_)) {
    out_ = &actions_;
  }
  /// That host is behind this link.
  void lead_to(const Host& host, LinkId link) {
    launch_.subtree().add(host);
    launch_.subtree().bind(host.index, link);
  }

  template <class Deed>
  void take_turn(Duration now, Deed&& deed) {
    now_ = real_now_ = Instant{now};
    deed(part);
    part.turn(*this);
    actions_.clear();
  }
  const Host& host() const { return host_; }
  FencePart part;
  std::uint64_t got = 0;  // bytes of the whole
  bool is_out = false;

  Seat seat() override {
    return {*job_, host_, launch_, processes_.get(), progress_, 0, false, number_ == 0 ? &none_ : nullptr};
  }
  WayUp way_up() const override { return WayUp::open; }
  void tell_up(wire::Message) override { world_.wrong("it tells what is no fence"); }
  void hand_up(wire::Message message) override {
    world_.send_up(number_, std::get<wire::FenceUp>(std::move(message)));
  }
  void hand_down_all(const wire::Message& message) override {
    world_.send_down(number_, std::get<wire::FenceDown>(message));
  }
  void hand_down(std::uint32_t, const wire::Message&) override {}
  void hand_down_by(LinkId, wire::Message) override { world_.wrong("a fence is told once more"); }
  bool is_here(std::uint32_t) const override { return false; }
  std::optional<LinkId> way_to(std::uint32_t) const override { return {}; }
  void give_up(LinkId link, const Error& why) override {
    world_.wrong(fmt::format("launcher {} gives up child {}: {}", number_, link, why.what));
  }
  void tell(const News&) override {}

private:
  World& world_;
  std::uint32_t number_;
  std::shared_ptr<const wire::JobSpec> job_;
  Host host_;
  Launch launch_;
  std::unique_ptr<HostProcesses> processes_;
  RunProgress progress_;
  std::vector<Host> none_;
  Actions actions_;
};

World::World(const Settings& settings, std::uint64_t seed)
    : settings_(settings),
      random_(seed),
      network_(settings_.links, random_),
      job_(std::make_shared<wire::JobSpec>()) {
  grow_tree();
  const auto same = static_cast<std::size_t>(settings_.bytes * settings_.alike);
  while (common_.size() < same) common_ += "description#host$port#ifname$";
  common_.resize(same);
}

World::~World() = default;

void World::grow_tree() {
  const std::uint32_t hosts = sim::whole(settings_.hosts);
  parents_ = sim::parents(hosts + 1, sim::whole(settings_.branching));
  job_->processes = sim::whole(settings_.processes);
  job_->hosts = hosts;
  job_->profiles.resize(1);
  children_.resize(parents_.size());
  levels_.resize(parents_.size());
  free_at_.resize(parents_.size());
  std::vector<Host> all(parents_.size());
  for (std::uint32_t number = 0; number < parents_.size(); ++number) {
    Host& host = all[number];
    if (number > 0) {
      host.index = number - 1;
      host.first_process = static_cast<std::uint32_t>(std::uint64_t{job_->processes} * host.index / hosts);
      host.processes =
          static_cast<std::uint32_t>(std::uint64_t{job_->processes} * number / hosts) - host.first_process;
      children_[parents_[number]].push_back(number);
      levels_[number] = levels_[parents_[number]] + 1;
    }
    launchers_.push_back(std::make_unique<Launcher>(*this, number, job_, host, random_));
    wires_.push_back({parents_[number], number, number});
  }
  for (std::uint32_t number = 1; number < parents_.size(); ++number) {
    for (std::uint32_t below = number, above = 0; below != 0; below = above) {
      above = parents_[below];
      launchers_[above]->lead_to(all[number], below);  // a child's link has its number
    }
  }
}

std::string World::value(std::uint32_t process) {
  std::string value = common_ + std::to_string(process) + '$';
  while (static_cast<double>(value.size()) < settings_.bytes) value += static_cast<char>(random_.next());
  return value;
}

void World::enter(std::uint32_t host) {
  const Host& self = launchers_[host]->host();
  wire::FenceUp own{{kService, {{0, job_->processes - 1}}, 1}, 0, self.processes, {}};
  for (std::uint32_t i = 0; i < self.processes; ++i) own.given += value(self.first_process + i);
  record_.given += own.given.size();
  launchers_[host]->take_turn(now_, [&](FencePart& part) { part.add(std::move(own), *launchers_[host]); });
}

void World::run() {
  for (std::uint32_t host = 1; host < launchers_.size(); ++host) {
    now_ = Duration{0};
    enter(host);
  }
  while (!queue_.empty()) {
    Arrival next = queue_.top();
    queue_.pop();
    arrive(next);
  }
  for (std::uint32_t host = 1; host < launchers_.size(); ++host) {
    const Launcher& each = *launchers_[host];
    if (!each.is_out || each.got != record_.packed) {
      wrong(fmt::format("host {} has {} bytes of {}", host - 1, each.got, record_.packed));
      break;
    }
  }
}

/// When its launcher is free.
void World::arrive(Arrival& arrival) {
  Duration& free_at = free_at_[arrival.to];
  now_ = std::max(arrival.at, free_at) + sim::ms(settings_.links.receive) +
         of_bytes(static_cast<double>(arrival.bytes), settings_.links.cipher);
  Launcher& to = *launchers_[arrival.to];
  ++record_.messages;
  if (auto* up = std::get_if<wire::FenceUp>(arrival.message.get())) {
    if (arrival.to == 0) record_.up = now_;
    to.take_turn(now_, [&](FencePart& part) { part.up(arrival.link, std::move(*up), to); });
  } else {
    const auto& down = std::get<wire::FenceDown>(*arrival.message);
    send_down(arrival.to, down);  // as Node does, before it looks into it
    to.take_turn(now_, [&](FencePart& part) {
      const FencePart::Pieces whole = part.down(down, to);
      if (whole.empty()) return;
      if (std::exchange(to.is_out, true) || !whole.front().failure.empty())
        wrong("a fence ends twice, or fails");
      for (const wire::FenceDown& piece : whole) to.got += piece.given->size();
      record_.end = std::max(record_.end, now_);
    });
  }
  free_at = now_;
}

void World::send_up(std::uint32_t launcher, wire::FenceUp message) {
  const std::size_t bytes = message.given.size() + kOverhead;
  now_ += sim::ms(settings_.links.send) + of_bytes(static_cast<double>(bytes), settings_.links.cipher);
  const Duration at = network_.arrival(wires_[launcher], true, now_, bytes);
  auto sent = std::make_shared<Message>(std::move(message));
  queue_.push({at, ++sequence_, parents_[launcher], launcher, std::move(sent), bytes});
}

void World::send_down(std::uint32_t launcher, const wire::FenceDown& message) {
  if (launcher == 0) record_.packed += message.given->size();
  const std::size_t bytes = message.given->size() + kOverhead;
  const auto sent = std::make_shared<Message>(message);
  for (const std::uint32_t child : children_[launcher]) {
    now_ += sim::ms(settings_.links.send) + of_bytes(static_cast<double>(bytes), settings_.links.cipher);
    const Duration at = network_.arrival(wires_[child], false, now_, bytes);
    queue_.push({at, ++sequence_, child, 0, sent, bytes});
  }
}

Duration World::of_bytes(double bytes, double nanoseconds) const {
  return Duration{static_cast<Duration::rep>(bytes * nanoseconds)};
}

std::uint32_t World::most_children() const {
  std::size_t most = 0;
  for (const auto& each : children_) most = std::max(most, each.size());
  return static_cast<std::uint32_t>(most);
}

std::uint32_t World::depth() const {
  return *std::max_element(levels_.begin(), levels_.end());
}

Duration World::bound() const {
  const double per_byte = 1000 / settings_.links.bandwidth;
  return of_bytes(static_cast<double>(record_.given) + most_children() * static_cast<double>(record_.packed),
                  per_byte);
}

Duration World::floor() const {
  const double per_byte = 1000 / settings_.links.bandwidth;
  return of_bytes(static_cast<double>(record_.given) + static_cast<double>(record_.packed), per_byte);
}

}  // namespace charmtree::fence
