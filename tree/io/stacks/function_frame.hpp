// SPDX-License-Identifier: Apache-2.0
// What libdw knows of a frame, for all who unwind by it.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace charmtree::io {

/// What is deeper cannot be told apart from a stack that is damaged.
inline constexpr std::size_t kDeepestStack = 4096;

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};
using DwflHandle = std::unique_ptr<Dwfl, EndDwfl>;

/// To unwind needs no debug information, and the names of functions are in the files themselves.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**);

struct FunctionFrame {
  Dwarf_Addr pc;         // in the instruction that runs, or in the call
  Dwfl_Module* module;   // null: in none
  std::string function;  // as people write it; "??": not known
};
/// Nothing: the stack ends here.
std::optional<FunctionFrame> function_frame(Dwfl* dwfl, Dwfl_Frame* frame);

/// Of what the linker calls `symbol`, as people write it, without parameters: "Main::step". A symbol that
/// may stand for far more than its length is returned as it is.
std::string function_name(const std::string& symbol);

}  // namespace charmtree::io
