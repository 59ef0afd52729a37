// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/fence_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kvs/fence/component.hpp"
#include "kvs/inquiries.hpp"
#include "tests/sim/fence_queue_pairs.hpp"
#include "tests/sim/launch_tree.hpp"
#include "tree/base/one_of.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::fence {

using namespace proto;

namespace {
constexpr std::size_t kOverhead = 32;                // of a message, besides what is given
constexpr std::size_t kKey = 20;                     // bytes of what is asked for
constexpr std::uint32_t kWindow = 64;                // asks of a process that are under way
constexpr std::uint64_t kMostSimulated = 2'000'000;  // asks
constexpr double kGiven = 16384;                     // CT_MAX_GIVEN
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
  kvs::FenceComponent part;
  std::uint64_t got = 0;  // bytes of the whole
  bool is_out = false;

  Seat seat() override {
    return {*job_, host_, launch_, processes_.get(), progress_, 0, false, number_ == 0 ? &none_ : nullptr};
  }
  WayUp way_up() const override { return WayUp::open; }
  void tell_up(wire::Message) override { world_.wrong("it tells what is no fence"); }
  void hand_up(wire::Message message) override {
    world_.send_up(number_, get<kvs::FenceUp>(std::move(message)));
  }
  void hand_down_all(const wire::Message& message) override {
    world_.send_down(number_, get<kvs::FenceDown>(message));
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
  if (strategy() >= Strategy::ranges) queue_pairs_ = std::make_unique<QueuePairs>(job_->processes, first_);
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
      first_.push_back(host.first_process);
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
  if (strategy() == Strategy::ranges) return queue_pairs_->told(process);
  std::string value = common_ + std::to_string(process) + '$';
  while (static_cast<double>(value.size()) < settings_.bytes) value += static_cast<char>(random_.next());
  return value;
}

/// What the processes of a host give, as its strategy has it: each its own, the first one those of all, or
/// nothing, where they meet to ask.
void World::enter(std::uint32_t host) {
  const Host& self = launchers_[host]->host();
  const double processes = self.processes,
               pieces = std::max(1.0, std::ceil(processes * settings_.bytes / kGiven));
  FenceEntered own{{kService, {{0, job_->processes - 1}}, 1}, self.processes, {}};
  if (!asks())
    for (std::uint32_t i = 0; i < self.processes; ++i) own.given += value(self.first_process + i);
  record_.given += own.given.size();
  now_ = Duration{0};
  switch (strategy()) {
    case Strategy::table:
      serve_requests(host, processes, settings_.bytes);
      break;
    case Strategy::node_roots:  // to the root of the host, the roots', and that it is done
      serve_requests(host, processes, settings_.bytes);
      serve_requests(host, pieces, std::min(kGiven, processes * settings_.bytes));
      serve_requests(host, processes, 1);
      break;
    case Strategy::shared:  // the name of the memory, the offer, the ring, and that it is done
      serve_requests(host, 4 * processes, settings_.bytes);
      break;
    case Strategy::simple:  // the offer, the ring
      serve_requests(host, 2 * processes, settings_.bytes);
      break;
    case Strategy::ranges:  // the turn, taken and handed on, what it tells, and that it is connected
      serve_requests(host, 2 * (processes - 1), static_cast<double>(own.given.size()) / processes);
      serve_requests(host, processes, static_cast<double>(own.given.size()) / processes);
      serve_requests(host, processes, 1);
      record_.said += own.given.size();
      break;
    case Strategy::numbers: {  // each offer, that they are there, and that it is connected
      const double others = job_->processes - 1,
                   bytes = queue_pairs_->key_bytes() + queue_pairs_->number_bytes();
      serve_requests(host, processes * others, bytes);
      serve_requests(host, 2 * processes, 1);
      record_.said += static_cast<std::uint64_t>(processes * others * bytes);
      break;
    }
    case Strategy::on_demand:  // that it listens
      serve_requests(host, processes, 1);
      break;
  }
  if (strategy() == Strategy::on_demand) return begin_asking(host);
  launchers_[host]->take_turn(now_, [&](kvs::FenceComponent& part) { part.on(own, *launchers_[host]); });
}

/// A launcher reads them and answers each.
void World::serve_requests(std::uint32_t launcher, double requests, double bytes) {
  record_.requests += static_cast<std::uint64_t>(requests);
  const Duration takes = of_bytes(requests * bytes, settings_.links.client) +
                         sim::ms(requests * (settings_.links.receive + settings_.links.send));
  busy_[launcher] += takes;
  now_ += takes;
}

void World::run() {
  busy_.resize(launchers_.size());
  over_link_.resize(launchers_.size());
  fenced_over_link_.resize(launchers_.size());
  askers_.resize(launchers_.size());
  if (asks()) count_asks();
  for (std::uint32_t host = 1; host < launchers_.size(); ++host) enter(host);
  while (!queue_.empty()) {
    Arrival next = queue_.top();
    queue_.pop();
    arrive(next);
  }
  check_fence();
  if (strategy() == Strategy::ranges) note(queue_pairs_->wrong_in_told());
  if (strategy() == Strategy::on_demand) note(queue_pairs_->wrong_in_pairs());
  for (std::uint32_t launcher = 1; launcher < launchers_.size(); ++launcher) {
    record_.link = std::max(record_.link, over_link_[launcher]);
    if (asks() && strategy() != Strategy::on_demand &&
        over_link_[launcher] != fenced_over_link_[launcher] + asked_over_link_[launcher])
      return wrong(
          fmt::format("the asks over the link of host {} are not as they were counted", launcher - 1));
    if (!askers_[launcher].wanted.empty() || askers_[launcher].open > 0)
      return wrong(fmt::format("host {} has not been answered", launcher - 1));
  }
  for (const Duration each : busy_) {
    record_.busiest = std::max(record_.busiest, each);
    record_.all_busy += each;
  }
  if (record_.is_counted) record_.end += record_.busiest;
}

void World::check_fence() {
  if (strategy() == Strategy::on_demand) return;  // there is none
  for (std::uint32_t host = 1; host < launchers_.size(); ++host) {
    const Launcher& each = *launchers_[host];
    if (each.is_out && each.got == record_.packed) continue;
    return wrong(fmt::format("host {} has {} bytes of {}", host - 1, each.got, record_.packed));
  }
}

/// When its launcher is free.
void World::arrive(Arrival& arrival) {
  Duration& free_at = free_at_[arrival.to];
  const Duration begun = std::max(arrival.at, free_at);
  now_ = begun + sim::ms(settings_.links.receive) +
         of_bytes(static_cast<double>(arrival.bytes), settings_.links.cipher);
  ++record_.messages;
  std::visit(
      [&]<class M>(M& message) {
        if constexpr (std::is_same_v<M, kvs::FenceUp> || std::is_same_v<M, kvs::FenceDown>)
          fence_arrives(arrival);
        else
          inquiry_arrives(arrival.to, std::move(message));
      },
      *arrival.message);
  busy_[arrival.to] += now_ - begun;
  free_at = now_;
}

void World::fence_arrives(Arrival& arrival) {
  Launcher& to = *launchers_[arrival.to];
  if (auto* up = get_if<kvs::FenceUp>(arrival.message.get())) {
    if (arrival.to == 0) record_.up = now_;
    return to.take_turn(now_, [&](kvs::FenceComponent& part) { part.up(arrival.link, std::move(*up), to); });
  }
  const auto& down = get<kvs::FenceDown>(*arrival.message);
  bool is_over = false;
  to.take_turn(now_, [&](kvs::FenceComponent& part) {
    const kvs::FenceComponent::Pieces whole = part.receive(down, to);
    if (whole.empty()) return;
    if (std::exchange(to.is_out, true) || !whole.front().failure.empty())
      wrong("a fence ends twice, or fails");
    for (const kvs::FenceDown& piece : whole) to.got += piece.given->size();
    record_.end = std::max(record_.end, now_);
    is_over = true;
  });
  if (is_over && asks() && !record_.is_counted) begin_asking(arrival.to);
}

// ---- asks

std::size_t World::value_bytes() const {
  return strategy() == Strategy::numbers ? queue_pairs_->number_bytes()
                                         : static_cast<std::size_t>(settings_.bytes);
}

std::uint64_t World::asks_of(std::uint32_t launcher) const {
  const std::uint64_t own = launchers_[launcher]->host().processes, others = job_->processes - own;
  return asks_each() ? own * others : others;
}

std::uint64_t World::asks_about(std::uint32_t launcher) const {
  const std::uint64_t own = launchers_[launcher]->host().processes;
  return own * (asks_each() ? job_->processes - own : job_->hosts - 1);
}

/// Each goes to the root and to the host in question, and its answer comes back by the same way.
void World::count_asks() {
  asked_over_link_.resize(launchers_.size());
  if (strategy() == Strategy::on_demand) return;  // there are few
  const bool numbers = strategy() == Strategy::numbers;
  const std::uint64_t question = kOverhead + (numbers ? queue_pairs_->key_bytes() : kKey);
  const std::uint64_t answer = kOverhead + value_bytes();
  std::vector<std::uint64_t> below(launchers_.size());
  for (std::uint32_t launcher = 1; launcher < launchers_.size(); ++launcher) {
    const std::uint64_t asked = asks_of(launcher);
    record_.asks += asked;
    const std::uint64_t own = launchers_[launcher]->host().processes;
    record_.requests += asked + own * (asks_each() ? own - 1 : 0);
    for (std::uint32_t each = launcher; each != 0; each = parents_[each])
      below[each] += asked + asks_about(launcher);
  }
  for (std::uint64_t& asked : below) asked *= question + answer;
  asked_over_link_ = std::move(below);
  record_.is_counted = record_.asks > kMostSimulated;
  if (!record_.is_counted) return;
  for (std::uint32_t launcher = 1; launcher < launchers_.size(); ++launcher)
    over_link_[launcher] += asked_over_link_[launcher];
  const auto asks = static_cast<double>(record_.asks);
  busy_[0] += sim::ms(asks * 2 * (settings_.links.receive + settings_.links.send)) +
              of_bytes(asks * 2 * static_cast<double>(question + answer), settings_.links.cipher);
}

/// The processes of a host ask for all the others at once, or for their neighbours.
void World::begin_asking(std::uint32_t launcher) {
  const Host& self = launchers_[launcher]->host();
  const std::uint32_t times = asks_each() ? self.processes : 1;
  Asker& asker = askers_[launcher];
  if (strategy() == Strategy::on_demand) {
    want_neighbours(launcher);
  } else {
    for (std::uint32_t process = 0; process < job_->processes; ++process) {
      if (process - self.first_process >= self.processes)
        asker.wanted.insert(asker.wanted.end(), times, {self.first_process, process});
    }
  }
  while (!asker.wanted.empty() && asker.open < kWindow * self.processes) ask(launcher);
}

/// Those of its own host are asked through their launcher alone.
void World::want_neighbours(std::uint32_t launcher) {
  const Host& self = launchers_[launcher]->host();
  for (std::uint32_t own = self.first_process; own < self.first_process + self.processes; ++own) {
    for (const std::uint32_t other : queue_pairs_->neighbours(own)) {
      if (other - self.first_process >= self.processes) {
        askers_[launcher].wanted.push_back({own, other});
        continue;
      }
      const std::string key = queue_pairs_->reach(own, other);
      serve_requests(launcher, 1, static_cast<double>(key.size()));
      record_.said += key.size();
      queue_pairs_->told(own, other, answers(other, own, key));
    }
  }
}

std::string World::answers(std::uint32_t process, std::uint32_t by, const std::string& key) {
  std::string value = queue_pairs_->asked(process, by, key);
  if (value.empty()) return value;
  serve_requests(launcher_of(process), 1, static_cast<double>(key.size() + value.size()));
  record_.said += key.size() + value.size();
  return value;
}

void World::ask(std::uint32_t launcher) {
  Asker& asker = askers_[launcher];
  const auto [by, about] = asker.wanted.front();
  asker.wanted.pop_front();
  ++asker.open;
  now_ += sim::ms(settings_.links.receive);  // the request of the process
  wire::Inquiry inquiry{by, about, {kService, 1}, {}};
  if (strategy() == Strategy::numbers) inquiry.key.assign(queue_pairs_->key_bytes(), 'k');
  if (strategy() == Strategy::on_demand) {
    inquiry.key = queue_pairs_->reach(by, about);
    ++record_.requests;
    ++record_.asks;
    record_.said += inquiry.key.size();
  }
  send(launcher, parents_[launcher], std::move(inquiry));
}

std::uint32_t World::launcher_of(std::uint32_t process) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), process);
  return static_cast<std::uint32_t>(next - first_.begin());  // launcher 1 has the first host
}

