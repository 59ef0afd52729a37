// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/staged_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "charmrun/plan/program_rules.hpp"
#include "tree/io/digest.hpp"
#include "tree/io/host/program_reader.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;  // their names are part of the job's description
constexpr std::size_t kRead = 1U << 20;   // at a time

Error unreadable(const std::string& path, std::string_view option) {
  return bad_input(fmt::format("++{}: {}: {}", option, path, strerror(errno)));
}

class FileCollector {
public:
  Result<void> add_program(std::string_view program, const Command& arguments, const ProgramFile& file,
                           const std::string& directory);
  Result<void> add_inputs(const std::string& list, const std::string& directory);
  wire::StagedFiles take() { return std::move(staged_); }

private:
  Result<void> add(std::string name, const std::string& source, std::string_view option);
  Result<void> add_folder(const std::string& name, const std::string& path);

  wire::StagedFiles staged_;
};

Result<void> FileCollector::add(std::string name, const std::string& source, std::string_view option) {
  if (staged_.files.size() == kMostFiles)
    return bad_input(fmt::format("++{}: more than {} files", option, kMostFiles), "pack them into one");
  const std::string path = fs::absolute(source).string();  // whoever reads it may be elsewhere
  wire::StagedFile file{std::move(name), path};
  const io::UniqueFd fd{::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat about {};
  if (!fd || ::fstat(fd.get(), &about) != 0) return unreadable(source, option);
  if (!S_ISREG(about.st_mode))
    return bad_input(fmt::format("++{}: {} is no file", option, source), "pipes and devices cannot be sent");
  constexpr mode_t kReadable = 0444, kOwner = 0400, kExecutable = 0111, kOwnExecutable = 0100;
  file.mode = (about.st_mode & kReadable) | kOwner;
  if (::access(path.c_str(), X_OK) == 0) file.mode |= (about.st_mode & kExecutable) | kOwnExecutable;
  file.modified = about.st_mtim.tv_sec;
  io::Digest digest;
  std::string bytes(kRead, '\0');
  ssize_t got = 0;
  while ((got = ::read(fd.get(), bytes.data(), bytes.size())) > 0) {
    digest.add({bytes.data(), static_cast<std::size_t>(got)});
    file.size += static_cast<std::uint64_t>(got);
  }
  if (got < 0) return unreadable(source, option);
  file.digest = digest.end();
  staged_.files.push_back(std::move(file));
  return {};
}

/// Of a Python program its script.
Result<void> FileCollector::add_program(std::string_view program, const Command& arguments,
                                        const ProgramFile& file, const std::string& directory) {
  constexpr std::string_view kOption = "stage-program";
  std::string source = file.path;
  std::uint32_t word = 0;
  if (file.by_python) {
    source = absolute(std::string{program}, directory);
    word = 1;
  } else if (is_python(program)) {
    const auto script = std::find_if(arguments.begin(), arguments.end(), is_python_script);
    if (script == arguments.end())
      return bad_input(fmt::format("++stage-program: {} is not told of any script", program),
                       "name a .py file, or install the rest there");
    source = absolute(*script, directory);
    word = static_cast<std::uint32_t>(script - arguments.begin()) + 1;
  } else if (source.find('/') == std::string::npos) {
    source = io::find_program(source);
    if (source.empty())
      return bad_input(fmt::format("++stage-program: there is no program {} here", program),
                       "say where it is: ./PROGRAM or /PATH/PROGRAM");
  }
  const std::string folder = fmt::format("bin/{}", staged_.programs.size());
  const std::string name = fmt::format("{}/{}", folder, fs::path{source}.filename().string());
  if (auto added = add(name, source, kOption); !added) return added;
  if (word == 0 && !staged_.files.back().is_executable())
    return bad_input(fmt::format("++stage-program: {} cannot be executed", source), "chmod +x makes it so");
  staged_.programs.push_back({name, word});
  for (const std::string& library : io::own_libraries(source)) {
    const std::string place =
        fmt::format("{}/{}", wire::kStagedLibraries, fs::path{library}.filename().string());
    const bool is_there = std::any_of(staged_.files.begin(), staged_.files.end(),
                                      [&](const wire::StagedFile& each) { return each.name == place; });
    if (is_there) continue;
    if (auto added = add(place, library, kOption); !added) return added;
  }
  return {};
}

Result<void> FileCollector::add_folder(const std::string& name, const std::string& path) {
  std::error_code failure;
  std::vector<std::string> found;
  const auto links = fs::directory_options::follow_directory_symlink;
  fs::recursive_directory_iterator it{path, links, failure};
  for (const fs::recursive_directory_iterator end; !failure && it != end && found.size() <= kMostFiles;
       it.increment(failure)) {
    std::error_code dangling;
    const bool is_folder = it->is_directory(dangling);
    if (dangling) return bad_input(fmt::format("++stage: {}: {}", it->path().string(), dangling.message()));
    if (!is_folder) found.push_back(it->path().string());
  }
  if (failure) return bad_input(fmt::format("++stage: {}: {}", path, failure.message()));
  if (found.empty()) return bad_input(fmt::format("++stage: {} has no files", path));
  std::sort(found.begin(), found.end());
  for (const std::string& each : found) {
    if (auto added = add(name + each.substr(path.size()), each, "stage"); !added) return added;
  }
  return {};
}

/// A folder with all that is below it. Names that are one file are not looked into for commas.
Result<void> FileCollector::add_inputs(const std::string& list, const std::string& directory) {
  const bool is_one = ::access(absolute(list, directory).c_str(), F_OK) == 0;
  const std::vector<std::string> paths = is_one ? std::vector<std::string>{list} : split_list(list);
  std::vector<std::string> names;
  for (const std::string& each : paths) {
    const std::string path = fs::path{absolute(each, directory)}.lexically_normal().string();
    const std::string bare = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
    const std::string name = fs::path{bare}.filename().string();
    if (name.empty())
      return bad_input(fmt::format("++stage cannot be '{}'", each), "it takes FILE,FOLDER,...");
    if (std::find(names.begin(), names.end(), name) != names.end())
      return bad_input(fmt::format("++stage: two are called {}", name),
                       "rename one, or put both into a folder");
    names.push_back(name);
    const std::string place = fmt::format("{}/{}", wire::kStagedInputs, name);
    std::error_code ignored;  // add() says what it is
    auto added = fs::is_directory(bare, ignored) ? add_folder(place, bare) : add(place, bare, "stage");
    if (!added) return added;
  }
  return {};
}

}  // namespace

Result<wire::StagedFiles> staged_files(const Options& options, const std::vector<ProgramFile>& programs,
                                       const std::string& directory) {
  FileCollector collector;
  for (std::size_t i = 0; options.process.stage_program && i < programs.size(); ++i) {
    const bool is_first = i == 0;
    const std::string& program = is_first ? options.program : options.further[i - 1].program;
    const Command& arguments = is_first ? options.arguments : options.further[i - 1].arguments;
    if (auto added = collector.add_program(program, arguments, programs[i], directory); !added)
      return added.error();
  }
  if (!options.process.staged.empty()) {
    if (auto added = collector.add_inputs(options.process.staged, directory); !added) return added.error();
  }
  return collector.take();
}

}  // namespace charmtree
