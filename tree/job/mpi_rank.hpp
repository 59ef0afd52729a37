// SPDX-License-Identifier: Apache-2.0
// Which of mpiexec's processes we are, from the variables by which the many kinds of mpiexec (and srun) say
// it.
#pragma once

#include <cstdint>

#include "tree/base/result.hpp"
#include "tree/job/environment.hpp"

namespace charmtree::proto {

struct MpiRank {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  // 0: not said
  friend bool operator==(const MpiRank&, const MpiRank&) = default;
};

/// The first rank that is set and not empty counts, in Charm++'s order; the size is of its own family, or of
/// another one that gives the same rank (srun with PMIx). Error bad_input: there is none, or one is no
/// number.
Result<MpiRank> mpi_rank(const Environment& environment);

}  // namespace charmtree::proto
