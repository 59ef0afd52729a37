// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/function_frame.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>
#include <unordered_map>

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

namespace {

/// Bytes of a symbol that is demangled; of one that has an argument pack; and of one that may refer to its
/// own parts as often as it likes.
constexpr std::size_t kMostSymbol = 2U << 10, kMostWithPack = 512, kShortSymbol = 128;
/// Of a longer one: so many references to its own parts, and argument packs.
constexpr int kMostReferences = 20, kMostPacks = 2;
/// Names that are kept, as all processes of a host are in much the same functions; and bytes of each.
constexpr std::size_t kMostKept = 4096, kMostName = 1U << 10;

/// Counts references to earlier parts of the symbol (S_, S0_, T_, T0_ ...).
int references(std::string_view symbol) {
  int count = 0;
  for (std::size_t at = 0; at + 1 < symbol.size(); ++at) {
    if (symbol[at] != 'S' && symbol[at] != 'T') continue;
    const std::size_t end = symbol.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", at + 1);
    if (end != std::string_view::npos && symbol[end] == '_') ++count;
  }
  return count;
}

int packs(std::string_view symbol) {
  int count = 0;
  for (std::size_t at = symbol.find("Dp"); at != std::string_view::npos; at = symbol.find("Dp", at + 1))
    ++count;
  return count;
}

/// A symbol of 225 bytes may stand for a name of 138 MB: each part may name the one before it twice. With so
/// few references a name has some MB at most; the demangler's own memory has no limit.
bool may_be_demangled(std::string_view symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kMostSymbol) return false;
  const int expansions = packs(symbol);
  if (expansions > kMostPacks || (expansions > 0 && symbol.size() > kMostWithPack)) return false;
  return symbol.size() <= kShortSymbol || references(symbol) <= kMostReferences;
}

std::string readable_name(const std::string& symbol) {
  int status = -1;
  const std::unique_ptr<char, decltype(&std::free)> plain{
      may_be_demangled(symbol) ? abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status) : nullptr,
      &std::free};
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

}  // namespace

std::string function_name(const std::string& symbol) {
  static thread_local std::unordered_map<std::string, std::string> kept;
  const auto known = kept.find(symbol);
  if (known != kept.end()) return known->second;
  if (kept.size() >= kMostKept) kept.clear();
  return kept.emplace(symbol, readable_name(symbol).substr(0, kMostName)).first->second;
}

}  // namespace charmtree::io