/// Towards that process.
void World::pass_on(std::uint32_t from, std::uint32_t process, Message message) {
  std::uint32_t next = launcher_of(process);
  while (parents_[next] != from) next = parents_[next];
  send(from, next, std::move(message));
}

void World::inquiry_arrives(std::uint32_t at, Message message) {
  const Overloaded take{
      [&]<OneOf<std::variant<wire::Inquiry, wire::InquiryReply>> Up>(Up& up) {
        if (at != 0) return send(at, parents_[at], std::move(up));
        Inquiries::Orders orders;
        Inquiries::on(up, orders);
        for (auto& [process, order] : orders) {
          if (auto* inquired = get_if<wire::Inquired>(&order)) pass_on(0, process, std::move(*inquired));
          if (auto* answered = get_if<wire::Answered>(&order)) pass_on(0, process, std::move(*answered));
        }
      },
      [&](wire::Inquired& inquired) {
        if (launcher_of(inquired.process) != at) return pass_on(at, inquired.process, std::move(inquired));
        if (strategy() != Strategy::on_demand) return reply(at, inquired, std::string(value_bytes(), 'v'));
        std::string value = answers(inquired.process, inquired.asker, inquired.key);
        if (!value.empty()) return reply(at, inquired, std::move(value));
        deferred_.emplace(std::pair{inquired.process, inquired.asker}, inquired);
      },
      [&](wire::Answered& answered) {
        if (launcher_of(answered.process) != at) return pass_on(at, answered.process, std::move(answered));
        now_ += sim::ms(settings_.links.send);  // to the process
        record_.end = std::max(record_.end, now_);
        if (strategy() == Strategy::on_demand) is_answered(at, answered);
        --askers_[at].open;
        if (!askers_[at].wanted.empty()) ask(at);
      },
      [](auto&) {},
  };
  std::visit(take, message);
}

