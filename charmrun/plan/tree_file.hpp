// SPDX-License-Identifier: Apache-2.0
// What `charmrun ++attach` needs to become the root of a job that has lost its own (DESIGN D26): a file of
// the user's, mode 0600, for it holds the job's secret. It is there from the moment all is up to the end of
// the job; what it is about may be gone when it is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"
#include "tree/node/root_plan.hpp"

namespace charmtree {

struct KeptTree {
  std::string version;             // of the charmrun that has launched it
  std::string machine;             // where that was
  std::vector<std::string> words;  // its command line: how output is to be shown
  std::int64_t limit_at = 0;       // when its ++timelimit ends, in ms since the epoch; 0: never
  std::string root_at;             // the machine where its root is
  RootPlan plan;                   // takes_over; what only a launch needs is not kept
};

std::string encode(const KeptTree& tree);
/// Error bad_input: it is no such file.
Result<KeptTree> decode_tree(std::string_view text);

/// One job's file, written by its root.
class TreeFile {
public:
  /// `folder`: see state_folder(); `kept`: the file is there.
  TreeFile(const std::string& folder, KeptTree tree, bool kept = false);
  /// Error internal: why it cannot be written.
  Result<void> keep(const proto::KeepTree& now);
  /// Its path, once this root has kept it; else empty: there is just one that would take over.
  std::string own_path() const { return ours_ ? path_ : std::string{}; }
  /// It has been written.
  bool is_kept() const { return kept_; }
  const KeptTree& tree() const { return tree_; }
  /// Its root goes, the job may not be over: the file stays.
  void leave() { left_ = true; }
  /// The root goes; with the job, if that is not left.
  void remove();

private:
  std::string path_;
  KeptTree tree_;
  bool kept_, left_ = false;
  bool ours_ = false;  // kept by this root
};

/// The root of the job whose file that is, is there now: last_seen(). May block as long as a file server
/// does.
void touch_tree(const std::string& path);
/// When the root of that job was there for certain, in ms since 1970; 0: nobody knows.
std::int64_t last_seen(const std::string& folder, const std::string& id);
/// Its job has ended long ago.
void remove_tree(const std::string& folder, const std::string& id);
/// The ids of the jobs whose files are in that folder, in order.
std::vector<std::string> kept_trees(const std::string& folder);
/// The one that `wanted` names, by its beginning; empty: the only one. Error bad_input: none, or several.
Result<std::string> choose_tree(const std::vector<std::string>& ids, const std::string& wanted);
/// Errors: bad_input.
Result<KeptTree> read_tree(const std::string& folder, const std::string& id);

}  // namespace charmtree
