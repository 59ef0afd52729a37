// SPDX-License-Identifier: Apache-2.0
// What the simulated processes print, and the root's screen, which may stop for a while. A process prints its
// pieces one after the other, unless its launcher does not read them: then it waits. Each piece is the
// number of the process and of the piece, and of the run if there are several, so that the checks can tell
// what is missing or out of order.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tests/sim/dice.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/world.hpp"
#include "tree/job/output_grants.hpp"
#include "tree/job/output_queue.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

constexpr Duration kUntold = 250ms;  // OutputLedger::kDelay, and the way but for that of the network
constexpr int kWay = 30;

struct Piece {
  std::uint32_t number = 0;  // among those of the process
  std::uint32_t run = 0;
};

/// Nothing: it is no piece of this process.
std::optional<Piece> piece_in(std::string_view line, std::uint32_t process) {
  const std::string begin = fmt::format("{} ", process);
  if (!line.ends_with('\n') || !line.starts_with(begin)) return {};
  const char* const last = line.data() + line.size();
  Piece piece;
  const auto [end, error] = std::from_chars(line.data() + begin.size(), last, piece.number);
  if (error != std::errc{} || (*end != ' ' && *end != '\n')) return {};
  std::from_chars(end + 1, last, piece.run);
  return piece;
}

}  // namespace

/// The next piece, or what comes behind the last.
void World::prints(std::uint32_t number, Duration now) {
  Process& process = processes_[number];
  using State = Process::State;
  const bool is_plain = whole(settings_.kind) == plain;
  if (process.state != (is_plain ? State::running : State::wired)) return;
  if (process.is_paused) {
    process.waits_to_print = true;
    return;
  }
  if (process.printed >= whole(settings_.prints)) {
    if (passes_barriers() || (starts_again() && !is_plain)) return next_round(number, now);
    return put_step(now + ms(settings_.life), number, is_plain ? Act::exit : Act::finish);
  }
  std::string text = fmt::format("{} {}", number, process.printed++);
  if (run_ != 0) text += fmt::format(" {}", run_);
  text.resize(std::max(text.size() + 1, std::size_t{whole(settings_.print_size)}), ' ');
  text.back() = '\n';
  put_step(now + ms(settings_.print_gap), number, Act::print);
  if (is_plain)
    turn(process.launcher, ProcessOutput{number, Stream::out, std::move(text)}, now);
  else if (whole(settings_.kind) == charm)
    says(number, wire::make_charm_message("print", text + '\0'), now);
  else
    says(number, wire::native::to_frame(wire::native::Print{wire::native::Stream::out, std::move(text)}),
         now);
}

void World::is_paused(std::uint32_t number, bool paused, Duration now) {
  Process& process = processes_[number];
  process.is_paused = paused;
  if (!paused && std::exchange(process.waits_to_print, false)) put_step(now, number, Act::print);
}

void World::watch(std::uint32_t, const Show& action, Duration now) {
  const wire::Output& output = action.output;
  if (unwritten_ + output_cost(output) > (is_screen_last_ ? most_at_the_end() : kMostUnwritten))
    checks_.wrong("the root shows more than the screen can take");
  shown(output.process, output.text, now);
}

/// Who ends shows all that is here of what its children had leave to send.
std::size_t World::most_at_the_end() {
  const std::size_t children = seen(root_).widest;
  return kMostUnwritten + OutputGrants::kPool + children * (OutputGrants::kFirst + OutputQueue::kPiece);
}

/// Each piece in its turn. What a root that was lost has shown, the next one shows again only if nobody could
/// be told of it.
void World::shown(std::uint32_t number, std::string_view text, Duration now) {
  if (whole(settings_.prints) == 0) return;
  Process& process = processes_[number];
  if (process.state == Process::State::gone) last_remains_at_ = now;
  // Of one that has moved, what was under way when its host was lost is lost, or late.
  const bool may_have_moved = hosts_lost_;
  const double faults = settings_.crash + settings_.cut + settings_.lost + settings_.pause;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    text.remove_prefix(line.size());
    const auto next = static_cast<std::uint32_t>(process.shown.size());
    const std::uint32_t first = std::exchange(process.screen, root_) == root_ ? process.next_on_it : 0;
    const auto piece = piece_in(line, number);
    if (piece && piece->run < run_ && next == 0) continue;  // the screen had not taken it when that run ended
    const bool is_next =
        piece && piece->run == run_ && (may_have_moved || (piece->number >= first && piece->number <= next));
    if (!is_next) {
      checks_.wrong(fmt::format("process {}: '{}' is shown, and '{} {}' is next", number,
                                line.substr(0, fmt::format("{} {}", number, next).size() + 1), number, next));
      continue;
    }
    if (lies(Sabotage::theft) && number == 0) continue;
    process.next_on_it = piece->number + 1;
    if (piece->number >= next) process.shown.resize(piece->number + std::size_t{1});
    Process::Shown& shown = process.shown[piece->number];
    if (piece->number < next && faults == 0 &&
        roots_lost_.at(shown.root) - shown.at > kUntold + kWay * ms(settings_.link))
      checks_.wrong(fmt::format(
          "piece {} of process {} is shown again, though the root that showed it lived for {:.3f} s more",
          piece->number, number, seconds(roots_lost_.at(shown.root) - shown.at)));
    shown = {root_, now};
  }
}

/// Of a job that ended well.
void World::check_output() {
  for (std::uint32_t i = 0; i < job_processes(); ++i) {
    const Process& process = processes_[i];
    if (process.is_lost || (hosts_lost_ && process.lives_before > 0)) continue;
    if (process.shown.size() != process.printed || process.printed != whole(settings_.prints))
      return checks_.wrong(fmt::format("of {} pieces of process {} only {} are shown", process.printed, i,
                                       process.shown.size()));
  }
}

}  // namespace charmtree::sim