void World::reply(std::uint32_t at, const wire::Inquired& inquired, std::string value) {
  send(at, parents_[at],
       wire::InquiryReply{inquired.process, inquired.asker, inquired.id, {}, std::move(value)});
}

void World::is_answered(std::uint32_t at, const wire::Answered& answer) {
  std::string value = queue_pairs_->told(answer.process, answer.about, answer.bytes);
  if (value.empty()) return;
  const auto deferred = deferred_.find({answer.process, answer.about});
  if (deferred == deferred_.end()) return wrong("an answer to nobody");
  serve_requests(at, 1, static_cast<double>(deferred->second.key.size() + value.size()));
  record_.said += deferred->second.key.size() + value.size();
  reply(at, deferred->second, std::move(value));
  deferred_.erase(deferred);
}

namespace {
std::size_t bytes_of(const auto& message) {
  using M = std::remove_cvref_t<decltype(message)>;
  if constexpr (std::is_same_v<M, wire::InquiryReply> || std::is_same_v<M, wire::Answered>)
    return kOverhead + message.bytes.size();
  else if constexpr (std::is_same_v<M, kvs::FenceUp>)
    return kOverhead + message.given.size();
  else if constexpr (std::is_same_v<M, kvs::FenceDown>)
    return kOverhead + message.given->size();
  else
    return kOverhead + (message.key.empty() ? kKey : message.key.size());
}
}  // namespace

