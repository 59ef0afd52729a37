// SPDX-License-Identifier: Apache-2.0
#include "stacks/stack_frames.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace charmtree::stacks {

namespace {

using std::string_view;

template <std::size_t N>
bool is_one_of(const std::array<string_view, N>& all, string_view name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Charm++'s loops over its messages (src/conv-core/convcore.C).
constexpr std::array<string_view, 5> kSchedulers{"CsdScheduleForever", "CsdScheduleCount", "CsdSchedulePoll",
                                                 "CsdScheduler", "CsdScheduleNodePoll"};
/// What such a loop does with none: it looks for messages, at its network, at the clock, at what is due, and
/// says that it is idle.
constexpr std::array<string_view, 16> kIdle{"Csd",
                                            "Ccd",
                                            "Cds",
                                            "Cqs",
                                            "Cmi",
                                            "Lrts",
                                            "Communication",
                                            "CheckSockets",
                                            "GetClock",
                                            "GarbageCollect",
                                            "TransmitDatagram",
                                            "ServiceCharmrun",
                                            "CcsServerCheck",
                                            "skt_",
                                            "gethrctime",
                                            "std::chrono::"};
/// But for the beginning of these, behind which something happens.
constexpr std::array<string_view, 3> kBusy{"CmiHandleMessage", "CmiAbort", "CmiError"};
/// What these call of the system.
constexpr std::array<string_view, 14> kSystem{
    "poll",        "__poll",   "ppoll",       "select", "__select",  "epoll_wait", "recv",
    "__libc_recv", "recvfrom", "sched_yield", "usleep", "nanosleep", "read",       "??"};
constexpr std::array<string_view, 5> kClocks{"__vdso", "gettimeofday", "clock_gettime", "clock_nanosleep",
                                             "__clock_"};

template <std::size_t N>
bool begins_as(const std::array<string_view, N>& beginnings, string_view name) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](string_view beginning) { return name.starts_with(beginning); });
}

bool is_scheduler(string_view name) {
  return is_one_of(kSchedulers, name);
}

bool is_idle(string_view name) {
  if (begins_as(kBusy, name)) return false;
  return begins_as(kIdle, name) || is_one_of(kSystem, name) || begins_as(kClocks, name);
}

/// "MPI_Recv" of MPI_Recv, PMPI_Recv; empty: it is none.
string_view mpi_function(string_view name) {
  if (name.starts_with("PMPI_")) name.remove_prefix(1);
  const bool is_one =
      name.starts_with("MPI_") && name.size() > 4 && std::isupper(static_cast<unsigned char>(name[4])) != 0;
  return is_one ? name : string_view{};
}

}  // namespace

bool runs_python(std::string_view function) {
  return function == "_PyEval_EvalFrameDefault";
}

Frames all_frames(Stack stack) {
  Frames& native = stack.native;
  const auto last = std::find_if(native.rbegin(), native.rend(), runs_python);
  native.insert(last.base(), stack.python.begin(), stack.python.end());
  return std::move(native);
}

namespace {

/// Python's own, between a function of the program and what that calls.
bool is_of_interpreter(string_view name) {
  constexpr std::array<string_view, 11> kBeginnings{"Py",      "_Py",    "cfunction_", "method_",
                                                    "object_", "slot_",  "builtin_",   "vectorcall_",
                                                    "__pyx_",  "__Pyx_", "??"};
  return begins_as(kBeginnings, name);
}

Frames python_program(Stack stack) {
  const auto last = std::find_if(stack.native.rbegin(), stack.native.rend(), runs_python);
  const auto called = std::find_if_not(last.base(), stack.native.end(), is_of_interpreter);
  stack.python.insert(stack.python.end(), called, stack.native.end());
  return std::move(stack.python);
}

Frames own_program(Frames frames) {
  const auto main = std::find(frames.begin(), frames.end(), "main");
  if (main != frames.end()) frames.erase(frames.begin(), main);
  return frames;
}

}  // namespace

Folded fold_frames(Stack stack) {
  Frames frames =
      stack.python.empty() ? own_program(std::move(stack.native)) : python_program(std::move(stack));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (const string_view mpi = mpi_function(frames[i]); !mpi.empty()) {
      frames[i] = std::string{mpi};
      frames.resize(i + 1);
      return {std::move(frames), true};
    }
  }
  const auto last = std::find_if(frames.rbegin(), frames.rend(), is_scheduler);
  if (last == frames.rend() || !std::all_of(frames.rbegin(), last, is_idle))
    return {std::move(frames), false};
  frames.erase(last.base(), frames.end());
  while (frames.size() > 1 && is_scheduler(frames.back()) && is_scheduler(frames[frames.size() - 2]))
    frames.pop_back();  // whether the inner one has been entered
  frames.emplace_back("(idle in scheduler)");
  return {std::move(frames), true};
}

Seen sum_up(const std::vector<Folded>& looks, Activity activity) {
  Frames common = looks.front().frames;
  bool moves = false, waits = true;
  for (const Folded& look : looks) {
    const auto differ = std::mismatch(common.begin(), common.end(), look.frames.begin(), look.frames.end());
    moves = moves || look.frames != looks.front().frames;
    waits = waits && look.is_waiting;
    common.erase(differ.first, common.end());
  }
  Motion motion = moves ? Motion::moves : Motion::waits;
  if (activity == Activity::stopped) motion = Motion::stopped;
  if (activity == Activity::computes && !moves && !waits) motion = Motion::computes;
  return {std::move(common), motion};
}

}  // namespace charmtree::stacks
