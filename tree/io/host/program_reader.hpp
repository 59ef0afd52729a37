// SPDX-License-Identifier: Apache-2.0
// Reads what kind of program a file is (wire::ProgramTraits) from the constants of an ELF file and of the
// libraries that it needs, directly or through each other; from the text of any other file. Nothing is
// executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/job/program_traits.hpp"

namespace charmtree::io {

/// Which of the libraries that a program needs are looked into, while its own text does not say that it is
/// Charm++. Charm++'s are few, and have names of their own.
enum class Libraries : std::uint8_t { all, charm };

/// Nothing found, if the file cannot be read. Costs about 1 ms for each MB of constants, which are a small
/// part of most programs; libraries are looked into only while the program's own text does not say that it is
/// Charm++, those of the C and C++ compiler never. Whether one of them is MPI's shows by their names, for
/// which only their headers are read.
wire::ProgramTraits read_traits(const std::string& path, Libraries libraries = Libraries::all);

/// Paths of the libraries that a program needs, also of libraries, but for the system's.
std::vector<std::string> needed_libraries(const std::string& path);

/// Those that are not in the system's folders, whatever they are called; of the C library none.
std::vector<std::string> own_libraries(const std::string& path);

}  // namespace charmtree::io
