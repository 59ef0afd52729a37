// SPDX-License-Identifier: Apache-2.0
#include "tree/io/stacks/python_stack.hpp"

#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace charmtree::io {

namespace {

using Address = std::uint64_t;

/// Where members are (Include/internal/pycore_*.h, Include/cpython/*.h of each version); 0: it says so
/// itself.
struct Layout {
  unsigned minor;
  unsigned main_interpreter;        // of _PyRuntime
  unsigned first_thread;            // of an interpreter; the newest thread
  unsigned next_thread = 8, frame;  // of a thread
  unsigned frame_in_c_frame;        // of what `frame` is there: that of a thread points to one of these
  bool has_c_frame;
  unsigned previous, code;   // of a frame
  unsigned owner;            // who keeps it; 0: frames are objects
  char first_foreign_owner;  // from here on it stands for C code
  unsigned file, name;       // of a code object
  unsigned text;             // of a string: its characters, if all are ASCII
  unsigned ascii_bit;        // of its state
};

constexpr std::array kLayouts{
    Layout{8, 32, 8, 8, 24, 0, false, 24, 32, 0, 0, 104, 112, 48, 6},
    Layout{9, 32, 8, 8, 24, 0, false, 24, 32, 0, 0, 104, 112, 48, 6},
    Layout{10, 32, 8, 8, 24, 0, false, 24, 32, 0, 0, 104, 112, 48, 6},
    Layout{11, 40, 16, 8, 56, 8, true, 48, 32, 69, 4, 112, 128, 48, 6},
    Layout{12, 40, 72, 8, 56, 0, true, 8, 0, 70, 3, 112, 128, 40, 6},
    Layout{13, 0, 0, 8, 72, 0, false, 8, 0, 70, 3, 112, 128, 40, 6},
    Layout{14, 0, 0, 8, 72, 0, false, 8, 0, 74, 3, 112, 128, 40, 20},
};
constexpr unsigned kLength = 16, kState = 32;  // of a string
/// From 3.13 on _PyRuntime begins with what tools need to know (_Py_DebugOffsets).
constexpr std::string_view kCookie = "xdebugpy";
constexpr unsigned kFreeThreaded = 16, kMainInterpreterAt = 40, kFirstThreadAt = 72;

constexpr std::size_t kMostText = 200, kMostThreads = 10'000, kMostFrames = 1000;

class Memory {
public:
  explicit Memory(pid_t pid) : pid_(pid) {}

  template <class T>
  T get(Address at) {
    T value{};
    read(at, &value, sizeof value);
    return value;
  }
  std::string bytes(Address at, std::size_t size) {
    std::string text(size, '\0');
    read(at, text.data(), size);
    return text;
  }
  bool ok() const { return ok_; }

private:
  void read(Address at, void* to, std::size_t size) {
    const iovec here{to, size},
        there{reinterpret_cast<void*>(at), size};  // NOLINT(performance-no-int-to-ptr)
    ok_ = ok_ && ::process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
  }

  pid_t pid_;
  bool ok_ = true;
};

std::string text_of(Memory& memory, Address object, const Layout& layout) {
  const auto length = memory.get<std::uint64_t>(object + kLength);
  const bool is_ascii = (memory.get<std::uint32_t>(object + kState) >> layout.ascii_bit & 1U) != 0;
  if (!memory.ok() || !is_ascii || length == 0) return "?";
  const std::size_t left_out = length > kMostText ? length - kMostText : 0;  // the end of a path says more
  return memory.bytes(object + layout.text + left_out, length - left_out);
}

std::string function_of(Memory& memory, Address code, const Layout& layout) {
  const std::string name = text_of(memory, memory.get<Address>(code + layout.name), layout);
  const std::string file = text_of(memory, memory.get<Address>(code + layout.file), layout);
  return fmt::format("{} ({})", name, std::string_view{file}.substr(file.rfind('/') + 1));
}

/// "python3.9", "libpython3.9.so.1.0".
unsigned minor_in(std::string_view path) {
  constexpr std::string_view kBeginning = "python3.";
  const std::size_t at = path.rfind(kBeginning);
  if (at == std::string_view::npos) return 0;
  return static_cast<unsigned>(
      std::strtoul(std::string{path.substr(at + kBeginning.size())}.c_str(), nullptr, 10));
}

}  // namespace

std::optional<PythonRuntime> find_python(pid_t pid, Dwfl_Module* module) {
  Address runtime = 0, version = 0;
  const int symbols = dwfl_module_getsymtab(module);
  for (int i = 1; i < symbols; ++i) {
    GElf_Sym symbol{};
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr) continue;
    if (std::string_view{name} == "_PyRuntime") runtime = address;
    if (std::string_view{name} == "Py_Version") version = address;
  }
  if (runtime == 0) return {};
  if (version != 0) {  // from 3.11 on: 0x030b02f0
    Memory memory{pid};
    const auto number = memory.get<std::uint64_t>(version);
    return memory.ok() && number >> 24 == 3
               ? std::optional{PythonRuntime{runtime, static_cast<unsigned>(number >> 16 & 0xFFU)}}
               : std::nullopt;
  }
  const char* file = nullptr;
  const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &file, nullptr);
  return PythonRuntime{
      runtime, std::max(minor_in(file != nullptr ? file : ""), minor_in(name != nullptr ? name : ""))};
}

/// The oldest thread is the last in the list: the main one.
stacks::Frames python_frames(pid_t pid, const PythonRuntime& runtime) {
  const auto known = std::find_if(kLayouts.begin(), kLayouts.end(),
                                  [&](const Layout& each) { return each.minor == runtime.minor; });
  if (known == kLayouts.end()) return {};
  Layout layout = *known;
  Memory memory{pid};
  if (layout.main_interpreter == 0) {
    if (memory.bytes(runtime.address, kCookie.size()) != kCookie ||
        memory.get<std::uint64_t>(runtime.address + kFreeThreaded) != 0)
      return {};
    layout.main_interpreter =
        static_cast<unsigned>(memory.get<std::uint64_t>(runtime.address + kMainInterpreterAt));
    layout.first_thread = static_cast<unsigned>(memory.get<std::uint64_t>(runtime.address + kFirstThreadAt));
  }
  auto interpreter = memory.get<Address>(runtime.address + layout.main_interpreter);
  auto thread = memory.get<Address>(interpreter + layout.first_thread);
  for (std::size_t i = 0; i < kMostThreads; ++i) {
    const auto next = memory.get<Address>(thread + layout.next_thread);
    if (!memory.ok() || next == 0) break;
    thread = next;
  }
  auto frame = memory.get<Address>(thread + layout.frame);
  if (layout.has_c_frame) frame = memory.get<Address>(frame + layout.frame_in_c_frame);
  stacks::Frames frames;
  while (memory.ok() && frame != 0 && frames.size() < kMostFrames) {
    constexpr Address kTags = 3;  // of references, from 3.14 on
    const Address code = memory.get<Address>(frame + layout.code) & ~kTags;
    const bool is_foreign =
        layout.owner != 0 && memory.get<char>(frame + layout.owner) >= layout.first_foreign_owner;
    std::string function = is_foreign ? std::string{} : function_of(memory, code, layout);
    if (!memory.ok()) break;
    if (!is_foreign) frames.push_back(std::move(function));
    frame = memory.get<Address>(frame + layout.previous);
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace charmtree::io
