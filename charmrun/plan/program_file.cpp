// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/program_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include "charmrun/plan/launcher_path.hpp"
#include "charmrun/plan/program_rules.hpp"
#include "tree/io/host/program_reader.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

constexpr std::string_view kScript = ".py";

/// The first script among the words of a command of python; empty if there is none (-m, -c).
std::string script_of(const Command& words) {
  const auto script = std::find_if(words.begin(), words.end(), is_python_script);
  return script == words.end() ? std::string{} : *script;
}

/// Notes what `python3 -c "from mpi4py import MPI; ..."` and `python3 -m mpi4py.bench` show.
void note_mpi4py(const Command& words, wire::ProgramTraits& found) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
    const std::string& next = words[i + 1];
    const bool is_text = words[i] == "-c";
    if (is_text || words[i] == "-m") {
      const bool mpi = is_text ? wire::imports_mpi4py(next) : next == "mpi4py" || next.starts_with("mpi4py.");
      found.mpi = found.mpi || mpi;
      found.spawns = found.spawns || (mpi && wire::script_spawns(next));
      return;
    }
    if (words[i] == "-W" || words[i] == "-X") ++i;
  }
}

}  // namespace

std::string absolute(const std::string& path, const std::string& directory) {
  return path.starts_with('/') ? path : directory + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

bool is_python_script(const std::string& word) {
  return word.ends_with(kScript);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

ProgramFile program_file(const std::string& program, const std::string& directory) {
  const std::string here = absolute(program, directory);
  const bool executable = is_file(here) && ::access(here.c_str(), X_OK) == 0;
  if (is_python_script(program) && is_file(here) && !executable) return {std::string{kPython}, true};
  const bool named = program.find('/') == std::string::npos;
  return {named && !executable ? program : here, false};
}

namespace {

wire::ProgramTraits traits_of(const std::string& program, const Command& arguments,
                              const std::string& directory, io::Libraries libraries) {
  if (is_python(program)) {
    const std::string script = script_of(arguments);
    wire::ProgramTraits found;
    if (!script.empty()) found = io::read_traits(absolute(script, directory));
    note_mpi4py(arguments, found);
    return found;
  }
  const ProgramFile file = program_file(program, directory);
  if (file.by_python) return io::read_traits(absolute(program, directory));
  return io::read_traits(file.path.starts_with('/') ? file.path : io::find_program(file.path), libraries);
}

}  // namespace

std::vector<std::string> missing_here(const Options& options) {
  const std::string wanted = options.process.directory;
  const std::string directory = wanted.empty() ? own_directory() : absolute(wanted, own_directory());
  std::vector<std::string> lines;
  const auto look_for = [&](const std::string& program) {
    const ProgramFile file = program_file(program, directory);
    const bool is_here =
        file.path.find('/') == std::string::npos ? !io::find_program(file.path).empty() : is_file(file.path);
    if (!is_here)
      lines.push_back(fmt::format("{} is not here either: is the name right?", quotable(program)));
  };
  look_for(options.program);
  for (const FurtherCommand& each : options.further) look_for(each.program);
  return lines;
}

wire::ProgramTraits program_traits(const Options& options, const std::string& directory,
                                   io::Libraries libraries) {
  wire::ProgramTraits found = traits_of(options.program, options.arguments, directory, libraries);
  for (const FurtherCommand& each : options.further)
    found |= traits_of(each.program, each.arguments, directory, libraries);
  return found;
}

namespace {

Result<std::string> path_on(const HostOptions& host, const ProgramFile& program) {
  const bool is_name = program.path.find('/') == std::string::npos;
  auto path = is_name ? Result<std::string>{program.path} : apply_pathfix(program.path, host.path_fixes);
  if (path && !program.by_python) *path += host.ext;
  return path;
}

Command command_words(const ProgramFile& file, const std::string& program, const Command& arguments) {
  Command words{program};
  if (file.by_python) words.insert(words.begin(), std::string{kPython});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

std::vector<ProgramFile> program_files(const Options& options, const std::string& directory) {
  std::vector<ProgramFile> files;
  if (options.program.empty()) return files;
  files.push_back(program_file(options.program, directory));
  for (const FurtherCommand& each : options.further) files.push_back(program_file(each.program, directory));
  return files;
}

Result<void> set_programs(const std::vector<ProgramFile>& files, const HostOptions& host, Profile& profile) {
  for (const ProgramFile& file : files) {
    auto path = path_on(host, file);
    if (!path) return path.error();
    if (&file == &files.front())
      profile.program = std::move(*path);
    else
      profile.further_programs.push_back(std::move(*path));
  }
  return {};
}

/// ++plan counts hosts, and gives no process to a program.
void describe_programs(const Options& options, const std::vector<ProgramFile>& files, wire::JobSpec& job) {
  job.arguments = {options.program};
  if (!files.empty()) job.arguments = command_words(files[0], options.program, options.arguments);
  if (options.mode == Mode::session) job.arguments = {"(session)"};  // what ++list shows
  if (options.mode == Mode::plan) return;
  std::uint32_t first = job.processes;
  for (const FurtherCommand& each : options.further) first -= each.processes;
  for (std::size_t i = 0; i < options.further.size(); ++i) {
    const FurtherCommand& each = options.further[i];
    job.spawn.further.push_back(
        {first, command_words(files[i + 1], each.program, each.arguments), each.variables.all});
    first += each.processes;
  }
}

}  // namespace charmtree
