// SPDX-License-Identifier: Apache-2.0
// What must hold in every simulated world, whatever happens in it. The world tells what happens; the first
// few offences are kept. Knows nothing of time but what it is told.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/hosts.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::sim {

class Checks {
public:
  /// `hosts` must outlive it.
  Checks(const Settings& settings, const Hosts& hosts);

  void wrong(std::string what);
  const std::vector<std::string>& offences() const { return offences_; }

  // ---- after each event
  /// A launcher was told that it is the one of `host`, and that these are the host's processes.
  void welcomed(std::uint32_t host, const Host& told);
  /// That launcher is gone.
  void left(std::uint32_t host);
  /// It will, and another may be started there meanwhile.
  void retired(std::uint32_t host);
  /// The host could start its processes.
  void ready(std::uint32_t host);
  void spawned(std::uint32_t process, std::uint32_t host);
  /// Once more, after it was lost.
  void restarted(std::uint32_t process, std::uint32_t host);
  /// The program is started again: every process, and the launchers that were lost.
  void begin_run();
  void login_begun(std::uint32_t in_flight);
  void said(const proto::Say& say);
  void reported(std::uint32_t host, const Error& error);
  void link_lost(const wire::LinkLost& lost);

  // ---- what was done to the job, while it had not begun to end
  /// Something that must end it. `status`: what it may exit with for that.
  void struck(int status);
  /// Something that may.
  void grazed(int status) { allowed_.insert(status); }
  bool is_struck() const { return struck_; }
  /// The user was told that something may be left, on a host that may have had output yet.
  bool is_excused() const { return excused_; }

  // ---- at the end
  struct End {
    int status = 0;
    std::uint32_t launchers = 0;  // that live still
    std::uint32_t processes = 0;  // that live still
  };
  void ended(const End& end);
  /// The root did not tell how it ended, since it was killed.
  void ended_without_root(const End& end);

private:
  void check_start();
  void refused();
  void output_missed();
  void nothing_left(const End& end);
  void every_host_once();
  void every_process_once();
  void every_place_once();
  bool may_be_left_out(std::uint32_t host) const;
  void failures_reported();
  std::set<int> statuses() const;

  static constexpr std::size_t kMost = 20;  // offences kept

  const Settings& settings_;
  const Hosts& hosts_;
  std::vector<std::string> offences_;
  std::vector<bool> welcomed_;          // by host
  std::vector<bool> lives_;             // by host: it has a launcher
  std::vector<bool> ready_;             // by host
  bool started_ = false;                // some process has been spawned
  std::vector<std::uint32_t> host_of_;  // by process; kNobody: not spawned
  std::vector<std::uint32_t> now_on_;   // after it was moved
  std::set<std::uint32_t> reported_;    // hosts that failed
  std::set<std::uint32_t> given_up_;    // of these, for good
  std::set<int> allowed_;
  bool struck_ = false;
  bool excused_ = false;  // the user was told
};

}  // namespace charmtree::sim
