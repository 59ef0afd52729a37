// SPDX-License-Identifier: Apache-2.0
// Time, launchers and links. A happening that finds its launcher busy waits in line until it is free. A
// launcher or a link end that is gone swallows what was under way to it.
#include "tests/sim/simulation.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/vocabulary.hpp"
#include "tree/base/signals.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {
constexpr std::uint32_t kTicksInARow = 1000;  // without any time passing: a launcher that goes round
}

Simulation::Simulation(const Settings& settings, std::uint64_t seed)
    : settings_(settings),
      random_(seed),
      network_(settings_, random_),
      launchers_on_(whole(settings.hosts)) {}

Simulation::~Simulation() = default;

// ---- time

void Simulation::put(Duration at, Happening happening) {
  queue_.push_back({at, sequence_++, std::make_unique<Happening>(std::move(happening))});
  std::push_heap(queue_.begin(), queue_.end());
}

bool Simulation::step(Duration limit) {
  if (queue_.empty() || queue_.front().at > limit) return false;
  std::pop_heap(queue_.begin(), queue_.end());
  Entry next = std::move(queue_.back());
  queue_.pop_back();
  now_ = next.at;
  take(std::move(next.what), next.at);
  return true;
}

/// The launcher to which it happens.
std::uint32_t Simulation::waits_for(const Happening& happening) {
  if (const auto* what = get_if<ToNode>(&happening)) return what->to;
  if (const auto* what = get_if<Arrival>(&happening)) return receiver(what->wire, what->up);
  if (const auto* what = get_if<HangUp>(&happening)) return receiver(what->wire, what->up);
  if (const auto* what = get_if<Answer>(&happening)) return logins_[what->login].launcher;
  if (const auto* what = get_if<Step>(&happening)) return process_at(what->process).launcher;
  return kNobody;
}

void Simulation::take(std::unique_ptr<Happening> what, Duration now) {
  const std::uint32_t id = waits_for(*what);
  if (id != kNobody) {
    Launcher& launcher = launchers_[id];
    if (!launcher.node) return;
    if (launcher.free_at > now || !launcher.waiting.empty()) {
      launcher.waiting.push_back(std::move(what));
      if (launcher.waiting.size() == 1) put(launcher.free_at, Wake{id});
      return;
    }
  }
  std::visit([&](auto& each) { happen(each, now); }, *what);
}

void Simulation::happen(const Wake& what, Duration now) {
  Launcher& launcher = launchers_[what.to];
  if (!launcher.node) return launcher.waiting.clear();
  if (launcher.free_at <= now) {
    const std::unique_ptr<Happening> first = std::move(launcher.waiting[launcher.next]);
    if (++launcher.next == launcher.waiting.size()) {
      launcher.waiting.clear();
      launcher.next = 0;
    }
    std::visit([&](auto& each) { happen(each, now); }, *first);
  }
  if (!launcher.waiting.empty()) put(std::max(launcher.free_at, now), Wake{what.to});
}

void Simulation::stop(std::uint32_t id) {
  launchers_[id].is_stopped = true;
  launchers_[id].free_at = Duration::max();
}

void Simulation::go_on(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  if (!std::exchange(launcher.is_stopped, false)) return;
  launcher.free_at = now;
  if (!launcher.waiting.empty()) put(now, Wake{id});
}

// ---- a launcher's turn

template <class What>
void Simulation::log(Duration now, std::uint32_t id, const What& what) const {
  if (settings_.log == 0) return;
  const std::uint32_t host = launchers_[id].host;
  fmt::print("{:12.6f} {:>7} {}\n", seconds(now), id == root_ ? "root" : fmt::format("n{:06}", host),
             describe(what));
}

Duration Simulation::turn(std::uint32_t id, const Event& event, Duration now) {
  Launcher& launcher = launchers_[id];
  ++events_;
  note(static_cast<std::uint64_t>(now.count()) * 31 + id);
  note(mark(event));
  log(now, id, event);
  Actions actions;
  launcher.node->on(event, Instant{now + launcher.skew}, actions);
  acts(id, actions);
  for (const Action& action : actions) {
    note(mark(action));
    log(now, id, action);
    performs(id, action, now);
    dispatch(
        node::Actions{}, [&](const auto& each) { perform(id, each, now); }, action);
  }
  launcher.free_at = launcher.is_stopped ? Duration::max() : now;
  if (launcher.node) arm(id, now);
  return now;
}

