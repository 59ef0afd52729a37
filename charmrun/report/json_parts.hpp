// SPDX-License-Identifier: Apache-2.0
// What more than one of our JSON documents says (++report, ++json, ++status), in the same words. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>  // files that make or read documents include the rest

#include "tree/base/time.hpp"
#include "tree/turn/ending.hpp"
#include "tree/turn/job_status.hpp"

namespace charmtree {

/// Members keep their order.
using Json = nlohmann::ordered_json;

/// To the microsecond: what is finer is not known.
double rounded_seconds(Duration time);

/// The stage, and how many hosts and processes are how far.
Json status_parts(const proto::JobStatus& status);

/// [[first, last], ...]
Json ranges_json(const std::vector<wire::ProcessSet::Range>& ranges);

/// The first cause, without its host.
Json ending_parts(const proto::Ending& why);

/// How all processes have ended, an object for each way in which some have.
Json ends_json(const proto::ProcessEnds& ends);

/// What one of those ways is called, with its status as a shell shows it.
Json end_parts(const proto::WayToEnd& way);

/// Bytes that are not UTF-8 are replaced, and no control character stands there as it is. `indent`: of each
/// level; negative: one line. Ends in a newline.
std::string json_text(const Json& json, int indent = -1);

}  // namespace charmtree
