// SPDX-License-Identifier: Apache-2.0
#include "charmrun/debug/mpir.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "charmrun/debug/mpir_symbols.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/spawn.hpp"

namespace charmtree {

namespace {

std::vector<MPIR_PROCDESC>& table() {
  static std::vector<MPIR_PROCDESC> all;
  return all;
}

/// A tool may look at any time: what it is told of is there before, and until after.
void make_room(std::size_t size) {
  if (size <= table().size()) return;
  std::vector<MPIR_PROCDESC> larger{table()};
  larger.resize(size, {"", "", 0});
  MPIR_proctable = larger.data();
  std::swap(table(), larger);
  MPIR_proctable_size = static_cast<int>(size);
}

/// Tools open it to read its symbols; a program that is looked for in PATH is on most hosts where it is here.
std::string path_of(const std::string& program) {
  io::SpawnRequest request;
  request.program = program;
  if (const char* path = std::getenv("PATH")) request.environment.push_back(std::string{"PATH="} + path);
  const auto file = io::file_to_execute(request);
  return file ? *file : program;
}

/// The words in it, each with a NUL behind it; none that is empty.
template <std::size_t kSize>
std::vector<std::string> words_in(const volatile char (&memory)[kSize]) {
  std::vector<std::string> words;
  std::string word;
  for (const volatile char& each : memory) {
    const char byte = each;
    if (byte != '\0')
      word += byte;
    else if (word.empty())
      break;
    else
      words.push_back(std::exchange(word, {}));
  }
  return words;
}

}  // namespace

bool is_debugged() {
  return MPIR_being_debugged != 0 || io::tracer_of(::getpid()) != 0;
}

Mpir::Mpir(bool held) : id_(std::to_string(::getpid())), held_(held) {
  totalview_jobid = id_.c_str();
}

Mpir::~Mpir() {
  MPIR_proctable_size = 0;
  totalview_jobid = nullptr;
}

const char* Mpir::file(const std::string& program) {
  const auto [at, is_new] = files_.try_emplace(program, nullptr);
  if (is_new) at->second = keep(path_of(program));
  return at->second;
}

void Mpir::add(const proto::ProcessesKnown& known, std::span<const Host> hosts) {
  std::size_t size = known.job->processes;
  for (const wire::ProcessIds& told : known.ids) size = std::max(size, told.first + told.ids.size());
  make_room(size);
  hosts_.resize(std::max(hosts_.size(), size));
  for (const wire::ProcessIds& told : known.ids) {
    const Host& host = hosts[told.host];
    MPIR_PROCDESC row{keep(host.name), "", 0};
    const std::string* last = nullptr;
    for (std::uint32_t i = 0; i < told.ids.size(); ++i) {
      const std::string& program = known.job->file_of(host, told.first + i);
      if (std::exchange(last, &program) != &program) row.executable_name = file(program);
      row.pid = static_cast<int>(told.ids[i]);
      table()[told.first + i] = row;
      hosts_[told.first + i] = told.host;
    }
  }
  if (known.all && !held_) stop();
}

std::vector<ProcessPlace> Mpir::places_of(std::span<const wire::ProcessSet::Range> which) const {
  std::vector<ProcessPlace> places;
  std::set<std::uint32_t> seen;
  for (const auto& [first, last] : which) {
    for (std::uint64_t process = first; process <= last && process < hosts_.size(); ++process) {
      const MPIR_PROCDESC& row = table()[process];
      if (row.pid != 0 && seen.insert(hosts_[process]).second)
        places.push_back({static_cast<std::uint32_t>(process), row.host_name, row.pid});
    }
  }
  return places;
}

void Mpir::stop() {
  MPIR_debug_state = MPIR_DEBUG_SPAWNED;
  MPIR_Breakpoint();
}

std::optional<std::vector<std::string>> Mpir::take_daemon() {
  std::vector<std::string> words = words_in(MPIR_executable_path);
  if (words.empty()) return std::nullopt;
  words.resize(1);
  for (std::string& argument : words_in(MPIR_server_arguments)) words.push_back(std::move(argument));
  MPIR_executable_path[0] = '\0';
  MPIR_server_arguments[0] = '\0';
  return words;
}

}  // namespace charmtree
