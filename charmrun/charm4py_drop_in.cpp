// SPDX-License-Identifier: Apache-2.0
#include "charmrun/charm4py_drop_in.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "charmrun/machinery.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSelf = "/proc/self/exe";
constexpr const char* kKept = ".charm4py";  // behind the name of what we replace

Error failed(const fs::path& file, const std::error_code& error) {
  return {Errc::bad_input, Phase::options, fmt::format("{}: {}", file.string(), error.message()),
          "whoever installed charm4py there can do it"};
}

/// The charmrun of the charm4py that is installed in this Python environment (a folder with lib/python3.N).
/// Error bad_input (phase options): there is none.
Result<fs::path> charm4py_launcher(const fs::path& environment) {
  std::error_code ignored;
  for (const char* library : {"lib", "lib64"}) {
    for (fs::directory_iterator version(environment / library, ignored), end; version != end;
         version.increment(ignored)) {
      if (!version->path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path found = version->path() / packages / "charmrun" / "charmrun";
        if (fs::exists(fs::symlink_status(found, ignored)) &&
            fs::exists(version->path() / packages / "charm4py", ignored))
          return found;
      }
    }
  }
  return Error{Errc::bad_input, Phase::options,
               fmt::format("there is no charm4py in {}", environment.string()),
               "name the environment that has it, such as ~/venv, behind the option"};
}

bool is_ours(const fs::path& launcher) {
  std::error_code ignored;
  return fs::is_symlink(launcher, ignored) && fs::equivalent(launcher, kSelf, ignored);
}

/// At every moment one of the two is there; of two who do this at a time, none keeps the other's link.
Result<void> replace(const fs::path& launcher) {
  const fs::path self = fs::read_symlink(kSelf), kept = launcher.string() + kKept;
  const std::string own_name = fmt::format("{}.{}", launcher.string(), ::getpid());
  const fs::path old = own_name + ".old", fresh = own_name + ".new";
  std::error_code error, ignored;
  fs::create_hard_link(launcher, old, error);
  if (error) return failed(launcher, error);
  const bool is_link = fs::is_symlink(old, ignored);
  if (is_link && fs::exists(fs::symlink_status(kept, ignored)))
    fs::remove(old, ignored);  // a link to another charmrun of ours
  else
    fs::rename(old, kept, error);
  if (!error) fs::create_symlink(self, fresh, error);
  if (!error) fs::rename(fresh, launcher, error);
  if (error) return failed(launcher, error);
  return {};
}

Result<std::string> change(const Options& options) {
  const fs::path self = fs::read_symlink(kSelf);
  const auto launcher = charm4py_launcher(options.program.empty() ? self.parent_path().parent_path()
                                                                  : fs::path(options.program));
  if (!launcher) return launcher.error();
  const std::string shown = launcher->string();
  if (options.mode == Mode::replace_charm4py) {
    if (is_ours(*launcher)) return fmt::format("{} is a link to this charmrun already", shown);
    if (const auto done = replace(*launcher); !done) return done.error();
    return fmt::format("{} is a link to {} now; ++restore-charm4py takes it away", shown, self.string());
  }
  const fs::path kept = shown + kKept;
  std::error_code error;
  if (!fs::is_symlink(*launcher, error) || !fs::exists(fs::symlink_status(kept, error)))
    return fmt::format("{} is charm4py's own", shown);
  fs::rename(kept, *launcher, error);
  if (error) return failed(*launcher, error);
  return fmt::format("{} is charm4py's own again", shown);
}

}  // namespace

int change_charm4py(const Options& options) {
  const auto told = change(options);
  if (!told) return complain(told.error()), kLauncherFailed;
  print_own_line(proto::Tone::info, *told);
  return 0;
}

}  // namespace charmtree
