// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/job_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/frame.hpp"

namespace charmtree::wire {

namespace {

/// A table is coded with a few bytes around it.
constexpr std::size_t kMaxTable = kMaxLinkFrame - 64;

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1U << 20);
}

std::size_t total(const std::vector<std::string>& strings) {
  std::size_t bytes = 0;
  for (const std::string& each : strings) bytes += each.size();
  return bytes;
}

}  // namespace

Result<void> check_job(const JobSpec& job, std::size_t coded) {
  if (coded <= kMaxJob) return {};
  std::size_t arguments = total(job.arguments), environment = total(job.spawn.environment);
  for (const FurtherProgram& each : job.spawn.further) {
    arguments += total(each.arguments);
    environment += total(each.environment);
  }
  const std::size_t options = coded - std::min(coded, arguments + environment);
  std::string fix = "give fewer hosts options of their own in the nodelist (setup, pathfix, shell)";
  if (environment > options) fix = "start it with fewer or shorter environment variables (env -i)";
  if (arguments > std::max(environment, options)) fix = "pass long arguments in a file";
  return Error{
      Errc::bad_input, Phase::options,
      fmt::format("the job's description is too large: {:.1f} MiB of at most {} MiB (arguments {:.1f}, "
                  "environment {:.1f}, options of hosts {:.1f} MiB)",
                  mib(coded), kMaxJob >> 20, mib(arguments), mib(environment), mib(options)),
      std::move(fix)};
}

Result<void> check_table(const NodeTable& table, std::size_t coded) {
  const std::size_t tuples = tuple_bytes(table.blocks);
  if (coded <= kMaxTable && tuples <= kMaxTableData) return {};
  const bool too_long = coded > kMaxTable;
  return Error{Errc::bad_input, Phase::table,
               fmt::format("the node table of {} processes is too large: {:.1f} MiB{} of at most {} MiB",
                           table.processes(), mib(too_long ? coded : tuples), too_long ? "" : " of tuples",
                           (too_long ? kMaxLinkFrame : kMaxTableData) >> 20),
               "register shorter tuples, or start fewer processes"};
}

}  // namespace charmtree::wire
