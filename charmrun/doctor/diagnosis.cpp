// SPDX-License-Identifier: Apache-2.0
// Every check walks over the hosts, notes what is wrong, and ends with a line on those where nothing is. What
// an inner host sees counts only where it differs from what the root saw.
#include "charmrun/doctor/diagnosis.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "charmrun/report/json_parts.hpp"
#include "charmrun/report/report.hpp"
#include "charmrun/report/startup_record.hpp"
#include "tree/base/visible.hpp"
#include "tree/overlay/launch_failure.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree {
namespace {

/// Stands in remedies for the name of the host, which is put in if there is only one.
constexpr std::string_view kHost = "HOST";
/// Open files of a launcher: its own, and those of each process (pipes, connection, pidfd).
constexpr std::uint64_t kLauncherFiles = 24, kFilesPerProcess = 5;
/// Beside the program: launcher, guardian, login shell.
constexpr std::uint64_t kOwnTasks = 3;
/// So many times the median, or the host's own key exchange, is slow for a shell, whatever else runs there.
constexpr int kSlowerThanOthers = 3, kSlowerThanLogin = 2;
constexpr std::size_t kMostText = 300;

/// Things of one check.
enum class Check : std::uint8_t { login, launcher, place, program };

Check check_of(Phase phase) {
  if (phase <= Phase::authenticate) return Check::login;
  if (phase == Phase::spawn) return Check::place;
  return phase == Phase::start ? Check::program : Check::launcher;
}

/// Nothing is to be copied from this machine to itself.
bool is_about_files(Errc code) {
  return code == Errc::no_launcher || code == Errc::wrong_version || code == Errc::no_directory ||
         code == Errc::no_program;
}

/// The command that puts an error right; else the advice that a launch would give.
std::string remedy(const Error& error, const Profile& profile) {
  if (profile.via == Via::local && error.code == Errc::no_program) return "is its name right?";
  if (profile.via == Via::local && is_about_files(error.code)) return error.fix;
  const std::string& launcher = profile.launcher;
  const std::string copy = fmt::format("scp {0} HOST:{0}, or name it with ++launcher PATH", launcher);
  switch (error.code) {
    case Errc::no_such_host:
      return "correct the nodelist, or make `getent hosts HOST` find it";
    case Errc::timed_out:
      return error.phase == Phase::connect ? "is the host up? ping HOST" : error.fix;
    case Errc::refused:
      return "start sshd there: systemctl start ssh";
    case Errc::host_key_unknown:
      return "look at its key once: ssh HOST true, or use ++accept-new-host-keys";
    case Errc::host_key_changed:
      return error.fix.find(kHost) != std::string::npos ? error.fix
                                                        : "if it was set up anew: ssh-keygen -R HOST";
    case Errc::no_usable_key:
    case Errc::not_authorised:
      return error.fix.find("ssh-copy-id") == std::string::npos
                 ? error.fix
                 : "ssh-copy-id HOST (no key yet: ssh-keygen -t ed25519)";
    case Errc::no_launcher:
    case Errc::wrong_version:
      return copy;
    case Errc::no_directory:
      return fmt::format("ssh HOST mkdir -p {}, or start charmrun in a directory that all hosts have",
                         profile.directory);
    case Errc::no_program:
      return profile.program.find('/') == std::string::npos
                 ? error.fix
                 : fmt::format("scp {0} HOST:{0}, or start the job with ++stage-program", profile.program);
    default:
      return error.fix;
  }
}

std::string named(std::string text, const std::string& host) {
  for (std::size_t at = 0; (at = text.find(kHost, at)) != std::string::npos; at += host.size())
    text.replace(at, kHost.size(), host);
  return text;
}

/// What comes from other hosts is shown in one line of a bounded length.
std::string shown(const std::string& text) {
  return text.size() <= kMostText ? visible(text) : visible(text.substr(0, kMostText)) + "...";
}

class Physician {
public:
  explicit Physician(const CheckupRecord& record) : record_(record) {}

