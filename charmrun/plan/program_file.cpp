// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/program_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "charmrun/plan/program_rules.hpp"
#include "tree/io/host/program_reader.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree {

namespace {

constexpr std::string_view kScript = ".py";

/// The first script among the words of a command of python; empty if there is none (-m, -c).
std::string script_of(const Options& options) {
  const auto& words = options.arguments;
  const auto script = std::find_if(words.begin(), words.end(),
                                   [](const std::string& word) { return word.ends_with(kScript); });
  return script == words.end() ? std::string{} : *script;
}

/// `python3 -c "from mpi4py import MPI; ..."`, `python3 -m mpi4py.bench`.
bool names_mpi4py(const Options& options) {
  const auto& words = options.arguments;
  for (std::size_t i = 0; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i] == "-c") return wire::imports_mpi4py(words[i + 1]);
    if (words[i] == "-m") return words[i + 1] == "mpi4py" || words[i + 1].starts_with("mpi4py.");
    if (words[i] == "-W" || words[i] == "-X") ++i;
  }
  return false;
}

}  // namespace

std::string absolute(const std::string& path, const std::string& directory) {
  return path.starts_with('/') ? path : directory + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

ProgramFile program_file(const Options& options, const std::string& directory) {
  const std::string& program = options.program;
  const std::string here = absolute(program, directory);
  const bool executable = is_file(here) && ::access(here.c_str(), X_OK) == 0;
  if (program.ends_with(kScript) && is_file(here) && !executable) return {std::string{kPython}, true};
  const bool named = program.find('/') == std::string::npos;
  return {named && !executable ? program : here, false};
}

wire::ProgramTraits program_traits(const Options& options, const std::string& directory,
                                   io::Libraries libraries) {
  if (is_python(options.program)) {
    const std::string script = script_of(options);
    wire::ProgramTraits found;
    if (!script.empty()) found = io::read_traits(absolute(script, directory));
    found.mpi = found.mpi || names_mpi4py(options);
    return found;
  }
  const ProgramFile file = program_file(options, directory);
  if (file.by_python) return io::read_traits(absolute(options.program, directory));
  return io::read_traits(file.path.starts_with('/') ? file.path : io::find_program(file.path), libraries);
}

}  // namespace charmtree
