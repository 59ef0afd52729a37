// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/function_frame.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace charmtree::io {

int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;
}

std::optional<FunctionFrame> function_frame(Dwfl* dwfl, Dwfl_Frame* frame) {
  Dwarf_Addr pc = 0;
  bool is_exact = false;  // else it is behind the call
  if (!dwfl_frame_pc(frame, &pc, &is_exact)) return {};
  if (!is_exact) --pc;
  Dwfl_Module* module = dwfl_addrmodule(dwfl, pc);
  const char* symbol = module != nullptr ? dwfl_module_addrname(module, pc) : nullptr;
  return FunctionFrame{pc, module, symbol != nullptr ? function_name(symbol) : "??"};
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

}  // namespace charmtree::io
