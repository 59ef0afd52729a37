// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/output_rules.hpp"

#include <unistd.h>

namespace charmtree {

wire::OutputRules output_rules(const Options& options, wire::Mpi mpi) {
  wire::OutputRules rules;
  const auto patience = [](int fd) { return ::isatty(fd) != 0 ? Duration{100ms} : Duration{5s}; };
  rules.partial_line = {patience(STDOUT_FILENO), patience(STDERR_FILENO)};
  rules.raw = options.output.raw;
  // Open MPI leaves without writing out what the C library still holds, and counts on the terminal of its
  // mpirun.
  rules.line_buffered = options.output.line_buffered.value_or(mpi == wire::Mpi::open_mpi);
  rules.spool = options.output.spool.bytes;
  const auto label = label_of(options);
  rules.labelled =
      (label && !label->empty()) || options.output.fold.value_or(false) || options.view.json == "-";
  return rules;
}

wire::ReportRules report_rules(const Options& options) {
  wire::ReportRules rules;
  const Options::View& shown = options.view;
  rules.stamps = shown.verbose || !shown.report.empty() || !shown.timeline.empty();
  rules.bindings = options.placement.report_bindings;
  rules.watched = shown.dashboard || !shown.report.empty() || !shown.json.empty();
  return rules;
}

}  // namespace charmtree
