// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/rootless_jobs.hpp"

#include <algorithm>
#include <string>

#include "charmrun/control/control_socket.hpp"
#include "charmrun/plan/attach.hpp"
#include "charmrun/plan/tree_file.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::control {

std::vector<RootlessJob> rootless_jobs(const RunningJobs& running) {
  const std::vector<std::string>& answers = running.answers;
  std::vector<RootlessJob> jobs;
  const std::string folder = tree_folder();
  for (const std::string& id : kept_trees(folder)) {
    const bool answered = std::any_of(answers.begin(), answers.end(),
                                      [&](const std::string& answer) { return id_of(answer) == id; });
    if (answered) continue;
    const auto tree = read_tree(folder, id);
    if (!tree) continue;
    const RootlessJob job{id, tree->root_at, tree->plan.job.loss.keep_alive, last_seen(folder, id),
                          is_held_here(id)};
    if (job.is_forgotten(io::wall_ms()))
      remove_tree(folder, id);
    else
      jobs.push_back(job);
  }
  for (const std::string& id : running.silent) {
    const auto is_there = [&](const RootlessJob& job) { return job.id == id; };
    if (std::none_of(jobs.begin(), jobs.end(), is_there))
      jobs.push_back({id, io::own_host_name(), {}, io::wall_ms(), true});
  }
  return jobs;
}

}  // namespace charmtree::control
