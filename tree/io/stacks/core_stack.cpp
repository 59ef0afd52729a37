// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/core_stack.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tree/io/stacks/function_frame.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

Error tells_nothing(const CoreFile& core, std::string_view why) {
  return {Errc::refused, Phase::run, fmt::format("{}: {}", core.path, why), {}};
}

struct Walk {
  Dwfl* dwfl;
  Crash crash = {};  // the innermost frame first
  bool is_over = false;
};

/// The file and line of an address, "" if the program does not say. Each compilation unit is asked: clang
/// writes no .debug_aranges, through which libdw would look for the right one.
std::string source_of(Dwfl_Module* module, Dwarf_Addr pc) {
  if (module == nullptr) return {};
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    if (dwarf_haspc(unit, pc - bias) <= 0) continue;
    Dwarf_Line* line = dwarf_getsrc_die(unit, pc - bias);
    int number = 0;
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    if (file == nullptr || dwarf_lineno(line, &number) != 0) return {};
    return fmt::format("{}:{}", std::filesystem::path{file}.filename().string(), number);
  }
  return {};
}

int take_frame(Dwfl_Frame* frame, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  stacks::Frames& frames = walk.crash.stack.native;
  const auto here = function_frame(walk.dwfl, frame);
  if (!here || frames.size() >= kDeepestStack) return DWARF_CB_ABORT;
  frames.push_back(here->function);
  if (walk.crash.source.empty()) walk.crash.source = source_of(here->module, here->pc);
  return DWARF_CB_OK;
}

/// The kernel writes the thread that has crashed first. All are passed over: libdw forgets to free what it
/// has of those that are left out.
int take_first_thread(Dwfl_Thread* thread, void* argument) {
  if (!std::exchange(static_cast<Walk*>(argument)->is_over, true))
    dwfl_thread_getframes(thread, take_frame, argument);
  return DWARF_CB_OK;
}

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

}  // namespace

Result<Crash> read_core(const CoreFile& core) {
  const UniqueFd file{::open(core.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return tells_nothing(core, "cannot be read");
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid())
    return tells_nothing(core, "not a file of this user");
  elf_version(EV_CURRENT);
  // Of a core file that was cut short, what there is.
  const std::unique_ptr<Elf, EndElf> elf{elf_begin(file.get(), ELF_C_READ_MMAP, nullptr)};
  static constexpr Dwfl_Callbacks kCallbacks{dwfl_build_id_find_elf, no_debug_file,
                                             dwfl_offline_section_address, nullptr};
  const DwflHandle dwfl{dwfl_begin(&kCallbacks)};
  if (!elf || !dwfl || dwfl_core_file_report(dwfl.get(), elf.get(), nullptr) <= 0)
    return tells_nothing(core, "not a whole core file");
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  if (dwfl_core_file_attach(dwfl.get(), elf.get()) < 0) return tells_nothing(core, dwfl_errmsg(-1));
  if (dwfl_pid(dwfl.get()) != core.pid) return tells_nothing(core, "of another process");
  Walk walk{dwfl.get()};
  dwfl_getthreads(dwfl.get(), take_first_thread, &walk);
  if (walk.crash.stack.native.empty()) return tells_nothing(core, "says nothing about its stack");
  std::reverse(walk.crash.stack.native.begin(), walk.crash.stack.native.end());
  return std::move(walk.crash);
}

}  // namespace charmtree::io
