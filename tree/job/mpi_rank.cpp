// SPDX-License-Identifier: Apache-2.0
#include "tree/job/mpi_rank.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

namespace charmtree::proto {

namespace {

/// Open MPI, MVAPICH, hydra and whatever speaks PMI-1, older PMI-2, PMIx, IBM's POE, Flux, Slurm.
struct Family {
  std::string_view rank;
  std::array<std::string_view, 2> sizes;
};
constexpr std::array<Family, 8> kFamilies = {{
    {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}},
    {"MPIRUN_RANK", {"MPIRUN_NPROCS"}},
    {"PMI_RANK", {"PMI_SIZE"}},
    {"PMI_ID", {"PMI_SIZE"}},
    {"PMIX_RANK", {}},
    {"MP_CHILD", {"MP_PROCS"}},
    {"FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}},
    {"SLURM_PROCID", {"SLURM_NTASKS", "SLURM_NPROCS"}},
}};

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return {};
  return value;
}

Error no_number(std::string_view name, std::string_view value) {
  return {Errc::bad_input, Phase::hello, fmt::format("{} is '{}', which is no number", name, value)};
}

}  // namespace

Result<MpiRank> mpi_rank(const Environment& environment) {
  std::optional<std::uint32_t> rank;
  for (const Family& family : kFamilies) {
    const std::string_view text = value_of(environment, family.rank);
    if (text.empty()) continue;
    const auto found = number(text);
    if (!found && !rank) return no_number(family.rank, text);
    if (!rank) rank = found;
    if (rank != found) continue;
    for (const std::string_view name : family.sizes) {
      const std::string_view size = name.empty() ? name : value_of(environment, name);
      if (size.empty()) continue;
      const auto processes = number(size);
      if (!processes || *processes == 0) return no_number(name, size);
      return MpiRank{*rank, *processes};
    }
  }
  if (rank) return MpiRank{*rank, 0};
  return Error{Errc::bad_input, Phase::hello,
               "no variable says which process this is (OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, "
               "SLURM_PROCID, ...)"};
}

}  // namespace charmtree::proto
