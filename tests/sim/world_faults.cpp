// SPDX-License-Identifier: Apache-2.0
// What befalls the launchers, links and processes of a job while it runs. Each fault finds its victim when it
// strikes; the checks are told what the job may come to by it.
#include <fmt/core.h>

#include <algorithm>

#include "tests/sim/programs.hpp"

#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

constexpr const char* kNames[] = {"crash", "cut", "lost", "pause"};
constexpr Duration kPatience = 15s;  // of whoever asks; a job that stands still answers when it goes on

}  // namespace

void World::draw_faults() {
  using K = Fault;
  const std::pair<double, K> counts[] = {{settings_.crash, K::crash},
                                         {settings_.cut, K::cut},
                                         {settings_.lost, K::lost},
                                         {settings_.pause, K::pause},
                                         {settings_.interrupt, K::interrupt},
                                         {settings_.root_crash, K::root_crash},
                                         {settings_.root_lost, K::root_lost},
                                         {settings_.kill_process, K::kill_process},
                                         {settings_.fail_process, K::fail_process},
                                         {settings_.crash_process, K::crash_process},
                                         {settings_.asks, K::asks},
                                         {settings_.prompts, K::prompts}};
  for (const auto& [count, kind] : counts) {
    for (std::uint32_t i = 0; i < whole(count); ++i)
      put_fault(random_.between(ms(settings_.from), ms(settings_.to) + 1ns), kind);
  }
}

void World::put_fault(Duration at, Fault kind) {
  put(at, Call{[this, kind](Duration now) { strike(kind, now); }});
}

void World::runs_tools(Duration now) {
  using What = debug::ToolOrder::What;
  constexpr auto kLook = 1s;
  const std::uint64_t ticket = ++last_prompt_;
  told_of_[ticket] = {};
  debug::ToolOrder order{
      0, What::begin, true, debug::kMostToolBytes, {"cat"}, {}, {{0, job_processes() - 1}}};
  put(now, ToNode{root_, debug::ToolAsked{ticket, order}});
  order.what = What::input;
  order.bytes = "hello";
  put(now + kLook, ToNode{root_, debug::ToolAsked{ticket, order}});
  order.bytes.clear();
  put(now + kLook, ToNode{root_, debug::ToolAsked{ticket, order}});
  put(now + kPatience + ms(settings_.held), Call{[this, ticket](Duration) {
        const auto told = told_of_.find(ticket);
        if (told != told_of_.end() && told->second.size() < job_processes())
          checks_.wrong("the end of a tool is never told");
      }});
}

/// Whoever is lost meanwhile has been missed by then.
void World::opens_prompt(Duration now) {
  using What = debug::DebugOrder::What;
  constexpr auto kLook = 1s;
  const std::uint64_t ticket = ++last_prompt_;
  open_prompts_.insert(ticket);
  debug::DebugOrder order{0, 1, What::begin, false, {}, {{0, job_processes() - 1}}};
  put(now, ToNode{root_, debug::DebugAsked{ticket, order}});
  order.what = What::command;
  order.number = kPromptCommand;
  put(now + kLook, ToNode{root_, debug::DebugAsked{ticket, order}});
  put(now + kPatience + ms(settings_.held), Call{[this, ticket](Duration) {
        if (open_prompts_.contains(ticket)) checks_.wrong("a debugger's prompt waits for ever");
      }});
}

bool World::is_ending() const {
  const auto& root = launchers_[root_].node;
  return root ? root->ending() : !is_root_awaited_;
}

/// One that lives, has been welcomed, and is not the root.
std::uint32_t World::some_launcher() {
  std::vector<std::uint32_t> living;
  for (std::uint32_t id = 1; id < launchers_.size(); ++id) {
    const Launcher& launcher = launchers_[id];
    if (launcher.node && launcher.is_welcomed && launcher.host != wire::kRootIndex) living.push_back(id);
  }
  return living.empty() ? kNobody : living[random_.below(living.size())];
}

std::uint32_t World::some_process() {
  std::vector<std::uint32_t> living;
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].alive && launchers_[processes_[i].launcher].node) living.push_back(i);
  }
  return living.empty() ? kNobody : living[random_.below(living.size())];
}

void World::struck(bool surely, int status, Duration now) {
  if (settings_.reruns != 0) {
    if (status == kLauncherFailed && !has_run()) checks_.grazed(status);
    return;
  }
  // The root may hear of the job's good end first.
  const bool may_be_late = seen(root_).was_paused || !launchers_[root_].waiting.empty();
  if (!surely || is_ending() || may_be_late) return checks_.grazed(status);
  checks_.struck(status);
  if (struck_at_ == kNotStruck) struck_at_ = now;
}

