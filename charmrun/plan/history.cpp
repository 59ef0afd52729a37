// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/history.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "charmrun/report/json_parts.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr int kHistoryFormat = 1;
constexpr std::size_t kPatternsShown = 3;
// What is assumed of a login by the ssh command (docs/DESIGN.md, 4: 15-24 ms) and of a local launcher.
constexpr proto::Postal kCommand{18ms, 250ms}, kLocal{600us, 5ms};

proto::Postal assumed(Via via) {
  switch (via) {
    case Via::local:
      return kLocal;
    case Via::command:
      return kCommand;
    case Via::ssh:
      break;
  }
  return {};
}

std::string_view via_word(Via via) {
  return via == Via::ssh ? "ssh" : via == Via::command ? "command" : "local";
}

/// Value below which a share of the (sorted, not empty) latencies lies.
Duration quantile(const std::vector<Duration>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Duration mean(Duration a, double weight_a, Duration b, double weight_b) {
  const double sum = static_cast<double>(a.count()) * weight_a + static_cast<double>(b.count()) * weight_b;
  return Duration{static_cast<Duration::rep>(sum / (weight_a + weight_b))};
}

double milliseconds(Duration time) {
  return std::round(seconds(time) * 1e6) / 1e3;
}

/// No negative, no endless time comes out of a file.
Duration duration(const Json& value) {
  const double ms = value.get<double>();
  return ms > 0 && ms < 1e7 ? Duration{static_cast<Duration::rep>(ms * 1e6)} : Duration{0};
}

}  // namespace

std::string host_pattern(std::string_view host, Via via) {
  std::string pattern{via_word(via)};
  pattern += ' ';
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] <= ' ' || host[i] > '~') return {};
    if (!is_digit(host[i]))
      pattern += host[i];
    else if (i == 0 || !is_digit(host[i - 1]))
      pattern += '#';
  }
  return pattern.size() <= History::kMaxPattern ? pattern : std::string{};
}

void History::add(std::span<const LoginSample> logins, Duration occupancy) {
  std::map<std::string, std::vector<Duration>> latencies;
  for (const LoginSample& login : logins) {
    if (!login.pattern.empty() && login.latency > Duration{0})
      latencies[login.pattern].push_back(login.latency);
  }
  if (latencies.empty()) return;
  ++launches_;
  for (auto& [pattern, each] : latencies) take_in(pattern, std::move(each), occupancy);
  make_room();
}

/// Quantiles are means of the launches' quantiles, each with the weight of its logins.
void History::take_in(const std::string& name, std::vector<Duration> latencies, Duration occupancy) {
  std::sort(latencies.begin(), latencies.end());
  auto it =
      std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& p) { return p.name == name; });
  if (it == patterns_.end()) {
    patterns_.push_back({name});
    it = patterns_.end() - 1;
  }
  const double kept = it->weight * kKeep;
  const auto fresh = static_cast<double>(latencies.size());
  it->median = mean(it->median, kept, quantile(latencies, 0.5), fresh);
  it->slow = mean(it->slow, kept, quantile(latencies, 0.9), fresh);
  if (occupancy > Duration{0})
    it->occupancy = it->occupancy > Duration{0} ? mean(it->occupancy, kept, occupancy, fresh) : occupancy;
  it->weight = kept + fresh;
  it->logins += latencies.size();
  it->last_used = launches_;
}

void History::make_room() {
  std::stable_sort(patterns_.begin(), patterns_.end(),
                   [](const Pattern& a, const Pattern& b) { return a.last_used > b.last_used; });
  if (patterns_.size() > kMaxPatterns) patterns_.resize(kMaxPatterns);
}

const History::Pattern* History::find(std::string_view pattern) const {
  const auto it =
      std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& p) { return p.name == pattern; });
  return it == patterns_.end() ? nullptr : &*it;
}

std::string History::text() const {
  Json patterns = Json::array();
  for (const Pattern& p : patterns_) {
    patterns.push_back({{"hosts", p.name},
                        {"logins", p.logins},
                        {"last_used", p.last_used},
                        {"weight", std::round(p.weight * 100) / 100},
                        {"occupancy_ms", milliseconds(p.occupancy)},
                        {"latency_p50_ms", milliseconds(p.median)},
                        {"latency_p90_ms", milliseconds(p.slow)}});
  }
  const Json json = {{"format", kHistoryFormat}, {"launches", launches_}, {"patterns", std::move(patterns)}};
  return json_text(json, 1);
}

Result<History> History::parse(std::string_view text) {
  const Error bad{Errc::bad_input, Phase::options, "not a history of logins", {}};
  if (text.size() > kMaxText) return bad;
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kHistoryFormat || json.at("patterns").size() > kMaxPatterns) return bad;
    History history;
    history.launches_ = json.at("launches").get<std::uint64_t>();
    for (const Json& each : json.at("patterns")) {
      Pattern& pattern = history.patterns_.emplace_back();
      pattern.name = each.at("hosts").get<std::string>();
      pattern.logins = each.at("logins").get<std::uint64_t>();
      pattern.last_used = each.at("last_used").get<std::uint64_t>();
      pattern.weight = each.at("weight").get<double>();
      pattern.occupancy = duration(each.at("occupancy_ms"));
      pattern.median = duration(each.at("latency_p50_ms"));
      pattern.slow = duration(each.at("latency_p90_ms"));
      const bool sound = pattern.name.size() <= kMaxPattern && pattern.weight > 0 && pattern.weight < 1e12 &&
                         pattern.median > Duration{0} && pattern.slow > Duration{0};
      if (!sound) return bad;
    }
    return history;
  } catch (const Json::exception&) {
    return bad;
  }
}

LoginCosts login_costs(const History& history, std::span<const Host> hosts,
                       std::span<const Profile> profiles) {
  LoginCosts costs;
  std::map<std::pair<Via, std::string>, std::uint64_t> kinds;  // of remote hosts
  for (const Host& host : hosts) {
    const Via via = profiles[host.profile].usual_via();
    ++(via == Via::local ? costs.local : via == Via::ssh ? costs.ssh : costs.command);
    if (via != Via::local) ++kinds[{via, host_pattern(host.name, via)}];
  }
  if (costs.remote() == 0) {
    costs.postal = kLocal;
    return costs;
  }
  double occupancy = 0, latency = 0, slow = 0;
  const auto remote = static_cast<double>(costs.remote());
  for (const auto& [kind, count] : kinds) {
    const auto& [via, name] = kind;
    const History::Pattern* pattern = history.find(name);
    proto::Postal postal = assumed(via);
    const double share = static_cast<double>(count) / remote;
    if (pattern != nullptr) {
      if (pattern->occupancy > Duration{0}) postal.occupancy = pattern->occupancy;
      postal.latency = pattern->median;
      costs.known += count;
      costs.logins += pattern->logins;
      if (costs.patterns.size() < kPatternsShown) costs.patterns.push_back(name);
    }
    occupancy += share * static_cast<double>(postal.occupancy.count());
    latency += share * static_cast<double>(postal.latency.count());
    slow += share * static_cast<double>((pattern != nullptr ? pattern->slow : postal.latency).count());
  }
  costs.postal = proto::believable(Duration{std::llround(occupancy)}, Duration{std::llround(latency)});
  if (costs.known > 0) costs.slow_latency = Duration{std::llround(slow)};
  return costs;
}

}  // namespace charmtree
