// SPDX-License-Identifier: Apache-2.0
// Texts lie in the sections of constants. Without sections: in segments that are neither written nor, with
// today's linkers, executed; older ones put them beside the code. Libraries are found where the loader would
// find them, but for its cache: the folders of the file itself, LD_LIBRARY_PATH, and the usual ones.
#include "tree/io/host/program_reader.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <set>

#include "tree/io/elf_file.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kPiece = 256U << 10;
constexpr std::uint64_t kMostText = 256U << 20;  // of one file's constants
constexpr std::size_t kMostLibraries = 256;      // of one program
constexpr std::size_t kMostScript = 4U << 20;

using wire::TraitSearch;

template <std::size_t kCount>
bool begins_with_any(std::string_view name, const std::array<std::string_view, kCount>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto each) { return name.starts_with(each); });
}

/// Of the system and of compilers: Charm++ is in none of them.
bool is_system_library(std::string_view name) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "libc.",      "libm.",     "libdl.",   "librt.",       "libpthread.",
      "libstdc++.", "libgcc_s.", "ld-linux", "libquadmath.", "libgfortran.",
      "libz.",      "libutil.",  "libnuma.", "libhwloc.",    "libcrypto."};
  return begins_with_any(name, kNames);
}

/// Of the C library, all of which is one with the loader.
bool is_libc(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libutil.", "libresolv.", "ld-linux"};
  return begins_with_any(name, kNames);
}

bool is_in_system(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kFolders = {"/lib/", "/lib64/", "/usr/lib/",
                                                               "/usr/lib64/"};
  return begins_with_any(path, kFolders);
}

bool is_charm_library(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  static constexpr std::array<std::string_view, 4> kNames = {"libck", "libconv-", "libcharm", "libampi"};
  return begins_with_any(name, kNames);
}

void search(const ElfFile& file, ElfFile::Range where, TraitSearch& texts) {
  texts.interrupt();
  const std::uint64_t size = std::min(where.size, kMostText);
  for (std::uint64_t at = 0; at < size;) {
    const std::string piece =
        file.read(where.offset + at, static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - at)));
    if (piece.empty()) break;
    texts.feed(piece);
    at += piece.size();
  }
}

void search_segments(const ElfFile& file, TraitSearch& texts, bool executable) {
  for (const ElfFile::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_W) != 0) continue;
    if (((segment.flags & PF_X) != 0) == executable) search(file, {segment.offset, segment.size}, texts);
  }
}