void Simulation::cost(std::uint32_t id, Duration& now, Duration what) const {
  now += launchers_[id].slowness == 1 ? what : scaled(what, launchers_[id].slowness);
}

void Simulation::arm(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  const Instant deadline = launcher.node->next_deadline();
  if (deadline == kNever || launcher.armed <= deadline) return;
  launcher.armed = deadline;
  put(std::max(deadline.time_since_epoch() - launcher.skew, now), ToNode{id, Tick{}});
}

void Simulation::count_tick(Launcher& launcher, Duration now) {
  launcher.ticks = launcher.ticked_at == now ? launcher.ticks + 1 : 0;
  launcher.ticked_at = now;
  if (launcher.ticks != kTicksInARow) return;
  wrong(fmt::format("the launcher of host {} asks for ticks without end", launcher.host));
  settings_.limit = 0;
}

void Simulation::happen(ToNode& what, Duration now) {
  Launcher& launcher = launchers_[what.to];
  if (holds_alternative<Tick>(what.event)) {
    launcher.armed = kNever;
    count_tick(launcher, now);
  }
  turn(what.to, what.event, now);
}

// ---- links

void Simulation::send(std::uint32_t number, bool up, wire::Message message, Duration& now) {
  Wire& wire = wires_[number];
  const std::uint32_t id = sender(number, up);
  if (!sends(number, up, message, now)) return;
  std::string coded;
  std::size_t bytes = 0;
  if (is_coded(number, message)) {
    auto frames = wire::encode_frames(message);
    if (!frames) {
      const LinkId above = launchers_[id].adopter == number ? kAdopterLink : kParentLink;
      return put(now, ToNode{id, SendRefused{up ? above : wire.link, frames.error()}});
    }
    coded = std::move(*frames);
    bytes = coded.size();
  } else {
    bytes = estimate(message);
  }
  const double cipher = settings_.cipher * static_cast<double>(bytes);
  cost(id, now, ms(settings_.send) + Duration{static_cast<Duration::rep>(cipher)});
  note(number * std::uint64_t{2} + (up ? 1 : 0));
  note(mark(message) + bytes);
  if (!(up ? wire.child_open : wire.parent_open))
    return wrong(fmt::format("host {} sent on a link that has ended", launchers_[id].host));
  const Duration arrives = network_.arrival(wire, up, now, bytes);
  if (wire.is_dead) return;
  put(arrives, Arrival{number, up, std::move(message), std::move(coded), bytes});
}

void Simulation::happen(Arrival& what, Duration now) {
  const Wire& wire = wires_[what.wire];
  if (wire.is_dead || !(what.up ? wire.parent_open : wire.child_open)) return;
  what.coded.empty() ? receive(what, now) : read(what, now);
}

/// As a launcher reads its links, in two pieces.
void Simulation::read(Arrival& what, Duration now) {
  const Wire& wire = wires_[what.wire];
  const std::uint32_t to = receiver(what.wire, what.up);
  auto [place, is_new] = readers_.try_emplace(what.wire);
  if (is_new) (void)place->second.up.append(wire::make_greeting());
  wire::LinkReader& reader = what.up ? place->second.up : place->second.down;
  const std::string_view coded = what.coded;
  const std::size_t cut = sequence_ % coded.size();
  for (const std::string_view piece : {coded.substr(0, cut), coded.substr(cut)}) {
    (void)reader.append(piece);
    for (;;) {
      if (!launchers_[to].node || !(what.up ? wire.parent_open : wire.child_open)) return;
      auto message = reader.next(launchers_[to].node->remit(link_of(what.wire, what.up)));
      if (!message) {
        broke_protocol(what.wire, what.up);
        HangUp broken{what.wire, what.up, "broke the protocol"};
        happen(broken, now);
        return hang_up(what.wire, !what.up, now, "closed by the other side");
      }
      if (!message->has_value()) break;
      what.message = std::move(**message);
      receive(what, now);
    }
  }
}

