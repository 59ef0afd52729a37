// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/process_stack.hpp"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

/// What is deeper cannot be told apart from a stack that is damaged.
constexpr std::size_t kDeepest = 4096;

/// To unwind needs no debug information, and the names of functions are in the files themselves.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;
}
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
  proto::Stack stack;  // of the process the innermost first
};

int ProcessStack::take_frame(Dwfl_Frame* frame, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  Dwarf_Addr pc = 0;
  bool is_exact = false;  // else it is behind the call
  proto::Frames& frames = walk.stack.native;
  if (!dwfl_frame_pc(frame, &pc, &is_exact) || frames.size() >= kDeepest) return DWARF_CB_ABORT;
  if (!is_exact) --pc;
  Dwfl_Module* module = dwfl_addrmodule(walk.of.dwfl_.get(), pc);
  const char* symbol = module != nullptr ? dwfl_module_addrname(module, pc) : nullptr;
  frames.push_back(symbol != nullptr ? function_name(symbol) : "??");
  if (proto::runs_python(frames.back())) walk.of.look_at_python(walk, module);
  return DWARF_CB_OK;
}

/// While the process is held.
void ProcessStack::look_at_python(Walk& walk, Dwfl_Module* module) {
  if (!walk.stack.python.empty()) return;
  if (!python_) python_ = find_python(pid_, module);
  if (*python_) walk.stack.python = python_frames(pid_, **python_);
}

std::string function_name(const std::string& symbol) {
  int status = -1;
  const std::unique_ptr<char, decltype(&std::free)> plain{
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free};
  if (status != 0 || !plain) return symbol.substr(0, symbol.find('@'));  // and its version
  const std::string_view whole{plain.get()};
  std::size_t end = whole.rfind(')');
  if (end == std::string_view::npos) return std::string{whole};
  for (int depth = 0; end > 0; --end) {
    if (whole[end] == ')') ++depth;
    if (whole[end] == '(' && --depth == 0) break;
  }
  return std::string{end > 0 ? whole.substr(0, end) : whole};
}

void ProcessStack::End::operator()(Dwfl* dwfl) const {
  dwfl_end(dwfl);
}

Result<void> ProcessStack::open() {
  std::unique_ptr<Dwfl, End> dwfl{dwfl_begin(&kCallbacks)};
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
Result<proto::Stack> ProcessStack::read() {
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