void search_all(const ElfFile& file, TraitSearch& texts) {
  const std::vector<ElfFile::Range> constants = file.constants();
  for (const ElfFile::Range& range : constants) search(file, range, texts);
  if (!constants.empty()) return;
  search_segments(file, texts, false);
  if (!texts.found().charm()) search_segments(file, texts, true);
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Where the loader would look for what the file at `path` needs.
std::vector<std::string> folders_for(const std::string& path, const std::string& own_folders) {
  const std::size_t slash = path.rfind('/');
  const std::string here = slash == std::string::npos ? "." : path.substr(0, slash);
  std::vector<std::string> folders = split_list(own_folders, ':');
  for (std::string& folder : folders) folder = replaced(replaced(folder, "$ORIGIN", here), "${ORIGIN}", here);
  const char* more = std::getenv("LD_LIBRARY_PATH");
  for (std::string& folder : split_list(more == nullptr ? "" : more, ':'))
    folders.push_back(std::move(folder));
  for (const char* usual : {"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"})
    folders.emplace_back(usual);
#ifdef __x86_64__
  for (const char* usual : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"})
    folders.emplace_back(usual);
#endif
  return folders;
}

struct Library {
  std::string path;
  ElfFile file;
};

std::optional<Library> find_library(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) {
    auto file = ElfFile::open(name);
    return file ? std::optional<Library>{{name, std::move(*file)}} : std::nullopt;
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (auto file = ElfFile::open(path)) return Library{path, std::move(*file)};
  }
  return {};
}

/// The libraries of a program that count, also those of libraries: breadth first, each name once. `look`: at
/// one that has been found; false: at no more.
template <class Counts, class Look>
void walk_libraries(const std::string& path, const ElfFile& program, const Counts& counts, const Look& look) {
  struct Wanted {
    std::string name;
    std::vector<std::string> folders;
  };
  std::deque<Wanted> wanted;
  std::set<std::string> seen;
  const auto want = [&](const std::string& from, const ElfFile& file) {
    const ElfFile::Libraries libraries = file.libraries();
    for (const std::string& name : libraries.names) {
      if (!counts(name)) continue;
      if (seen.size() >= kMostLibraries || !seen.insert(name).second) continue;
      wanted.push_back({name, folders_for(from, libraries.folders)});
    }
  };
  for (want(path, program); !wanted.empty(); wanted.pop_front()) {
    const auto library = find_library(wanted.front().name, wanted.front().folders);
    if (!library) continue;
    look(*library);
    want(library->path, library->file);
  }
}

void search_libraries(const std::string& path, const ElfFile& program, Libraries which, TraitSearch& texts) {
  walk_libraries(
      path, program,
      [which](const std::string& name) {
        return !is_system_library(name) && (which == Libraries::all || is_charm_library(name));
      },
      [&texts](const Library& library) { search_all(library.file, texts); });
}

std::string_view without_folder(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// By the names of what it needs alone, so that no constants are read.
void note_mpi(const std::string& path, const ElfFile& program, wire::ProgramTraits& found) {
  walk_libraries(
      path, program,
      [&found](const std::string& name) {
        if (is_system_library(name)) return false;
        const wire::Mpi mpi = wire::mpi_of_library(without_folder(name));
        found.mpich = found.mpich || mpi == wire::Mpi::mpich;
        found.open_mpi = found.open_mpi || mpi == wire::Mpi::open_mpi;
        found.mpi = found.mpi || mpi == wire::Mpi::unknown;
        return mpi == wire::Mpi::none && found.by_mpi() == wire::Mpi::none;
      },
      [](const Library&) {});
}

/// Returns whether the program, or a library of its own that it needs, calls MPI_Comm_spawn.
bool calls_spawn(const std::string& path, const ElfFile& program) {
  bool found = wire::names_spawn(program.dynamic_names());
  walk_libraries(
      path, program,
      [&found](const std::string& name) {
        return !found && !is_system_library(name) &&
               wire::mpi_of_library(without_folder(name)) == wire::Mpi::none;
      },
      [&found](const Library& library) { found = found || wire::names_spawn(library.file.dynamic_names()); });
  return found;
}

/// By its name, or the interpreter that it asks for.
bool is_python_script(const std::string& path, std::string_view text) {
  if (path.ends_with(".py")) return true;
  return text.starts_with("#!") && text.substr(0, text.find('\n')).find("python") != text.npos;
}

}  // namespace

wire::ProgramTraits read_traits(const std::string& path, Libraries libraries) {
  TraitSearch texts;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const auto program = ElfFile::open(path);
  if (!program) {
    wire::ProgramTraits found;
    if (const auto text = read_file(path, kMostScript)) {
      texts.feed(*text);
      found.mpi = is_python_script(path, *text) && wire::imports_mpi4py(*text);
      found.spawns = found.mpi && wire::script_spawns(*text);
    }
    found.charm4py = texts.found().charm4py;  // what it says of Charm++ is about programs, not itself
    return found;
  }
  search_all(*program, texts);
  if (!texts.found().charm()) search_libraries(path, *program, libraries, texts);
  wire::ProgramTraits found = texts.found();
  found.elf = true;
  if (found.by_mpi() == wire::Mpi::none) note_mpi(path, *program, found);
  if (found.by_mpi() != wire::Mpi::none) found.spawns = calls_spawn(path, *program);
  return found;
}

namespace {

template <class Counts>
std::vector<std::string> libraries_of(const std::string& path, const Counts& counts) {
  std::vector<std::string> paths;
  if (const auto program = ElfFile::open(path))
    walk_libraries(path, *program, counts,
                   [&paths](const Library& library) { paths.push_back(library.path); });
  return paths;
}

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  return libraries_of(path, [](const std::string& name) { return !is_system_library(name); });
}

std::vector<std::string> own_libraries(const std::string& path) {
  std::vector<std::string> paths = libraries_of(path, [](const std::string& name) { return !is_libc(name); });
  std::erase_if(paths, is_in_system);
  return paths;
}

}  // namespace charmtree::io
