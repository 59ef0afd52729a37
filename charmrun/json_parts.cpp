// SPDX-License-Identifier: Apache-2.0
#include "charmrun/json_parts.hpp"

#include <cmath>

namespace charmtree {

double rounded_seconds(Duration time) {
  return std::round(seconds(time) * 1e6) / 1e6;
}

Json status_parts(const proto::JobStatus& status) {
  return {{"stage", proto::name(status.stage)},
          {"hosts", status.hosts},
          {"hosts_up", status.hosts_up},
          {"hosts_failed", status.hosts_failed},
          {"processes", status.processes},
          {"registered", status.registered},
          {"ended", status.ended},
          {"lost", status.lost},
          {"silent", status.silent}};
}

Json ranges_json(const std::vector<wire::ProcessSet::Range>& ranges) {
  Json json = Json::array();
  for (const auto& [first, last] : ranges) json.push_back({first, last});
  return json;
}

Json ending_parts(const proto::Ending& why) {
  Json json = {{"cause", name(why.cause)}};
  if (why.process) json["process"] = *why.process;
  if (!why.how.empty()) json["how"] = why.how;
  if (why.restarts > 0) json["restarts"] = why.restarts;
  if (!why.lost.empty()) json["lost"] = ranges_json(why.lost.ranges());
  if (!why.silent.empty()) json["silent"] = ranges_json(why.silent.ranges());
  for (const auto& [process, times] : why.restarted) json["restarted"].push_back({process, times});
  return json;
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace charmtree
