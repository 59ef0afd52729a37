// SPDX-License-Identifier: Apache-2.0
// How long a start-up takes, from a few measured constants, before it is begun. Two models side by side: the
// postal model, with which this launcher is planned, and the equations (1) to (7) of the paper whose start-up
// it carries on. Nothing here is random: all hosts are alike, none fails.
#pragma once

#include <cstdint>

#include "tree/base/time.hpp"
#include "tree/overlay/postal.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

// ---- the paper's model

/// Gupta, Zheng, Kale: A multi-level scalable startup for parallel applications (2011), in its words. A
/// start-up ends when the last tuple has been received; the way of the table to the clients is in none of the
/// equations.
struct PaperTimes {
  Duration init{0};       // T_init: the launcher's own start
  Duration client{0};     // T_client: from a login's begin until its client has its tuple
  Duration send{0};       // T_send: for the client to send it
  Duration network{0};    // T_nw: for it to arrive
  Duration ssh_login{0};  // T_ssh: the launcher's cost of one login
  Duration receive{0};    // T_recv: of one message

  /// T_c = T_init + T_client + T_send + T_nw (3)
  Duration once() const { return init + client + send + network; }
};

/// One login per process, from one launcher:
/// T_basic = T_init + P T_ssh + T_client + T_send + T_nw + P T_recv (1) = T_c + P (T_ssh + T_recv) (2).
Duration basic_startup(const PaperTimes& times, double processes);

/// One login per host, from one launcher; c processes per host: T_SMP = T_c + N (T_ssh + c T_recv) (4).
Duration smp_aware_startup(const PaperTimes& times, double hosts, double per_host);

/// A tree of `levels` d with k children per launcher:
/// T_d-level = d (T_c + k (T_ssh + T_recv)) + k (c - 1) T_recv (5).
Duration multi_level_startup(const PaperTimes& times, double levels, double branching, double per_host);

/// d = log_k N (6); 1 if k is 1 or less.
double paper_levels(double hosts, double branching);

/// The same tree, whose launchers above the leaves log in to b hosts, wait for their clients, log in to the
/// next: T_batched = (d - 1) (T_c + k (T_ssh + T_recv)) + (k / b) T_c + k (T_ssh + c T_recv) (7).
Duration batched_startup(const PaperTimes& times, double levels, double branching, double batch,
                         double per_host);

// ---- this launcher

struct TreeForecast {
  Duration time{0};               // until the last launcher can begin
  std::uint32_t levels = 0;       // of launchers below the root
  std::uint64_t root_degree = 0;  // hosts that the root starts itself
};

/// Everybody who can starts the next host: the postal bound and the tree that goes with it. The simulator's
/// launches come within 1 % of that time. Here as below, at most `window` of a launcher's logins are in
/// flight (0: as many as come up), so they come in bursts of as many.
TreeForecast late_tree(const Postal& postal, std::uint64_t hosts, std::uint32_t window = 0);

/// The k-ary tree as HostPool shares it out: equal parts, the last level as wide as need be.
/// `shape.branching` is not 0.
TreeForecast static_tree(const Postal& postal, const wire::Shape& shape, std::uint64_t hosts,
                         std::uint32_t window = 0);

/// What a start-up costs besides logins. The defaults were measured on one machine (docs/DESIGN.md, 4).
struct StartupCosts {
  Postal login;
  Duration spawn = 600us;                     // of one process, at its launcher
  Duration receive = 20us;                    // to take in or hand out one message
  Duration hop = 100us;                       // of a message through a link
  std::uint32_t link_bytes_per_ms = 100'000;  // through an encrypted link
  double table_bytes_per_process = 2.1;       // all ports different
};

struct StartupPlan {
  std::uint64_t hosts = 0;
  std::uint64_t processes = 0;
  wire::Shape shape;             // no branching: late binding
  std::uint32_t window = 0;      // logins in flight per launcher; 0: enough
  std::uint64_t login_rate = 0;  // of all launchers together, logins per second; 0: no limit
  StartupCosts costs;
};

/// The phases follow one another. Gather and table are those of programs that register.
struct StartupForecast {
  TreeForecast tree;
  Duration logins{0};     // until the last launcher runs
  Duration processes{0};  // until its processes run
  Duration gather{0};     // until the root has all addresses
  Duration table{0};      // until every process has the node table
};

/// Gather adds the receive time to the occupancy and the way up to the latency (docs/DESIGN.md, 4), and the
/// root takes in every byte. The table goes down the tree by which the launch came, from each launcher to one
/// child after the other.
StartupForecast forecast(const StartupPlan& plan);

/// The same constants in the paper's words.
PaperTimes paper_times(const StartupCosts& costs);

}  // namespace charmtree::proto
