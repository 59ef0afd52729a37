// SPDX-License-Identifier: Apache-2.0
// Settings that other launchers take from the environment, or by --mca: the one table of what each means
// here. A setting that is not in it belongs to the MPI library, and goes along to the processes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree::mpiexec {

struct Setting {
  enum class Deed : std::uint8_t {
    word,       // a word of mpiexec, or with its ++ an option of charmrun's; with the value
    flag,       // the same without a value, where the value means yes
    unflag,     // the same, where the value means no
    agent,      // the command that stands for ssh
    arguments,  // further words of that command
    exported,   // variables for all processes, with a ';' between them
    harmless,   // it is so anyway, or about something that charmrun has not got
    unused,     // no effect here, which one line reports
  };
  std::string_view names;  // of variables, or keys of --mca after "mca:"; '*': any text
  Deed deed;
  std::string_view text = "";  // of word and the flags: the word; of unused: what does the same, or nothing
};

/// Returns the row of a variable, or null: it is none of a launcher's.
const Setting* find_setting(std::string_view variable);
/// Returns the row of a key of --mca, or null: the MPI library reads it.
const Setting* find_key(std::string_view key);

/// A setting that the environment has.
struct FoundSetting {
  const Setting* row;
  std::string name, value;
};
/// Returns those of `environment` ("NAME=value") that mean something here, in the order of the table.
std::vector<FoundSetting> found_settings(const std::vector<std::string>& environment);

/// Returns true if the value leaves the setting as it is without it: none, no limit, or what Slurm sets for
/// every job.
bool is_as_without(const Setting& row, std::string_view value);

/// Returns true for "1", "yes" and the like, or false for "0", "no" and the like; for others `otherwise`.
bool says_yes(std::string_view value, bool otherwise);

}  // namespace charmtree::mpiexec
