// SPDX-License-Identifier: Apache-2.0
// What can be set about a simulated world, by name. A world file holds one `NAME VALUE` a line and comments
// after '#'. A value is a number or a word, a range `A..B` or a choice `A|B|C`; ranges and choices are drawn
// from the seed, each name by its own dice, so that setting one does not change what the others draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"

namespace charmtree::sim {

inline constexpr std::uint32_t kNobody = UINT32_MAX;

/// Times in milliseconds, shares of all hosts (or machines) from 0 to 1.
struct Settings {
  // The job.
  double hosts = 1000, processes = 1;           // processes per host
  double by_cores = 0;                          // hosts have 1 to so many cores, and a process for each
  double branching = 0, levels = 0, batch = 0;  // as the options; branching 0: late binding
  double links = 0;                             // a launcher can hold so many to others, if not 0
  double policy = 0, spares = 0, patience = 0;  // abort, drop, spare: hosts that fail; as the options
  double kind = 0;                              // of the processes: plain, native, charm, mpi
  double together = 0;                // none starts before every host has answered, if it can matter
  double start = 5, life = 20;        // until it registers; from its table (plain: start) on
  double restarts = 0, barriers = 3;  // a Charm++ program that restarts its processes, which
                                      // end together, behind so many barriers
  double in_place = 0;  // lost processes are started again (++on-failure restart); native ones pass barriers
  double goes_on = 0;   // without processes that are lost (++on-failure continue); native ones pass barriers
  double repairs = 0;   // and nobody is lost but with his host
  double reruns = 0;    // so often at most it is started again as a whole (++on-failure restart)
  double grace = 2000, timeout = 60'000, stamps = 0;  // as the options
  double heartbeat = 0, orphan_after = 8000;          // as the options; 0: nobody is watched
  double keep_alive = 0;                              // as the option; native ones pass barriers
  double rings = 0;                                   // where native ones would pass barriers
  double lookups = 0;                                 // the same: each asks another one
  double answers = 0;                                 // which answers it alone, instead of offering
  double base_ports = 0;  // native processes ask for ports: those of a host follow each other
  double until = 0;       // end, up (launchers), wired (table delivered)
  // What things cost and how long they take.
  double latency = 250, sigma = 0;         // of a login: the median, and sigma of its logarithm
  double stragglers = 0, straggle = 5000;  // a share takes so long instead
  double slow = 0, slowness = 10;          // a share does everything so many times slower
  double occupancy = 2.4;                  // of a launcher, by one login
  double link = 0.05;                      // one way, at least; plus an exponential tail of the same mean
  double fat = 0, fat_delay = 200;         // a share of the messages takes so much longer
  double bandwidth = 1170;                 // of a host's network, bytes per microsecond
  double receive = 0.02, send = 0.0085;    // a launcher's time for one message
  double cipher = 0.8;  // for one byte of it, in nanoseconds: aes128-ctr 0.1, hmac-sha2-256 0.5, copies
  double tuple = 25;    // for one process's tuple in a table, in nanoseconds
  double share = 30;    // the same in the table that the processes of a host share
  double client = 0.3;  // for one byte to a client, in nanoseconds
  double setup = 0.6, spawn = 0.6;  // of a host, of one process
  // Hosts that cannot be started.
  double dead = 0, give_up = 10'000;    // no answer, noticed after so long
  double refusing = 0, silent = 0;      // no sshd; a login that never ends
  double denied = 0, broken = 0;        // no key is taken; no launcher there
  double unready = 0, unspawnable = 0;  // no such directory; no such program
  double inner = -1;  // one dead host besides, right below the root in the static tree of this branching
  // Hosts that can be, in the end.
  double root_only = 0;  // only the root's keys are taken
  double flaky = 0;      // the first try, or two, cannot connect
  double touchy = 0;     // machines whose sshd has this MaxStartups
  double startups_start = 2, startups_rate = 50, startups_full = 5;
  double shared = 0, names = 8;  // a share of the hosts are machines with so many names
  // Faults, so many of each, between `from` and `to`.
  double crash = 0, cut = 0, lost = 0;   // a launcher is killed; a link is reset; a host's power goes off
  double pause = 0, pause_for = 3000;    // a launcher is stopped for so long
  double interrupt = 0, root_crash = 0;  // signals of the user's; the root is killed
  double held = 0;                       // a debugger looks at the processes for so long before they begin
  double asks = 0;                       // somebody wants to know what all processes do
  double prompts = 0;                    // somebody debugs them, gives one command, and stays; and runs tools
  double stacks = 1;                     // processes are in so many different functions
  double root_lost = 0, away = 20'000;   // or its links end, and after so long at most another takes over
  double unplugged = 0;  // a share of the hosts it does not reach when it tries for the first time
  double kill_process = 0, fail_process = 0;  // a process dies of a signal; exits with status 3
  double crash_process = 0;                   // is killed, fails, or loses its connection
  double from = 1, to = 2000;
  double notice = 10'000;  // until a link that has fallen silent is taken for lost
  double stubborn = 0;     // a share of the processes, which only SIGKILL ends
  // Output.
  double prints = 0, print_size = 100;     // pieces of each process, bytes of a piece
  double print_gap = 0.1;                  // between two of them
  double screen = 10;                      // time of the user's screen for one byte, in nanoseconds ...
  double stop = 0, stop_for = 0;           // ... but from then on it stops for so long
  double spool = 1 << 30, disk = 1 << 30;  // bytes that a host may spool, and that its disk takes
  // Files of the job that its hosts get from the root's.
  double staged = 0, staged_size = 300'000;  // so many, bytes of each
  double left = 0;  // a share of them was begun there by another job: half of these wrongly
  // The observer.
  double window = 1024;    // at most so many logins in flight, unless `batch` (LoginWindow::kMost)
  double limit = 600'000;  // a job that takes longer hangs
  double within = 0;       // fails if the launch takes so many times the ideal pool's time
  double sabotage = 0;     // falsifies what the checks must find out: see Sabotage
  double log = 0;          // prints what happens
};

/// Lies that the world tells about a job that goes well, to see whether somebody notices.
enum class Sabotage : std::uint8_t {
  none,
  undying,     // a process that exits is still there
  lingering,   // so is a launcher that is done
  twins,       // every process is started twice
  usurpers,    // every host is given its launcher twice
  slander,     // launchers say that the root's first host is theirs
  silence,     // hosts that failed are not reported
  mistake,     // the root exits with another status
  standstill,  // no host list arrives
  oblivion,    // a process does not hear that another was lost
  theft,       // a piece of output is taken for the one before it
  amnesia,     // nothing is known of the tree that is to be taken over
  haste,       // hosts start their processes when they are ready themselves
};

inline std::size_t most_links(const Settings& settings) {
  return settings.links == 0 ? SIZE_MAX : static_cast<std::size_t>(settings.links);
}

/// The job does without hosts that fail.
inline bool is_late(const Settings& settings) {
  return settings.policy != 0;
}

/// Processes are numbered when the hosts have answered.
inline bool is_numbered_late(const Settings& settings) {
  return is_late(settings) || settings.by_cores != 0;
}

/// As in charmrun: Charm++ processes wait for their table anyway, and a single host for nobody.
inline bool starts_together(const Settings& settings) {
  constexpr double kCharm = 2;
  return settings.together != 0 && settings.kind != kCharm && settings.hosts != 1;
}

/// Of a host that lives.
inline std::uint32_t processes_of(const Settings& settings, std::uint32_t host) {
  const auto most = static_cast<std::uint32_t>(settings.processes);
  return settings.by_cores != 0 && most > 1 ? 1 + (host * 2654435761U >> 16U) % most : most;
}

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// The lines of a world file.
Result<Assignments> parse_world(std::string_view text);
/// NAME=VALUE, as on the command line.
Result<Assignments> parse_overrides(const std::vector<std::string>& words);
/// Later assignments win. Error if a name or a value makes no sense.
Result<Settings> draw_settings(const Assignments& assignments, std::uint64_t seed);
/// As it may stand behind a name. Nothing if it makes no sense.
std::optional<double> draw_value(std::string_view text, std::uint64_t seed);
/// What it is without being said. Nothing if there is no such setting.
std::optional<double> usual_value(std::string_view name);
/// NAME=VALUE of all that are not as they are without being said.
std::vector<std::string> words_of(const Settings& settings);
/// Names and defaults, for people.
std::string describe_settings();

inline Duration ms(double milliseconds) {
  return Duration{static_cast<Duration::rep>(milliseconds * 1e6)};
}
inline std::uint32_t whole(double value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace charmtree::sim
