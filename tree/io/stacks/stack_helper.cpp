// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/stack_helper.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sstream>

#include "stacks/members.hpp"
#include "stacks/stack_frames.hpp"
#include "stacks/stack_set.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/stack_reader.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/stacks/core_stack.hpp"
#include "tree/io/stacks/process_stack.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/write_all.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMostList = 16U << 20;
constexpr int kLooks = 3;
/// Between two of them: what a step of a program takes, and a tick of the kernel's clock ten times.
constexpr Duration kPause = 100ms;

/// Memory of this process, but for files that it only reads: a hundred times what it takes of a usual host.
constexpr rlim_t kMostMemory = 1U << 30;

Error out_of_memory() {
  return {Errc::internal, Phase::run,
          fmt::format("to read its stack takes more than {} MiB", kMostMemory >> 20U)};
}

struct Subject {
  std::uint32_t process;
  pid_t pid;  // 0: it has ended
  ProcessStack stack;
  std::vector<stacks::Folded> looks = {};
  std::string failure = {};
  std::uint64_t computed_before = 0, computed_since = 0;
  int running = 0, stopped = 0;  // so often
};

bool is_over(const ProcessStat& stat) {
  return stat.parent == 0 || stat.state == 'Z' || stat.state == 'X';
}

/// What a process makes us read may be too large for us: the stacks of others are still shown.
auto read_stack(ProcessStack& stack) -> decltype(stack.read()) {
  try {
    return stack.read();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

/// One that has ended meanwhile is left out.
void look(Subject& subject, bool raw) {
  if (!subject.failure.empty() || subject.pid == 0) return;
  const ProcessStat stat = stat_of(subject.pid);
  if (is_over(stat)) return (void)(subject.pid = 0);
  if (subject.looks.empty()) subject.computed_before = stat.computed;
  subject.computed_since = stat.computed - subject.computed_before;
  if (stat.state == 'R') ++subject.running;
  if (stat.state == 'T') ++subject.stopped;
  if (stat.state == 't') return (void)(subject.failure = "a debugger holds it");
  auto stack = read_stack(subject.stack);
  if (stack) {
    subject.looks.push_back(raw ? stacks::Folded{stacks::all_frames(std::move(*stack))}
                                : stacks::fold_frames(std::move(*stack)));
  } else if (is_over(stat_of(subject.pid))) {
    subject.pid = 0;
  } else {
    subject.failure = to_string(stack.error());
  }
}

/// Where others take its processor, it still is ready to run each time.
stacks::Activity activity_of(const Subject& subject) {
  const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const std::uint64_t looked = ticks * static_cast<std::uint64_t>((kLooks - 1) * kPause / 1ms) / 1000;
  if (subject.stopped == kLooks) return stacks::Activity::stopped;
  const bool computes = subject.running == kLooks || 2 * subject.computed_since >= looked;
  return computes ? stacks::Activity::computes : stacks::Activity::none;
}

struct Subjects {
  std::vector<Subject> living;
  Cores cores;
};

/// A line each: process, process id, and of one that has crashed the path of its core file.
Subjects read_subjects() {
  Subjects subjects;
  const UniqueFd input{::dup(STDIN_FILENO)};
  const auto text = read_file(input, "the list of processes", kMostList);
  std::istringstream list{text ? *text : std::string{}};
  std::uint32_t process = 0;
  std::string path;
  for (pid_t pid = 0; list >> process >> pid && std::getline(list, path);) {
    if (!path.empty()) {
      subjects.cores[process] = {pid, path.substr(1)};
      continue;
    }
    const pid_t worker = worker_of(pid);
    subjects.living.push_back({process, worker, ProcessStack{worker}});
  }
  return subjects;
}

void tell(const Subject& subject, stacks::StackSet& all) {
  if (!subject.failure.empty()) {
    all.add_unread({{subject.process, subject.process}}, subject.failure);
  } else if (subject.pid != 0 && !subject.looks.empty()) {
    const stacks::Seen seen = stacks::sum_up(subject.looks, activity_of(subject));
    all.add(subject.process, seen.frames, seen.motion);
  }
}

auto read_crash(const CoreFile& core) -> decltype(read_core(core)) {
  try {
    return read_core(core);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

void tell_crash(std::uint32_t process, const CoreFile& core, bool raw, stacks::StackSet& all) {
  auto crash = read_crash(core);
  if (!crash) return all.add_unread({{process, process}}, to_string(crash.error()));
  stacks::Frames frames =
      raw ? stacks::all_frames(std::move(crash->stack)) : stacks::fold_frames(std::move(crash->stack)).frames;
  if (!crash->source.empty()) frames.push_back("at " + crash->source);
  all.add(process, frames, stacks::Motion::crashed);
}

void wait_until(Instant time) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(time - now());
  if (rest > 0ms) ::poll(nullptr, 0, static_cast<int>(rest.count()));
}

}  // namespace

std::optional<int> run_stack_helper(const std::vector<std::string>& words) {
  constexpr std::size_t kWords = 3;
  if (words.size() != kWords || words[1] != kStackHelperWord) return {};
  const bool raw = words[2] == kRawFrames;
  const rlimit most{kMostMemory, kMostMemory};
  ::setrlimit(RLIMIT_DATA, &most);
  ::unsetenv("DEBUGINFOD_URLS");  // libdw would ask others for the files that a core file names
  Subjects subjects = read_subjects();
  Instant next = now();
  for (int i = 0; i < kLooks && !subjects.living.empty(); ++i) {
    wait_until(next);
    next = now() + kPause;
    for (Subject& subject : subjects.living) look(subject, raw);
  }
  stacks::StackSet all;
  for (const Subject& subject : subjects.living) tell(subject, all);
  for (const auto& [process, core] : subjects.cores) tell_crash(process, core, raw, all);
  return write_all(STDOUT_FILENO, *wire::encode_whole(all.take())) ? 0 : 1;
}

}  // namespace charmtree::io