void Simulation::receive(Arrival& what, Duration& now) {
  const std::uint32_t to = receiver(what.wire, what.up);
  cost(to, now, ms(settings_.receive));
  cost(to, now, Duration{static_cast<Duration::rep>(settings_.cipher * static_cast<double>(what.bytes))});
  cost(to, now,
       Duration{static_cast<Duration::rep>(settings_.tuple * static_cast<double>(tuples_in(what.message)))});
  receives(to, what.message);
  if (holds_alternative<wire::Welcome>(what.message)) launchers_[to].is_welcomed = true;
  now = turn(to, LinkMessage{link_of(what.wire, what.up), std::move(what.message)}, now);
}

std::uint32_t Simulation::receiver(std::uint32_t wire, bool up) const {
  return up ? wires_[wire].parent : wires_[wire].child;
}

LinkId Simulation::link_of(std::uint32_t number, bool up) const {
  const Wire& wire = wires_[number];
  if (up) return wire.link;
  return launchers_[wire.child].adopter == number ? kAdopterLink : kParentLink;
}

void Simulation::happen(HangUp& what, Duration now) {
  Wire& wire = wires_[what.wire];
  bool& open = what.up ? wire.parent_open : wire.child_open;
  if (!std::exchange(open, false)) return;
  const std::uint32_t to = receiver(what.wire, what.up);
  const LinkId link = link_of(what.wire, what.up);
  if (link == kAdopterLink) launchers_[to].adopter = kNobody;
  turn(to, LinkDown{link, {Errc::link_lost, Phase::run, what.why}}, now);
}

void Simulation::hang_up(std::uint32_t number, bool up, Duration now, std::string why) {
  Wire& wire = wires_[number];
  (up ? wire.child_open : wire.parent_open) = false;
  if (wire.is_dead) return;
  put(network_.arrival(wire, up, now, 0), HangUp{number, up, std::move(why)});
}

/// In small worlds, and on some links of large ones, a message really is coded and decoded.
bool Simulation::is_coded(std::uint32_t number, const wire::Message& message) const {
  constexpr std::size_t kSmallWorld = 2000;
  constexpr std::uint32_t kSample = 64;
  if (launchers_on_.size() <= kSmallWorld) return true;
  return number % kSample == 0 && !holds_alternative<wire::TableDown>(message);
}

std::size_t Simulation::tuples_in(const wire::Message& message) const {
  std::size_t tuples = 0;
  if (const auto* facts = get_if<wire::Facts>(&message)) {
    for (const wire::TupleBlock& block : facts->blocks) tuples += block.tuples.size();
  }
  return tuples;
}

/// What a message is worth on the wire.
std::size_t Simulation::estimate(const wire::Message& message) const {
  constexpr std::size_t kSmall = 32, kHost = 20, kBlock = 10, kFailure = 60;
  if (const auto* welcome = get_if<wire::Welcome>(&message)) return kSmall + welcome->job->size();
  if (const auto* assign = get_if<wire::Assign>(&message)) return kSmall + assign->hosts.size() * kHost;
  if (const auto* table = get_if<wire::TableDown>(&message)) return kSmall + table->table->size();
  if (const auto* facts = get_if<wire::Facts>(&message)) {
    const std::size_t tuple = settings_.base_ports != 0 ? 0 : 2;
    std::size_t bytes = kSmall + facts->hosts_up.size() * 3 + facts->hosts_failed.size() * kFailure +
                        facts->blocks.size() * kBlock + tuple * tuples_in(message);
    for (const wire::ProcessIds& told : facts->process_ids) bytes += kBlock + told.ids.size();
    return bytes;
  }
  if (const auto* piece = get_if<staging::StagedPiece>(&message)) return kSmall + piece->bytes.size();
  if (holds_alternative<stacks::StacksUp>(message)) {
    const auto frames = wire::encode_frames(message);
    return frames ? frames->size() : kSmall;
  }
  return kSmall;
}

// ---- launchers

void Simulation::begin_root(RootPlan plan, Duration now) {
  Launcher root;
  root.host = wire::kRootIndex;
  root.level = 0;
  root.skew = random_.between(-1000s, 1000s);
  root.is_welcomed = true;
  root.node = std::make_unique<Node>(std::move(plan), random_.next());
  root_ = static_cast<std::uint32_t>(launchers_.size());
  launchers_.push_back(std::move(root));
  put(now, ToNode{root_, Begin{}});
}