  Diagnosis diagnose() {
    logins(Vantage::root);
    if (record_.inner) logins(Vantage::inner);
    shells();
    launchers();
    places();
    programs();
    clocks();
    limits();
    addresses();
    summary();
    return std::move(diagnosis_);
  }

private:
  void logins(Vantage from);
  void shells();
  void launchers();
  void places();
  void programs();
  void clocks();
  void limits();
  bool open_files_suffice(std::size_t host, const wire::Checkup& checkup);
  bool processes_suffice(std::size_t host, const wire::Checkup& checkup);
  void addresses();
  void summary();

  // A finding waits until its check is over; then equal ones become one line.
  void note(std::size_t host, Severity severity, const std::string& text, const std::string& fix);
  void failures(Check check, Vantage from);
  void from_inner(std::size_t host, const Error& error);
  void write();
  void good(std::string text) {
    write();
    diagnosis_.lines.push_back({Severity::good, std::move(text), {}, {}});
  }

  std::size_t count() const { return record_.hosts.size(); }
  const std::string& name(std::size_t host) const { return record_.hosts[host].name; }
  bool is_here(std::size_t host) const { return record_.profile(host).via == Via::local; }
  const std::string& inner_name() const { return name(*record_.inner); }
  const wire::Checkup* checkup(std::size_t host) const;
  bool same_from_root(std::size_t host, const Error& error) const;
  std::string of_hosts(std::size_t some) const { return of_hosts(some, count()); }
  static std::string of_hosts(std::size_t some, std::size_t all) {
    return some == all ? fmt::format("{} host{}", some, some == 1 ? "" : "s")
                       : fmt::format("{} of {} hosts", some, all);
  }
  std::string times(std::vector<std::pair<Duration, std::size_t>> all) const;