/// Its host has processes that the root has not seen the end of.
bool World::is_needed(std::uint32_t id) const {
  const auto unfinished = [](const Process& process) {
    return process.state != Process::State::ended && process.state != Process::State::gone;
  };
  if (is_numbered_late(settings_))
    return std::any_of(processes_.begin(), processes_.end(), [&](const Process& process) {
      return process.launcher == id && process.state != Process::State::unborn && unfinished(process);
    });
  const std::uint32_t each = whole(settings_.processes), first = launchers_[id].host * each;
  return std::any_of(processes_.begin() + first, processes_.begin() + first + each, unfinished);
}

void World::strike(Fault kind, Duration now) {
  using K = Fault;
  note(static_cast<std::uint64_t>(kind) + 1000);
  if (!launchers_[root_].node && !is_root_awaited_) return;
  switch (kind) {
    case K::interrupt:
      if (is_root_awaited_) return;  // nobody is there to be interrupted
      is_unread_ = is_unread_ || is_ending();
      if (settings_.reruns != 0)
        checks_.grazed(kSignalled + kInterrupt);
      else
        struck(true, kSignalled + kInterrupt, now);
      put(now, ToNode{root_, UserSignal{kInterrupt}});
      return;
    case K::asks:
      if (!is_root_awaited_)
        put(now, ToNode{root_, stacks::StacksAsked{{stacks::StacksFor::Why::asked, root_}, false}});
      return;
    case K::prompts:
      if (is_root_awaited_) return;
      opens_prompt(now);
      runs_tools(now);
      return;
    case K::root_crash:
      is_root_gone_ = true;
      if (struck_at_ == kNotStruck || settings_.keep_alive > 0) struck_at_ = now;
      if (!is_root_awaited_) leave(root_, now);
      return;
    case K::root_lost:
      return lose_root(now);
    case K::kill_process:
    case K::fail_process:
    case K::crash_process:
      return strike_process(kind, now);
    default:
      return strike_launcher(kind, now);
  }
}

void World::strike_launcher(Fault kind, Duration now) {
  using K = Fault;
  constexpr std::uint64_t kOneInSo = 8;
  const bool root_pauses = kind == K::pause && random_.below(kOneInSo) == 0;
  const std::uint32_t id = root_pauses ? 0 : some_launcher();
  if (id == kNobody) return;
  Launcher& launcher = launchers_[id];
  if (settings_.log != 0)
    fmt::print("{:12.6f} n{:06} ** {}\n", seconds(now), launcher.host,
               kNames[static_cast<std::size_t>(kind)]);
  if (kind == K::pause) {
    seen(id).was_paused = true;
    launcher.free_at = std::max(launcher.free_at, now) + ms(settings_.pause_for);
    return;
  }
  if (settings_.in_place != 0)
    lose_in_place(id);
  else if (goes_on())
    lose_launcher(id, kind != K::cut);
  else if (settings_.keep_alive > 0 && kind == K::cut)
    checks_.grazed(kLauncherFailed);  // it may be reached again
  else
    struck(is_needed(id), kLauncherFailed, now);
  if (kind == K::crash) {
    kill_processes_of(id);
    leave(id, now);
  } else if (kind == K::cut) {
    for (const bool up : {true, false})
      put(network_.arrival(wires_[launcher.wire], up, now, 0), HangUp{launcher.wire, up, "connection reset"});
    wires_[launcher.wire].is_dead = true;
  } else {
    if (settings_.reruns != 0 && settings_.spares < settings_.lost) checks_.grazed(kLauncherFailed);
    power_off(id, now);
  }
}

/// The host is gone without a word. Its parent's system notices that nothing is answered; launchers below
/// wait for ever.
void World::power_off(std::uint32_t id, Duration now) {
  Launcher& launcher = launchers_[id];
  hosts_[launcher.host].is_off = true;
  kill_processes_of(id);
  wires_[launcher.wire].is_dead = true;
  if (launcher.adopter != kNobody) wires_[launcher.adopter].is_dead = true;
  put(now + ms(settings_.notice), HangUp{launcher.wire, true, "no answer"});
  const auto children = launcher.children;
  for (const auto& [link, slot] : children) {
    if (slot.wire == kNobody) continue;
    wires_[slot.wire].is_dead = true;
    orphan(wires_[slot.wire].child);
  }
  leave(id, now);
}

void World::orphan(std::uint32_t id) {
  seen(id).is_orphan = true;
  for (const auto& [link, slot] : launchers_[id].children) {
    if (slot.wire != kNobody) orphan(wires_[slot.wire].child);
  }
}

}  // namespace charmtree::sim
