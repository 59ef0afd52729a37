// SPDX-License-Identifier: Apache-2.0
// MPI programs: processes that find each other by PMI. Each puts a value and enters a barrier, again and
// again, and asks behind it for what another one has put. A barrier ends in one way for all who come out of
// it: well, when everybody had entered it, or with an error, when somebody is lost.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/dice.hpp"
#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {
std::string value_of(std::uint32_t process, std::uint32_t round) {
  return fmt::format("{}.{}", process, round);
}
}  // namespace

bool World::enters_fences() const {
  return whole(settings_.kind) == kMpi;
}

void World::mpi_begins(std::uint32_t number, Duration now) {
  ClientOpened opened{ClientKind::pmi, client_of(number)};
  opened.made_for = number;
  now = turn(processes_[number].launcher, opened, now);
  says(number, "cmd=init pmi_version=1 pmi_subversion=1\n", now);
}

void World::mpi_enters(std::uint32_t number, Duration now) {
  Process& process = processes_[number];
  process.in_barrier = true;
  says(number,
       fmt::format("cmd=put kvsname=sim key=p{}.{} value={}\ncmd=barrier_in\n", number, process.round,
                   value_of(number, process.round)),
       now);
}

void World::mpi_hears(std::uint32_t number, std::string_view line, Duration now) {
  Process& process = processes_[number];
  const auto is = [&](std::string_view begin) { return line.starts_with(begin); };
  if (is("cmd=response_to_init rc=0")) {
    process.state = Process::State::wired;
    ++wired_;
    next_round(number, now);
  } else if (is("cmd=barrier_out")) {
    leaves_fence(number, is("cmd=barrier_out rc=0"), now);
  } else if (is("cmd=get_result")) {
    const std::uint32_t other = (number + 1) % job_processes(), round = process.round - 1;
    if (line != fmt::format("cmd=get_result rc=0 value={}\n", value_of(other, round)))
      checks_.wrong(
          fmt::format("process {} does not get what {} has put for barrier {}", number, other, round));
    next_round(number, now);
  } else if (is("cmd=finalize_ack")) {
    put(now + random_.between(0ms, 1ms), Dies{number, 0, 0, process.lives_before});
  } else if (!is("cmd=put_result rc=0")) {
    checks_.wrong(fmt::format("process {} was told {}", number, line));
  }
}

void World::leaves_fence(std::uint32_t number, bool is_good, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false))
    return checks_.wrong(fmt::format("process {} left a barrier that it was not in", number));
  const std::uint32_t round = process.round++;
  const bool is_same = fence_ends_.try_emplace({run_, round}, is_good).first->second == is_good;
  if (!is_same && roots_lost_.empty())  // what a root that is gone has told some the next one cannot know
    checks_.wrong(fmt::format("barrier {} ends well for some, and not for others", round));
  bool is_anybody_lost = false;
  for (std::uint32_t other = 0; other < job_processes(); ++other) {
    const Process& each = processes_[other];
    const bool has_entered = each.round > round || (each.round == round && each.in_barrier);
    if (is_good && !has_entered)
      checks_.wrong(fmt::format("barrier {} opened before process {} had entered", round, other));
    is_anybody_lost = is_anybody_lost || each.is_lost || each.may_be_lost || is_let_go(other);
  }
  if (is_good)
    return says(number,
                fmt::format("cmd=get kvsname=sim key=p{}.{}\n", (number + 1) % job_processes(), round), now);
  if (!is_anybody_lost) checks_.wrong(fmt::format("barrier {} failed, and nobody is lost", round));
  next_round(number, now);
}

}  // namespace charmtree::sim
