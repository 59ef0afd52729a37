// SPDX-License-Identifier: Apache-2.0
// The program as the root sees it: which file it is, how it is started, and what kind of program.
#pragma once

#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/hosts/nodelist.hpp"
#include "tree/io/host/program_reader.hpp"
#include "tree/job/program_traits.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree {

inline constexpr std::string_view kPython = "python3";

struct ProgramFile {
  /// Absolute, or a name that every host looks up in its PATH: the program, or python3.
  std::string path;
  /// The program is an argument of python3: a .py file that cannot be executed itself.
  bool by_python = false;
};

/// `directory` is the working directory. A name without a slash is a file of that directory if there is one
/// that can be executed (or is a .py file), else every host looks it up in its PATH.
ProgramFile program_file(const std::string& program, const std::string& directory);

/// Of the file, or of the script if it is python that runs one; of several programs, what any of them is.
/// Nothing where the file is not to be seen here.
wire::ProgramTraits program_traits(const Options& options, const std::string& directory,
                                   io::Libraries libraries = io::Libraries::all);

/// Returns lines about programs of the job that are not on this machine either.
std::vector<std::string> missing_here(const Options& options);

/// Of each of the job's programs, in their order; none if no program was named.
std::vector<ProgramFile> program_files(const Options& options, const std::string& directory);

/// Of the profile of hosts with these options: what is executed there. Error bad_input as apply_pathfix.
Result<void> set_programs(const std::vector<ProgramFile>& files, const HostOptions& host, Profile& profile);

/// Of a job that has its number of processes: the words of its programs, and whose each process is.
void describe_programs(const Options& options, const std::vector<ProgramFile>& files, wire::JobSpec& job);

/// `path` as seen from `directory`.
std::string absolute(const std::string& path, const std::string& directory);

/// By its name.
bool is_python_script(const std::string& word);

/// True for what exists and is no directory.
bool is_file(const std::string& path);

}  // namespace charmtree
