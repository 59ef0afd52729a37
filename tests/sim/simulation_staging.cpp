// SPDX-License-Identifier: Apache-2.0
// The files that a job's hosts get from the root's: each host's cache in memory. What an earlier job has left
// of a file may have come from another one, which shows when it is whole.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/simulation.hpp"
#include "tests/sim/staged_bytes.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {
constexpr Duration kDiskStep = 20us;
}  // namespace

void Simulation::perform(std::uint32_t id, const staging::FindFiles& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  launcher.files = action.files;
  launcher.staged.resize(action.files->files.size());
  staging::FilesFound found;
  for (std::uint32_t i = 0; i < launcher.staged.size(); ++i) {
    const std::uint64_t size = action.files->files[i].size;
    std::string& here = launcher.staged[i];
    if (action.at_root) {
      here = staged_bytes(i, 0, size);
    } else if (here.empty() && settings_.left > 0 && uniform(random_) < settings_.left) {
      here = staged_bytes(uniform(random_) < 0.5 ? i : i + 1, 0, random_.below(size));
    }
    found.held.push_back(here == staged_bytes(i, 0, size) ? size : 0);
  }
  put(now + kDiskStep, ToNode{id, std::move(found)});
}

void Simulation::perform(std::uint32_t id, const staging::WritePiece& action, Duration& now) {
  Launcher& launcher = launchers_[id];
  std::string& here = launcher.staged.at(action.file);
  const std::uint64_t size = launcher.files->files[action.file].size;
  if (!action.bytes.empty() && action.offset != here.size())
    wrong(fmt::format("host {} writes a piece of file {} at {}, where {} bytes are there", launcher.host,
                      action.file, action.offset, here.size()));
  here += action.bytes;
  if (here.size() > size) wrong("more of a file than there is");
  if (here.size() == size && here != staged_bytes(action.file, 0, size)) here.clear();
  put(now + kDiskStep, ToNode{id, staging::FileWritten{action.file, here.size()}});
}

void Simulation::perform(std::uint32_t id, const staging::ReadPiece& action, Duration& now) {
  const std::string& here = launchers_[id].staged.at(action.file);
  const bool is_there = action.offset + action.size <= here.size();  // not if it was wrong, and comes anew
  put(now + kDiskStep,
      ToNode{id, staging::PieceRead{action.link, action.file, action.offset,
                                    is_there ? here.substr(action.offset, action.size) : ""}});
}

void Simulation::perform(std::uint32_t id, const staging::FilesStaged& action, Duration& now) {
  const auto waiting = std::exchange(launchers_[id].waits_for_files, std::nullopt);
  if (!waiting) return;  // the root
  if (!action.error) return make_ready(id, *waiting, now);
  Prepared failed;
  failed.ok = false;
  failed.error = *action.error;
  put(now, ToNode{id, std::move(failed)});
}

}  // namespace charmtree::sim
