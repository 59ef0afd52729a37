// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/loaded_mpi.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "tree/io/process_tree.hpp"
#include "tree/job/program_traits.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMostProcesses = 64;

/// A line ends with the path of a file, if it is about one.
std::string_view file_in(std::string_view line) {
  const std::size_t slash = line.rfind('/');
  return slash == line.npos ? std::string_view{} : line.substr(slash + 1);
}

}  // namespace

std::string loaded_mpi(pid_t root) {
  std::set<pid_t> processes{root};
  add_descendants(root, {}, processes);
  std::size_t left = kMostProcesses;
  for (const pid_t pid : processes) {
    if (left-- == 0) break;
    const std::string maps = proc_file(pid, "maps");
    for (std::string_view rest = maps; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view file = file_in(rest.substr(0, end));
      if (wire::mpi_of_library(file) != wire::Mpi::none) return std::string{file};
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return {};
}

}  // namespace charmtree::io
