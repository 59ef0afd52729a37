// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/json_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "tree/base/exit_status.hpp"

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
  if (const wire::PeersUsed& peers = why.ends.peers(); peers.processes > 0)
    json["peers"] = {
        {"processes", peers.processes}, {"all", peers.all}, {"least", peers.least}, {"most", peers.most}};
  return json;
}

Json end_parts(const proto::WayToEnd& way) {
  using proto::EndKind;
  Json json = {{"end", name(way.kind)}};
  if (way.kind == EndKind::well) json["status"] = 0;
  if (way.kind == EndKind::exit || way.kind == EndKind::abort) json["status"] = way.number;
  if (way.kind == EndKind::killed) {
    json["status"] = status_of_signal(way.number);
    json["signal"] = way.number;
  }
  return json;
}

Json ends_json(const proto::ProcessEnds& ends) {
  Json json = Json::array();
  for (const auto& [way, processes] : ends.ways()) {
    Json each = end_parts(way);
    each["number"] = processes.size();
    each["processes"] = ranges_json(processes.ranges());
    json.push_back(std::move(each));
  }
  return json;
}

namespace {

/// DEL, or a C1 control in UTF-8: JSON allows them as they are, terminals obey them.
bool is_obeyed(std::string_view text, std::size_t at) {
  if (text[at] == '\x7F') return true;
  const bool pair = text[at] == '\xC2' && at + 1 < text.size();
  return pair && static_cast<unsigned char>(text[at + 1]) < 0xA0;
}

}  // namespace

std::string json_text(const Json& json, int indent) {
  std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
  constexpr std::string_view kLeads = "\x7F\xC2";
  for (std::size_t at = text.find_first_of(kLeads); at != std::string::npos;
       at = text.find_first_of(kLeads, at + 1)) {
    if (!is_obeyed(text, at)) continue;
    const bool pair = text[at] == '\xC2';
    text.replace(at, pair ? 2 : 1,
                 fmt::format("\\u{:04x}", static_cast<unsigned char>(text[at + (pair ? 1 : 0)])));
  }
  return text;
}

}  // namespace charmtree
