// SPDX-License-Identifier: Apache-2.0
// A tree of hosts with a health::Detector each, links that lose packets, launchers that do not always run,
// and hosts that die. Everything else that launchers do is left out. A launcher that lost its parent is given
// another; nobody replaces a host.
#pragma once

#include <string>
#include <vector>

#include "health/detector.hpp"
#include "tests/sim/silence_calendar.hpp"
#include "tests/sim/silence_network.hpp"
#include "tests/sim/silence_record.hpp"
#include "tests/sim/silence_settings.hpp"
#include "tree/base/random.hpp"

namespace charmtree::silence {

using HostId = std::uint32_t;  // 0: the root's

class World {
public:
  World(const Settings& settings, std::uint64_t seed);

  void run();
  const Record& record() const { return record_; }
  /// What must not be: what, host, link, time. At most kMostOffences.
  const std::vector<std::string>& offences() const { return offences_; }
  std::uint64_t offended() const { return offended_; }
  std::uint64_t events() const { return calendar_.handled(); }

private:
  enum class What : std::uint8_t {
    tick,   // of a host
    beat,   // a message comes in order, and is acknowledged with it; of a link's end, like ...
    heard,  // a message comes in order
    ask,    // whether the child is punctual
    yes,    // it is
    no,
    acknowledged,  // an acknowledgement comes by itself
    read,          // a launcher that did not run reads
    probed,        // a connection to a port was answered, or its time is up
    reached,       // the silence could be long enough for a verdict
    starve,        // of a host, like ...
    wake,
    die,
    freeze,
    cut,   // of a link, named by its child, like ...
    join,  // the child gets a parent
  };
  static constexpr unsigned kWhatBits = 4;

  struct Host {
    health::Detector detector;
    Step tick = kNo;
    Step starved_from = 0, starved_until = 0;
    Step died = kNo, frozen = kNo;
  };
  static constexpr Step kNo = ~Step{0};
  static constexpr std::size_t kMostOffences = 20;

  // Events.
  static std::uint32_t of(HostId link, End end) { return link << 1 | end; }
  void put(Step at, What what, std::uint32_t id) {
    calendar_.put(at, id << kWhatBits | static_cast<std::uint32_t>(what));
  }
  void handle(Calendar::Event event);
  void handle_rare(What what, std::uint32_t id);
  void prefetch(Calendar::Event event) const;
  void tick(HostId host);
  void schedule(HostId host);
  void obey(HostId host, const health::Detector::Orders& orders);

  // Links. (silence_links.cpp)
  HostId host_at(HostId link, End end) const { return end == kChild ? link : parents_[link]; }
  static health::LinkId name_of(HostId link, End end) { return end == kChild ? proto::kParentLink : link; }
  void send(HostId link, End to, What what);
  void arrive(HostId link, End to, What what);
  void read(HostId link, End to, What what);
  void acknowledged(HostId link, End end);
  void probe(HostId link, End end, Duration limit);
  void probed(HostId link, End end);
  void reached(HostId link, End end);
  bool is_undisturbed(HostId link, End end) const;
  void note_silence(HostId link, End to, Step last);

  // Faults, and what is made of them. (silence_faults.cpp)
  void plan_faults();
  void starve(HostId host);
  void wake(HostId host);
  void join(HostId link);
  void judge(HostId host, const health::Verdict& verdict);
  void part(HostId link, End judge);
  void check_noticed();
  Duration took(HostId host, Step since) const;
  Duration not_run(HostId host, Step since) const;
  void offend(HostId host, HostId link, const std::string& what);

  bool runs(HostId host) const { return hosts_[host].died == kNo && hosts_[host].frozen == kNo; }
  bool is_starved(HostId host) const { return calendar_.now() < hosts_[host].starved_until; }
  static Instant at(Step step) { return Instant{duration(step)}; }
  Instant now() const { return at(calendar_.now()); }

  const Settings settings_;
  const health::Timing timing_;
  std::uint64_t seed_;
  Step end_;
  Random random_;
  Network network_;
  Calendar calendar_;
  std::vector<HostId> parents_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;  // by child
  std::vector<Step> cut_;    // by child; only if links are cut
  Record record_;
  std::vector<std::string> offences_;
  std::uint64_t offended_ = 0;
};

}  // namespace charmtree::silence