  struct Finding {
    Severity severity;
    std::string text, fix;
    std::vector<std::string> names;
  };
  const CheckupRecord& record_;
  std::vector<Finding> findings_;
  std::set<std::size_t> sick_;  // hosts with errors
  std::size_t warnings_ = 0;
  Diagnosis diagnosis_;
};

const wire::Checkup* Physician::checkup(std::size_t host) const {
  const auto& found = record_.visit(Vantage::root, host).checkup;
  return found ? &*found : nullptr;
}

void Physician::note(std::size_t host, Severity severity, const std::string& text, const std::string& fix) {
  if (severity == Severity::error) sick_.insert(host);
  for (Finding& each : findings_) {
    if (each.severity != severity || each.text != text || each.fix != fix) continue;
    each.names.push_back(name(host));
    return;
  }
  findings_.push_back({severity, text, fix, {name(host)}});
}

void Physician::write() {
  for (const Finding& each : findings_) {
    const bool one = each.names.size() == 1;
    std::string line = fmt::format("{}: {}", wire::fold_names(each.names), shown(each.text));
    if (!one) line += fmt::format(" ({} hosts)", each.names.size());
    const std::string fix = one ? named(each.fix, each.names.front()) : each.fix;
    if (!fix.empty()) line += "; " + shown(fix);
    warnings_ += each.severity == Severity::warning ? 1 : 0;
    diagnosis_.lines.push_back({each.severity, std::move(line), each.names, shown(fix)});
  }
  findings_.clear();
}

bool Physician::same_from_root(std::size_t host, const Error& error) const {
  const auto& failure = record_.visit(Vantage::root, host).failure;
  return failure && failure->code == error.code && failure->phase == error.phase;
}

/// Where the root can log in, a launch hands the host back to it.
void Physician::from_inner(std::size_t host, const Error& error) {
  const auto& there = record_.visit(Vantage::root, host).failure;
  const bool taken_back =
      proto::parent_may_do_better(error.code) && (!there || check_of(there->phase) != Check::login);
  std::string text = fmt::format("from {}: {}: {}", inner_name(), charmtree::name(error.phase), error.what);
  if (taken_back) text += "; such hosts are started from here instead";
  std::string fix = remedy(error, record_.profile(host));
  if (error.phase == Phase::authenticate) fix = fmt::format("on {}: {}", inner_name(), fix);
  note(host, taken_back ? Severity::warning : Severity::error, text, fix);
}

/// The failures of one check, as a launch would meet them from that vantage point.
void Physician::failures(Check check, Vantage from) {
  for (std::size_t host = 0; host < count(); ++host) {
    const auto& failure = record_.visit(from, host).failure;
    if (!failure || check_of(failure->phase) != check) continue;
    if (from == Vantage::inner) {
      if (!same_from_root(host, *failure)) from_inner(host, *failure);
      continue;
    }
    std::string text = fmt::format("{}: {}", charmtree::name(failure->phase), failure->what);
    const Visit& other = record_.visit(Vantage::inner, host);
    if (other.tried && !other.failure) text += fmt::format(" (but from {} all is well)", inner_name());
    note(host, Severity::error, text, remedy(*failure, record_.profile(host)));
  }
}

/// "median 62 ms, slowest h07: 81 ms".
std::string Physician::times(std::vector<std::pair<Duration, std::size_t>> all) const {
  if (all.empty()) return {};
  std::sort(all.begin(), all.end());
  std::string text = fmt::format("; median {}", human_time(all[(all.size() - 1) / 2].first));
  if (all.size() > 1)
    text += fmt::format(", slowest {}: {}", name(all.back().second), human_time(all.back().first));
  return text;
}

void Physician::logins(Vantage from) {
  failures(Check::login, from);
  std::size_t well = 0, tried = 0, here = 0;
  std::vector<std::pair<Duration, std::size_t>> took;
  for (std::size_t host = 0; host < count(); ++host) {
    const Visit& visit = record_.visit(from, host);
    if (!visit.tried || (from == Vantage::inner && host == *record_.inner)) continue;
    if (is_here(host)) {  // started, not logged in to
      ++here;
      continue;
    }
    ++tried;
    if (visit.failure && check_of(visit.failure->phase) == Check::login) continue;
    ++well;
    if (visit.login) took.emplace_back(*visit.login, host);
  }
  const std::string where = from == Vantage::root ? "here" : inner_name();
  const std::string also =
      here == 0 ? "" : fmt::format("; {} {} this machine", here, here == 1 ? "is" : "are");
  if (well > 0)
    good(fmt::format("log in from {}: {} of {} hosts{}{}", where, well, tried, times(took), also));
  write();
}

/// A shell is slow by its own standards, as the key exchange shows what else the machine has to do, or by
/// those of the other hosts.
void Physician::shells() {
  std::vector<std::pair<Duration, std::size_t>> took;
  std::size_t remote = 0;
  for (std::size_t host = 0; host < count(); ++host) {
    remote += is_here(host) ? 0 : 1;
    const auto& shell = record_.visit(Vantage::root, host).shell;
    if (shell) took.emplace_back(*shell, host);
  }
  if (took.empty()) return;
  auto sorted = took;
  std::sort(sorted.begin(), sorted.end());
  const Duration median = sorted[(sorted.size() - 1) / 2].first;
  const auto slow = [&](const auto& each) {
    const Duration login = record_.visit(Vantage::root, each.second).login.value_or(Duration{0});
    return each.first > kSlowShell &&
           (each.first > kSlowShell + kSlowerThanOthers * median || each.first > kSlowerThanLogin * login);
  };
  std::vector<std::pair<Duration, std::size_t>> quick;
  for (const auto& each : took) {
    if (!slow(each)) {
      quick.push_back(each);
      continue;
    }
    // Rounded, so that hosts with the same start-up files fold.
    const double tenths = std::max(0.1, std::round(seconds(each.first) * 10) / 10);
    note(each.second, Severity::warning,
         fmt::format("remote shell: its start-up files take {:g} s of every login", tenths),
         "let ~/.bashrc there return at once where $- has no i: case $- in *i*) ;; *) return ;; esac");
  }
  if (!quick.empty())
    good(fmt::format("remote shell: quick on {}{}", of_hosts(quick.size(), remote), times(quick)));
  write();
}

void Physician::launchers() {
  failures(Check::launcher, Vantage::root);
  if (record_.inner) failures(Check::launcher, Vantage::inner);
  std::size_t well = 0;
  for (std::size_t host = 0; host < count(); ++host) well += checkup(host) != nullptr ? 1 : 0;
  if (well > 0) good(fmt::format("launcher: charmrun {} runs on {}", CHARMTREE_VERSION, of_hosts(well)));
  write();
}

void Physician::places() {
  failures(Check::place, Vantage::root);
  if (record_.inner) failures(Check::place, Vantage::inner);
  std::size_t well = 0;
  for (std::size_t host = 0; host < count(); ++host)
    well += checkup(host) != nullptr && !record_.visit(Vantage::root, host).failure ? 1 : 0;
  if (well > 0) {
    good(fmt::format("working directory and set-up: {} on {}", record_.profile(0).directory, of_hosts(well)));
  }
  write();
}

void Physician::programs() {
  failures(Check::program, Vantage::root);
  std::size_t well = 0;
  for (std::size_t host = 0; host < count(); ++host) {
    if (checkup(host) == nullptr) continue;
    for (const Error& error : checkup(host)->errors) {
      note(host, Severity::error, fmt::format("{}: {}", charmtree::name(error.phase), error.what),
           remedy(error, record_.profile(host)));
    }
    well += checkup(host)->errors.empty() ? 1 : 0;
  }
  const std::string& program = record_.job.arguments.empty() ? std::string{} : record_.job.arguments[0];
  if (program.empty())
    good("program: none was named; `charmrun ++doctor PROGRAM` looks for it and its libraries, too");
  else if (well > 0)
    good(fmt::format("program: {} and its libraries found on {}", shown(program), of_hosts(well)));
  write();
}

void Physician::clocks() {
  std::int64_t most = 0;
  std::size_t well = 0;
  for (std::size_t host = 0; host < count(); ++host) {
    const wire::Checkup* const found = checkup(host);
    if (found == nullptr || found->clock == kNever) continue;
    constexpr std::int64_t kEndOfTime = std::int64_t{1} << 53;  // any clock; differences do not overflow
    const std::int64_t clock_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(found->clock.time_since_epoch()).count();
    const std::int64_t off =
        std::clamp(found->wall_ms, -kEndOfTime, kEndOfTime) - (record_.wall_ms_at_zero + clock_ms);
    const std::int64_t apart = off < 0 ? -off : off;
    if (apart <= kClockToleranceMs) {
      ++well;
      most = std::max(most, apart);
      continue;
    }
    note(host, Severity::warning,
         fmt::format("clock: {} s {} ours", (apart + 500) / 1000, off < 0 ? "behind" : "ahead of"),
         "ssh HOST sudo timedatectl set-ntp true (or chronyc makestep)");
  }
  if (well > 0) good(fmt::format("clocks: {} ms apart at most, on {}", most, of_hosts(well)));
  write();
}

bool Physician::open_files_suffice(std::size_t host, const wire::Checkup& checkup) {
  const std::uint64_t needed = kLauncherFiles + kFilesPerProcess * record_.hosts[host].processes;
  const std::string raise_hard =
      "raise nofile in /etc/security/limits.conf there, or its ulimit in ~/.bashrc";
  if (checkup.most_open_files < needed) {
    note(host, Severity::error,
         fmt::format("limits: {} open files are allowed, its launcher needs {}", checkup.most_open_files,
                     needed),
         raise_hard);
    return false;
  }
  if (checkup.open_files >= kUsualOpenFiles) return true;
  note(host, Severity::warning,
       fmt::format("limits: only {} open files for each process", checkup.open_files),
       checkup.most_open_files < kUsualOpenFiles
           ? raise_hard
           : fmt::format("put `ulimit -n {}` into ~/.bashrc there", kUsualOpenFiles));
  return false;
}

bool Physician::processes_suffice(std::size_t host, const wire::Checkup& checkup) {
  if (checkup.processes == wire::Checkup::kUnlimited) return true;
  const std::uint64_t needed =
      std::uint64_t{record_.hosts[host].processes} * record_.job.pes_per_process + kOwnTasks;
  const std::uint64_t free = checkup.processes - std::min(checkup.processes, checkup.processes_now);
  if (free >= needed) return true;
  note(host, Severity::error,
       fmt::format("limits: {} processes and threads are allowed, too few for {} beside those that run",
                   checkup.processes, needed),
       "raise nproc in /etc/security/limits.conf there, or its ulimit -u in ~/.bashrc");
  return false;
}

void Physician::limits() {
  std::uint64_t files = wire::Checkup::kUnlimited, tasks = wire::Checkup::kUnlimited;
  std::size_t examined = 0;
  for (std::size_t host = 0; host < count(); ++host) {
    const wire::Checkup* const found = checkup(host);
    if (found == nullptr) continue;
    const bool files_suffice = open_files_suffice(host, *found);
    if (!processes_suffice(host, *found) || !files_suffice) continue;
    ++examined;
    files = std::min(files, found->open_files);
    tasks = std::min(tasks, found->processes);
  }
  const auto amount = [](std::uint64_t limit) {
    return limit == wire::Checkup::kUnlimited ? std::string{"unlimited"} : std::to_string(limit);
  };
  if (examined > 0) {
    good(fmt::format("limits: {} open files and {} processes at least, on {}", amount(files), amount(tasks),
                     of_hosts(examined)));
  }
  write();
}

/// Two kernels with one address: that of a bridge for containers, as a rule.
void Physician::addresses() {
  if (record_.job.private_network || count() < 2) return;
  std::map<wire::Address, std::set<std::string>> machines;
  for (std::size_t host = 0; host < count(); ++host) {
    if (checkup(host) != nullptr) machines[checkup(host)->address].insert(checkup(host)->machine);
  }
  std::size_t well = 0;
  for (std::size_t host = 0; host < count(); ++host) {
    if (checkup(host) == nullptr) continue;
    const wire::Address address = checkup(host)->address;
    const std::string text = wire::text_of(address);
    const auto& inner = record_.visit(Vantage::inner, host).checkup;
    if (!address.is_known()) continue;  // has been told
    if (address.is_loopback()) {
      note(host, Severity::error, fmt::format("addresses: other hosts cannot reach it at {}", text),
           "give it an address on their network; ssh HOST ip address shows what it has");
    } else if (machines[address].size() > 1) {
      note(host, Severity::error, fmt::format("addresses: several hosts have {}", text),
           "name the hosts in the nodelist by addresses of their common network");
    } else if (inner && inner->address != address) {
      note(host, Severity::warning,
           fmt::format("addresses: seen from {} it is at another address than from here", inner_name()),
           "start charmrun on a host of their network, or make sure that all hosts reach each other at both");
    } else {
      ++well;
    }
  }
  if (well > 0)
    good(fmt::format("addresses: {} can be told to the others{}", of_hosts(well),
                     record_.inner ? ", the same from here and from " + inner_name() : ""));
  write();
}

void Physician::summary() {
  diagnosis_.hosts = count();
  diagnosis_.would_work = sick_.empty();
  const std::string also =
      warnings_ == 0 ? "" : fmt::format(" ({} warning{})", warnings_, warnings_ == 1 ? "" : "s");
  if (sick_.empty())
    return good(
        fmt::format("a launch would work on {}{}", count() == 1 ? "this host" : of_hosts(count()), also));
  diagnosis_.lines.push_back(
      {Severity::error, fmt::format("a launch would fail on {}{}", of_hosts(sick_.size()), also), {}, {}});
}

}  // namespace

std::string_view name(Severity severity) {
  return severity == Severity::good ? "ok" : severity == Severity::warning ? "warning" : "error";
}

Diagnosis diagnose(const CheckupRecord& record) {
  return Physician{record}.diagnose();
}

std::string diagnosis_text(const Diagnosis& diagnosis, bool quiet) {
  std::string text;
  for (const DiagnosisLine& line : diagnosis.lines) {
    if (line.severity == Severity::good && quiet) continue;
    text.append(name(line.severity)).append(": ").append(line.text).append("\n");
  }
  return text;
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  Json findings = Json::array();
  for (const DiagnosisLine& line : diagnosis.lines) {
    Json finding = {{"severity", name(line.severity)}, {"text", line.text}};
    if (!line.hosts.empty()) finding["hosts"] = line.hosts;
    if (!line.fix.empty()) finding["fix"] = line.fix;
    findings.push_back(std::move(finding));
  }
  return json_text({{"format", "charmtree-doctor-1"},
                    {"would_work", diagnosis.would_work},
                    {"hosts", diagnosis.hosts},
                    {"findings", std::move(findings)}});
}

}  // namespace charmtree
