// SPDX-License-Identifier: Apache-2.0
#include "tree/job/process_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace charmtree::proto {

namespace {

/// Names of one launcher; empty: it has none.
struct Names {
  std::array<std::string_view, 2> rank;
  std::array<std::string_view, 2> size;
  std::array<std::string_view, 2> local_rank;
  std::string_view local_size;
  std::string_view host;
};

/// In the order of EnvLike.
constexpr std::array<Names, 4> kVariableNames = {{
    {{}, {"CHARMTREE_PROCESSES"}, {"CHARMTREE_LOCAL_PROCESS"}, {}, {}},
    {{"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK"},
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {}},
    {{"PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALRANKID"}, "MPI_LOCALNRANKS", {}},
    {{"SLURM_PROCID"}, {"SLURM_NTASKS", "SLURM_NPROCS"}, {"SLURM_LOCALID"}, {}, "SLURM_NODEID"},
}};

}  // namespace

Environment place_variables(wire::EnvLike like, const ProcessPlace& place, std::uint32_t host) {
  Environment variables;
  const auto set = [&](std::string_view name, std::uint32_t value) {
    if (!name.empty()) variables.push_back(fmt::format("{}={}", name, value));
  };
  const auto add = [&](const Names& names) {
    for (const auto name : names.rank) set(name, place.process - place.world.first);
    for (const auto name : names.size) set(name, place.world.size);
    for (const auto name : names.local_rank) set(name, place.rank);
    set(names.local_size, place.count);
    set(names.host, host);
  };
  add(kVariableNames[0]);
  if (like != wire::EnvLike::none) add(kVariableNames.at(static_cast<std::size_t>(like)));
  return variables;
}

std::string expanded(std::string_view argument, std::uint32_t process, std::string_view host) {
  std::string text;
  for (std::size_t i = 0; i < argument.size(); ++i) {
    if (argument[i] != '%' || i + 1 == argument.size()) {
      text += argument[i];
      continue;
    }
    switch (argument[++i]) {
      case 'r':
        text += std::to_string(process);
        break;
      case 'h':
        text += host;
        break;
      case '%':
        text += '%';
        break;
      default:
        text += argument.substr(i - 1, 2);
    }
  }
  return text;
}

Environment staged_variables(const wire::StagedFiles& staged, const std::string& folder,
                             const Environment& environment) {
  constexpr std::string_view kPath = "LD_LIBRARY_PATH=";
  Environment variables{fmt::format("CHARMTREE_STAGED={}/{}", folder, wire::kStagedInputs)};
  const std::string libraries = fmt::format("{}/", wire::kStagedLibraries);
  const bool has_own =
      std::any_of(staged.files.begin(), staged.files.end(),
                  [&](const wire::StagedFile& file) { return file.name.starts_with(libraries); });
  if (!has_own) return variables;
  std::string path = fmt::format("{}{}/{}", kPath, folder, wire::kStagedLibraries);
  for (const std::string& entry : environment) {
    if (entry.starts_with(kPath) && entry.size() > kPath.size()) path += ":" + entry.substr(kPath.size());
  }
  variables.push_back(std::move(path));
  return variables;
}

}  // namespace charmtree::proto
