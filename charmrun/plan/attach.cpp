// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/attach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "charmrun/cli/option_table.hpp"
#include "charmrun/plan/state_file.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree {

namespace {

/// Files of the other root are its own; how output is shown can be said anew.
Options ours_over(Options theirs, const Options& ours) {
  theirs.mode = Mode::run;
  theirs.view = ours.view;
  for (const std::string_view given : ours.given) copy_option(*find_option(given), ours, theirs);
  return theirs;
}

/// Its launchers send what they read as it comes, and were told so when they started.
Result<void> check_labels(const Options& options, const wire::JobSpec& job) {
  const auto label = label_of(options);
  if (!job.passes_raw() || !label || label->empty()) return {};
  return Error{Errc::bad_input, Phase::options,
               fmt::format("job {} passes its output on as it comes: its lines cannot be labelled", job.id),
               "leave ++label, ++label-format and ++timestamp out"};
}

/// Some of its launchers are not logged in to.
bool runs_at_its_root(const RootPlan& plan) {
  return std::any_of(plan.hosts.begin(), plan.hosts.end(),
                     [&](const Host& host) { return plan.job.profiles[host.profile].via == Via::local; });
}

}  // namespace

std::string tree_folder() {
  return state_folder(io::own_variable("XDG_STATE_HOME").value_or(""), io::own_variable("HOME").value_or(""));
}

KeptTree kept_tree(const Options& options, const Job& job, const std::vector<std::string>& words) {
  const std::string here = io::own_host_name();
  KeptTree tree{CHARMTREE_VERSION, here, words, 0, here, job.plan};
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(job.plan.time_limit);
  if (options.time.limit) tree.limit_at = io::wall_ms() + limit.count();
  return tree;
}

Result<Attachment> attach(const Options& options, const std::string& self) {
  const std::string folder = tree_folder();
  const auto id = choose_tree(kept_trees(folder), options.program);
  if (!id) return id.error();
  auto tree = read_tree(folder, *id);
  if (!tree) return tree.error();
  if (tree->version != CHARMTREE_VERSION)
    return Error{
        Errc::bad_input, Phase::options,
        fmt::format("job {} was started by charmrun {}, this is " CHARMTREE_VERSION, *id, tree->version),
        "use the same for both"};
  if (tree->machine != io::own_host_name() && runs_at_its_root(tree->plan))
    return Error{Errc::bad_input, Phase::options,
                 fmt::format("job {} runs on {} itself, where it was started", *id, tree->machine),
                 "charmrun ++attach there"};
  auto theirs = parse_options(tree->words, {});
  if (!theirs) return theirs.error();
  Attachment made{ours_over(std::move(*theirs), options), {}, std::move(*tree)};
  if (auto agree = check_output(made.options); !agree) return agree.error();
  if (auto can = check_labels(made.options, made.tree.plan.job); !can) return can.error();
  made.tree.root_at = io::own_host_name();
  made.job.plan = made.tree.plan;
  made.job.self = self;
  if (made.tree.limit_at != 0) {
    const std::int64_t left = std::max<std::int64_t>(1, made.tree.limit_at - io::wall_ms());
    made.job.plan.time_limit = std::chrono::milliseconds{left};
  }
  return made;
}

}  // namespace charmtree