void Simulation::happen(const Answer& what, Duration now) {
  using Signature = Login::Signature;
  Login& login = logins_[what.login];
  if (login.is_over) return;
  const std::uint32_t id = login.launcher;
  LoginEnd end = login_end(what.login);
  if (!end.error && !end.to_sign.empty() && login.signature == Signature::none) {
    login.signature = Signature::wanted;
    turn(id, SignatureWanted{login.link, std::move(end.to_sign)}, now);
    return;
  }
  if (login.signature == Signature::refused)
    end.error = Error{Errc::no_usable_key, Phase::authenticate, "unsigned"};
  end_login(what.login);
  if (end.error) {
    launchers_[id].children.erase(login.link);
    turn(id, LoginFailed{login.link, std::move(*end.error), {}}, now);
    return;
  }
  const std::uint32_t child = start_launcher(login, now);
  launchers_[id].children[login.link].wire = launchers_[child].wire;
  put(now, ToNode{child, Tick{}});  // from here on it waits for its parent's first word
  turn(id, LinkUp{login.link, {}, std::move(end.key), {}}, now);
}

std::uint32_t Simulation::start_launcher(const Login& login, Duration now) {
  const auto child = static_cast<std::uint32_t>(launchers_.size());
  Launcher launcher;
  launcher.host = login.host;
  launcher.level = launchers_[login.launcher].level + 1;
  launcher.wire = static_cast<std::uint32_t>(wires_.size());
  launcher.skew = random_.between(-1000s, 1000s);
  launcher.node = std::make_unique<Node>(random_.next(), Node::kFirstWord, most_links(settings_));
  launchers_.push_back(std::move(launcher));
  launchers_on_[login.host].push_back(child);
  wires_.push_back({login.launcher, child, login.link});
  launcher_begins(child, login.launcher, now);
  return child;
}

void Simulation::end_login(std::uint32_t number) {
  if (!std::exchange(logins_[number].is_over, true)) login_over(number);
}

void Simulation::leave(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  launcher_ends(id, now);
  launcher.node.reset();
  for (const std::uint32_t wire : {launcher.wire, launcher.adopter}) {
    if (wire != kNobody) hang_up(wire, true, now, "closed by the other side");
  }
  for (const auto& [link, slot] : launcher.children) {
    end_login(slot.login);
    if (slot.wire != kNobody) hang_up(slot.wire, false, now, "closed by the other side");
  }
  launcher.children.clear();
}

// ---- processes

ClientId Simulation::client_of(std::uint32_t process) {
  return process + ClientId{1} + ClientId{process_at(process).lives_before} * process_count();
}
std::uint32_t Simulation::process_of(ClientId client) const {
  return client == 0 ? kNobody : static_cast<std::uint32_t>((client - 1) % process_count());
}
std::uint32_t Simulation::life_of(ClientId client) const {
  return static_cast<std::uint32_t>((client - 1) / process_count());
}

/// Until now its launcher was free.
void Simulation::says(std::uint32_t number, std::string bytes, Duration& now) {
  const std::uint32_t id = process_at(number).launcher;
  if (!launchers_[id].node) return;
  cost(id, now, ms(settings_.receive));
  now = turn(id, ClientBytes{client_kind(), client_of(number), std::move(bytes)}, now);
}

void Simulation::happen(const Step& what, Duration now) {
  if (process_at(what.process).lives_before == what.life) steps(what, now);
}

void Simulation::happen(const Dies& what, Duration now) {
  if (process_at(what.process).lives_before == what.life) exits(what.process, what.code, what.signal, now);
}

void Simulation::exits(std::uint32_t number, int code, int signal, Duration now) {
  SimProcess& process = process_at(number);
  if (!std::exchange(process.alive, false)) return;
  process.crashed = signals::is_crash(signal);
  const bool was_connected = std::exchange(process.connected, false);
  process_ends(number, now);
  if (!launchers_[process.launcher].node) return;
  if (was_connected)
    put(now + random_.between(0ms, kReaction),
        ToNode{process.launcher, ClientClosed{client_kind(), client_of(number)}});
  put(now + random_.between(0ms, kReaction),
      ToNode{process.launcher,
             ProcessExited{number, static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(signal)}});
}

void Simulation::happen(const Written& what, Duration now) {
  if (!launchers_[what.root].node) return;
  unwritten_ -= what.cost;
  take(std::make_unique<Happening>(ToNode{what.root, OutputWritten{what.cost}}), now);
}

}  // namespace charmtree::sim
