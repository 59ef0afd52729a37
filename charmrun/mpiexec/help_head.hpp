// SPDX-License-Identifier: Apache-2.0
// What `mpiexec --help` prints above the list of options.
#pragma once

#include <string_view>

namespace charmtree::mpiexec {

inline constexpr std::string_view kHelpHead =
    R"(charmrun under the name mpiexec or mpirun starts MPI programs of MPICH, Intel MPI
and Open MPI, over ssh, as their own launchers do:

  mpiexec -n 4 ./app                    4 processes on this machine
  mpiexec -n 64 -f hosts ./app          64 on the hosts in the file `hosts`
  mpiexec -hosts a,b -ppn 2 ./app       2 on each of two hosts
  mpiexec -n 2 ./a : -n 6 ./b           2 of one program and 6 of another

Options stand in front of the program, with one dash or two; all of charmrun's own
(++verbose, ++dashboard, ...: charmrun ++help) may be given as well.

)";

}  // namespace charmtree::mpiexec