// ---- links

/// To its parent, or to a child.
void World::send(std::uint32_t from, std::uint32_t to, Message message) {
  const std::size_t bytes = std::visit([](const auto& each) { return bytes_of(each); }, message);
  send_shared(from, to, std::make_shared<Message>(std::move(message)), bytes);
}

void World::send_shared(std::uint32_t from, std::uint32_t to, std::shared_ptr<Message> message,
                        std::size_t bytes) {
  const bool is_up = parents_[from] == to && from != 0;
  const std::uint32_t lower = is_up ? from : to;
  now_ += sim::ms(settings_.links.send) + of_bytes(static_cast<double>(bytes), settings_.links.cipher);
  over_link_[lower] += bytes;
  const bool is_fence =
      holds_alternative<kvs::FenceUp>(*message) || holds_alternative<kvs::FenceDown>(*message);
  if (is_fence) fenced_over_link_[lower] += bytes;
  const Duration at = network_.arrival(wires_[lower], is_up, now_, bytes);
  queue_.push({at, ++sequence_, to, is_up ? from : 0, std::move(message), bytes});
}

void World::send_up(std::uint32_t launcher, kvs::FenceUp message) {
  send(launcher, parents_[launcher], std::move(message));
}

void World::send_down(std::uint32_t launcher, const kvs::FenceDown& message) {
  if (launcher == 0) record_.packed += message.given->size();
  const auto sent = std::make_shared<Message>(message);
  for (const std::uint32_t child : children_[launcher])
    send_shared(launcher, child, sent, kOverhead + message.given->size());
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
