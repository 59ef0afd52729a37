// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/process_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr Dwfl_Callbacks kCallbacks{dwfl_linux_proc_find_elf, no_debug_file, nullptr, nullptr};

Error why_not(int error) {
  Error refused{Errc::refused, Phase::run, strerror(error), {}};
  if (error != EPERM) return refused;
  const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope", 16);
  refused.what = "the kernel does not let its own user look into it (ptrace)";
  if (scope && *scope > "1\n")
    refused.fix = fmt::format("kernel.yama.ptrace_scope is {}: 1 or 0 would do", scope->substr(0, 1));
  else
    refused.fix = "in a container: --cap-add SYS_PTRACE";
  return refused;
}

}  // namespace

struct ProcessStack::Walk {
  ProcessStack& of;
  stacks::Stack stack;  // of the process the innermost first
};

int ProcessStack::take_frame(Dwfl_Frame* frame, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  stacks::Frames& frames = walk.stack.native;
  const auto here = function_frame(walk.of.dwfl_.get(), frame);
  if (!here || frames.size() >= kDeepestStack) return DWARF_CB_ABORT;
  frames.push_back(here->function);
  if (stacks::runs_python(frames.back())) walk.of.look_at_python(walk, here->module);
  return DWARF_CB_OK;
}

/// While the process is held.
void ProcessStack::look_at_python(Walk& walk, Dwfl_Module* module) {
  if (!walk.stack.python.empty()) return;
  if (!python_) python_ = find_python(pid_, module);
  if (*python_) walk.stack.python = python_frames(pid_, **python_);
}

Result<void> ProcessStack::open() {
  DwflHandle dwfl{dwfl_begin(&kCallbacks)};
  if (!dwfl) return Error{Errc::refused, Phase::run, dwfl_errmsg(-1), {}};
  if (const int error = dwfl_linux_proc_report(dwfl.get(), pid_); error != 0)
    return why_not(error > 0 ? error : EIO);
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  if (const int error = dwfl_linux_proc_attach(dwfl.get(), pid_, false); error != 0)
    return why_not(error > 0 ? error : EIO);
  dwfl_ = std::move(dwfl);
  return {};
}

/// A stack that ends in the middle, where code has no unwind information, is told as far as it goes.
Result<stacks::Stack> ProcessStack::read() {
  if (!dwfl_) {
    if (auto opened = open(); !opened) return opened.error();
  }
  Walk walk{*this, {}};
  errno = 0;
  const int result = dwfl_getthread_frames(dwfl_.get(), pid_, take_frame, &walk);
  if (walk.stack.native.empty() && result != 0) {
    if (errno == EPERM || errno == ESRCH) return why_not(errno);
    return Error{Errc::refused, Phase::run, dwfl_errmsg(-1), {}};
  }
  std::reverse(walk.stack.native.begin(), walk.stack.native.end());
  return std::move(walk.stack);
}

}  // namespace charmtree::io
