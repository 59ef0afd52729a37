// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/display_rules.hpp"

#include <unistd.h>

#include <utility>

#include "charmrun/cli/label.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree {

DisplayRules display_rules(const Options& options) {
  const auto kind = [](int fd) { return ::isatty(fd) != 0 ? ScreenKind::terminal : ScreenKind::file; };
  DisplayRules rules;
  rules.screens = {kind(STDOUT_FILENO), kind(STDERR_FILENO)};
  rules.one_screen = io::same_file(STDOUT_FILENO, STDERR_FILENO);
  if (auto label = label_of(options)) rules.label = std::move(*label);
  if (auto label = label_of(options, true)) rules.fold_label = std::move(*label);
  if (auto file = file_name_of(options)) rules.file = std::move(*file);
  const bool usual =
      rules.screens[0] == ScreenKind::terminal && may_fold(options) && !options.process.interactive;
  if (options.output.fold ? *options.output.fold : usual)
    rules.fold_above = options.output.fold ? 1 : kFewProcesses;
  rules.fold_window = options.output.fold_window;
  rules.wall_ms = io::wall_ms_at_zero();
  return rules;
}

}  // namespace charmtree
