// SPDX-License-Identifier: Apache-2.0
// Starting launchers on other hosts: a sliding window of logins, polite retries, the fallbacks (from libssh2
// to the ssh command, from a launcher of another version to our own), and what becomes of a host that cannot
// be started from here. Takes hosts from the pool and binds them to links in the subtree. Knows nothing of
// processes. Its parts decide when a login begins (login_queue, logins_in_flight, login_pace, login_retries)
// and who gets the next hosts (host_requests, postal).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "tree/base/random.hpp"
#include "tree/overlay/child.hpp"
#include "tree/overlay/host_pool.hpp"
#include "tree/overlay/host_requests.hpp"
#include "tree/overlay/launch_config.hpp"
#include "tree/overlay/login_pace.hpp"
#include "tree/overlay/login_queue.hpp"
#include "tree/overlay/login_retries.hpp"
#include "tree/overlay/logins_in_flight.hpp"
#include "tree/overlay/postal.hpp"
#include "tree/overlay/postponed_hosts.hpp"
#include "tree/overlay/subtree.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class Launch {
public:
  /// `job` and `random` must outlive the object.
  Launch(const wire::JobSpec& job, wire::Blob coded_job, const LaunchConfig& config, Random& random);

  /// More hosts to start, and the part of the login rate that comes with them.
  void add(std::vector<Host> hosts, std::uint64_t login_rate, Instant now, Actions& out);
  /// Hosts that join late, to be started from here; they get this description of the job, in which the one
  /// given to the constructor has changed.
  void add_late(std::vector<Host> hosts, wire::Blob coded_job, Instant now, Actions& out);
  /// The processes of all hosts are about to be numbered anew.
  void forget_processes();
  /// The launcher below at `link` has run dry (late binding).
  void ask(LinkId link, const wire::Ask& message, Instant now, Actions& out);
  /// True if the child at `link` was given this host to start and has not handed it back.
  bool gave(LinkId link, std::uint32_t host) const;
  /// A host that the child at `link` could not start, to be started from here; false after stop(): not before
  /// the next run. Precondition: gave(link, host).
  bool take_back(LinkId link, std::uint32_t host, Instant now, Actions& out);

  void on(const LinkUp& event, Instant now, Actions& out);
  /// Appends to `failed` what is given up for good.
  void on(const LoginFailed& event, Instant now, Actions& out, std::vector<wire::HostFailure>& failed);
  /// Appends to `failed` hosts that have been silent for too long (only where the job can do without).
  void tick(Instant now, Actions& out, std::vector<wire::HostFailure>& failed);
  Instant next_deadline() const;

  /// The launcher at `lost` is gone: logs in to its host once more, and to all that it was given (the
  /// launchers there may be gone with it), and kills what the job left there. If the run was over there, only
  /// to those of them that are `unconfirmed`.
  void sweep(LinkId lost, const std::set<std::uint32_t>& unconfirmed, Instant now, Actions& out);

  /// Logs in to that host for the launcher that is there, or, if there is none, to kill what the job left. A
  /// host that is not reached is tried again for so long.
  void adopt(const Host& host, Duration insistence, Instant now, Actions& out);
  /// Leaves all children to others, and whoever was on the way to one of them comes back.
  void abandon(Actions& out);
  /// How long a login takes at most, nine times of ten; 0: there was none yet.
  Duration usual_login() const { return in_flight_.usual(); }
  /// Nobody is to be adopted there any more: what is left is killed, also a launcher that does not answer.
  void sweep_instead(const Host& host, Instant now, Actions& out);
  /// The launcher at `link` and all below it are ours from now on.
  void adopted(LinkId link, std::map<std::uint32_t, Host> below, Instant now);
  /// It has said so itself: from now on it gets hosts, too.
  void claimed(LinkId link, Instant now, Actions& out);

  /// No more logins: those in flight are cancelled, waiting hosts forgotten.
  void stop(Actions& out);
  /// The opposite of stop(), with the description of the next run, which has replaced the one given to the
  /// constructor: hosts whose launchers were lost are started again, but for those where something of the
  /// last run may be left (`unconfirmed`). These are appended to `failed`, and not swept any longer.
  void begin_run(wire::Blob coded_job, const std::set<std::uint32_t>& unconfirmed, Instant now, Actions& out,
                 std::vector<wire::HostFailure>& failed);

  Child* find(LinkId link);
  /// Null also if that child is not up.
  Child* find_up(LinkId link);
  const std::map<LinkId, Child>& children() const { return children_; }
  Subtree& subtree() { return subtree_; }
  const Subtree& subtree() const { return subtree_; }
  /// The profile of a host of this job.
  const Profile& profile(const Host& host) const { return job_.profiles[host.profile]; }

private:
  void keep_this_machine(std::vector<Host>& hosts);
  std::vector<Host> take_lost(const std::set<std::uint32_t>& unconfirmed, Instant now,
                              std::vector<wire::HostFailure>& failed);
  void cancel(LinkId link, Actions& out);
  void pump(Instant now, Actions& out);
  bool has_link() const;
  bool may_take() const;
  void pass_on(Actions& out);
  bool login_next(Instant now, Actions& out);
  bool enter(Child child, Instant now, Actions& out);
  void login(Child child, Instant now, Actions& out);
  void give_up_silent(Instant now, std::vector<wire::HostFailure>& failed);
  Child& visit(const Host& host, Via via, Child::Purpose purpose, Instant now);
  bool fall_back(LinkId link, const LoginFailed& event, Instant now, Actions& out);
  bool try_again(LinkId link, const LoginFailed& event, Instant now);
  bool hand_back(const Child& child, const Error& error, Actions& out);
  std::vector<Host> hosts_for(const Child& child, Instant now);
  void give(LinkId link, std::vector<Host> hosts, Actions& out);
  void serve(Actions& out);
  void ask_parent(Actions& out);

  const wire::JobSpec& job_;
  wire::Blob coded_job_;
  LaunchConfig config_;
  HostPool pool_;
  Subtree subtree_;
  std::map<LinkId, Child> children_;
  LoginQueue queue_;
  LoginsInFlight in_flight_;
  LoginPace pace_;
  LoginRetries retries_;
  HostRequests requests_;
  OwnRequests own_requests_;
  PostalCurve curve_;
  PostponedHosts postponed_;
  LinkId next_link_ = kParentLink + 1;
  bool stopped_ = false;  // only sweepers may still log in
  std::set<std::string_view> said_fallbacks_;
};

}  // namespace charmtree::proto
