// SPDX-License-Identifier: Apache-2.0
// Hosts that share login, shell and paths share a Profile: the nodelist's option sets times what ssh says
// about the names.
#include "charmrun/plan/job.hpp"
#include "charmrun/plan/ccs_plan.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <pwd.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>

#include "charmrun/hosts/host_choice.hpp"
#include "charmrun/hosts/machines.hpp"
#include "charmrun/plan/history_file.hpp"
#include "charmrun/plan/host_source.hpp"
#include "charmrun/plan/launcher_path.hpp"
#include "charmrun/plan/output_rules.hpp"
#include "charmrun/plan/own_address.hpp"
#include "charmrun/plan/placement.hpp"
#include "charmrun/plan/program_file.hpp"
#include "charmrun/plan/program_rules.hpp"
#include "charmrun/plan/provisioning.hpp"
#include "charmrun/plan/staged_files.hpp"
#include "charmrun/plan/staging_tree.hpp"
#include "tree/base/hexadecimal.hpp"
#include "tree/io/host/own_addresses.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/ssh/ssh_config.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/user/user_terminal.hpp"
#include "tree/job/environment.hpp"
#include "tree/overlay/host_pool.hpp"
#include "tree/wire/address.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

class Builder {
public:
  Builder(const Options& options, const std::string& self)
      : options_(options),
        directory_(options.process.directory.empty() ? own_directory()
                                                     : absolute(options.process.directory, own_directory())),
        launcher_(launcher_path(options, self)),
        files_(program_files(options, directory_)),
        rules_(
            options, [this] { return program_traits(options_, directory_); },
            [this] { return kind().by_mpi(); }) {
    job_.self = self;
  }
  /// Of a run in a session.
  Builder(const Options& options, const std::string& nodelist, const std::string& text)
      : Builder(options, std::string{}) {
    job_.nodelist = nodelist;
    job_.nodelist_text = text;
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Result<Job> build() {
    if (auto hosts = take_hosts(); !hosts) return hosts.error();
    if (has_program()) {
      auto staged = staged_files(options_, files_, directory_);
      if (!staged) return staged.error();
      job_.plan.job.spawn.staged = std::move(*staged);
    }
    describe();
    if (options_.mode != Mode::doctor && !is_run() && !options_.connecting_starter()) use_history();
    if (options_.ccs.wanted && options_.mode == Mode::run) {
      auto listener = ccs_listener(options_);
      if (!listener) return listener.error();
      auto plan = ccs_plan(options_, listener->announced);
      if (!plan) return plan.error();
      if (plan->plan.keys.optional()) {
        job_.notes.emplace_back(
            "whoever reaches the CCS port can end the job; ++server-host 127.0.0.1 keeps it to this machine, "
            "and `ssh -L` leads there; see also ++server-auth");
      }
      listener->keys_made = std::move(plan->keys_made);
      for (std::string& text : plan->remarks) remark(std::move(text));
      job_.plan.ccs = std::move(plan->plan);
      job_.ccs = std::move(*listener);
    }
    return std::move(job_);
  }

private:
  /// Over a tree that there is.
  bool is_run() const { return options_.mode == Mode::in; }
  /// There is a program, and it is going to run.
  bool has_program() const { return options_.mode == Mode::run || is_run(); }
  Result<void> take_hosts();
  Result<void> later_hosts(const ConnectingStarter& starter);
  Result<void> local_hosts();
  Result<void> listed_hosts();
  void take_counts(const Placement& placement);
  Result<void> add_spares(Placement& placement, std::size_t hosts) const;
  Result<void> ask_ssh(const std::vector<bool>& here, const std::vector<std::uint32_t>& ports);
  Result<void> advertise_own_entries(const std::vector<bool>& here);
  Result<Profile> base_profile(const HostOptions& options) const;
  std::uint32_t intern(Profile profile, const HostOptions* said = nullptr);
  void describe();
  void describe_launch();
  void describe_spawn();
  void describe_restart();
  void describe_input();
  void describe_tree();
  void prescribe_checkup();
  void use_history();
  Result<Placement> place_processes(HostSlots slots);
  const wire::ProgramTraits& kind();
  void remark(std::string text) { job_.remarks.push_back(std::move(text)); }

  const Options& options_;
  std::string directory_, launcher_;
  std::vector<ProgramFile> files_;  // of the job's programs
  ProgramRules rules_;
  std::optional<wire::ProgramTraits> kind_;
  Command shell_;            // of hosts for which the list names none
  std::uint64_t slots_ = 0;  // of all hosts; 0: unknown
  Job job_;
  std::vector<Profile> profiles_;
  std::vector<const HostOptions*> said_;  // of each; null: it does not matter
};

/// What every job needs to know of its program: read with as little as that takes.
const wire::ProgramTraits& Builder::kind() {
  if (!kind_) kind_ = program_traits(options_, directory_, io::Libraries::charm);
  return *kind_;
}

/// No list anywhere means this machine.
Result<void> Builder::take_hosts() {
  auto network = chosen_network(options_);
  if (!network) return network.error();
  job_.plan.job.spawn.network = std::move(*network);
  if (const ConnectingStarter* starter = options_.connecting_starter()) return later_hosts(*starter);
  if (!is_run()) {
    auto source = find_hosts(options_);
    if (!source) return source.error();
    job_.nodelist = std::move(source->name);
    job_.nodelist_text = std::move(source->text);
    job_.nodelist_is_read_once = source->is_read_once;
    shell_ = options_.launch.remote_shell.empty() ? std::move(source->shell) : options_.launch.remote_shell;
    for (std::string& text : source->remarks) remark(std::move(text));
  }
  return job_.nodelist.empty() && options_.hosts.chosen.empty() ? local_hosts() : listed_hosts();
}

Result<Profile> Builder::base_profile(const HostOptions& host) const {
  Profile profile;
  auto launcher = apply_pathfix(launcher_, host.path_fixes);
  auto directory = apply_pathfix(directory_, host.path_fixes);
  for (const auto* fixed : {&launcher, &directory}) {
    if (!*fixed) return fixed->error();
  }
  profile.launcher = *launcher;
  profile.stages = options_.launch.launcher.empty() && !options_.launch.no_stage;
  const bool examines = options_.mode == Mode::doctor;  // what a job would make or send need not be there
  if (!examines || !options_.process.make_directory) profile.directory = *directory;
  if (!examines || !options_.process.stage_program) {
    if (auto programs = set_programs(files_, host, profile); !programs) return programs.error();
  }
  profile.setup = host.setup;
  for (const std::string& entry : host.environment) {
    if (const auto wanted = proto::why_not_settable(entry); !wanted.empty())
      return Error{Errc::bad_input, Phase::nodelist,
                   fmt::format("{}: env cannot be '{}'", job_.nodelist, quotable(entry)),
                   fmt::format("it takes {}", wanted)};
  }
  profile.environment = host.environment;
  proto::overlay(profile.environment, options_.process.variables.all);
  profile.user = host.login;
  if (host.nice) profile.extra_arguments = {"+nice", std::to_string(*host.nice)};
  if (options_.launch.accept_new_host_keys) profile.host_keys = HostKeyPolicy::accept_new;
  return profile;
}

/// Options that mean the same in a session may mean different things in its runs.
std::uint32_t Builder::intern(Profile profile, const HostOptions* said) {
  if (options_.mode != Mode::session) said = nullptr;
  for (std::uint32_t i = 0; i < profiles_.size(); ++i) {
    if (profiles_[i] == profile && said_[i] == said) return i;
  }
  profiles_.push_back(std::move(profile));
  said_.push_back(said);
  return static_cast<std::uint32_t>(profiles_.size() - 1);
}

/// ++plan counts hosts, not processes.
Result<Placement> Builder::place_processes(HostSlots slots) {
  auto wish = wanted_provision(options_, [this] { return rules_.is_smp(); });
  if (!wish) return wish.error();
  wish->same_everywhere = wish->process_unit > CpuUnit::host && rules_.traits().pxshm;
  const bool is_unsaid = options_.counts.pes == 0 && options_.counts.processes == 0;
  slots.one_each = is_unsaid && !slots.given && has_program() && !kind().netstart;
  slots.with_idle = has_program() && keeps_idle_hosts(options_, kind());
  slots_ = slots.total();
  auto placement = place(options_, std::move(slots), *wish);
  if (!placement || options_.mode == Mode::plan || options_.program.empty()) return placement;
  if (auto good = rules_.check(*placement); !good) return good.error();
  return placement;
}

Result<void> Builder::local_hosts() {
  const std::uint32_t count = std::max(1U, options_.hosts.virtual_hosts);
  auto placement = place_processes({std::vector<std::uint32_t>(count, 1)});
  if (!placement) return placement.error();
  cpu_set_t own{};
  if (options_.hosts.virtual_hosts == 0 && ::sched_getaffinity(0, sizeof own, &own) == 0)
    slots_ = static_cast<std::uint32_t>(CPU_COUNT(&own));
  if (auto spares = add_spares(*placement, count); !spares) return spares.error();
  auto profile = base_profile({});
  if (!profile) return profile.error();
  profile->via = Via::local;
  profile->launcher = launcher_;
  intern(*profile);
  const int digits = static_cast<int>(std::to_string(count - 1).size());
  for (const HostShare& share : placement->hosts) {
    Host host;
    host.index = static_cast<std::uint32_t>(job_.plan.hosts.size());
    host.name = options_.hosts.virtual_hosts > 0 ? fmt::format("virtual{:0{}}", share.host, digits)
                                                 : io::own_host_name();
    host.first_process = share.first_process;
    host.processes = share.processes;
    job_.plan.hosts.push_back(std::move(host));
  }
  job_.plan.job.private_network = true;
  take_counts(*placement);
  return {};
}

/// ++mpiexec: who they are shows when they have been started.
Result<void> Builder::later_hosts(const ConnectingStarter& starter) {
  const auto slots = allocated_slots(options_, starter, job_.remarks);
  if (!slots) return slots.error();
  auto counts = count_processes(options_, std::max(*slots, 1U));
  if (!counts) return counts.error();
  if (!starter.takes_count && *slots != 0 && counts->processes != *slots)
    return bad_input(fmt::format("{} starts a process for each of the {} slots, not {}", starter.name, *slots,
                                 counts->processes),
                     "leave +p and ++n out, or start them by ssh");
  Placement placement;
  placement.counts = std::move(*counts);
  if (auto good = rules_.check(placement); !good) return good.error();
  auto profile = base_profile({});
  if (!profile) return profile.error();
  profile->via = Via::command;  // which has been given then
  intern(*profile);
  take_counts(placement);
  if (const Options::Hosts& said = options_.hosts; !said.nodelist.empty() || !said.chosen.empty() ||
                                                   !said.excluded.empty() || options_.counts.host_limit > 0)
    remark(fmt::format("++nodelist, ++host, ++exclude and ++numHosts are not looked at: {} chooses the hosts",
                       starter.name));
  return {};
}

void Builder::take_counts(const Placement& placement) {
  wire::JobSpec& job = job_.plan.job;
  job.processes = placement.counts.processes;
  job.pes_per_process = placement.counts.pes_per_process;
  if (options_.mode != Mode::doctor) job.provision = placement.provision;
  for (const std::string& note : placement.counts.notes) remark(note);
}

/// The hosts behind those that the job needs.
Result<void> Builder::add_spares(Placement& placement, std::size_t hosts) const {
  if (options_.host_failure.spares == 0 || options_.mode == Mode::plan) return {};
  std::uint32_t next = options_.counts.host_limit > 0
                           ? options_.counts.host_limit
                           : static_cast<std::uint32_t>(hosts) - options_.host_failure.spares;
  if (options_.host_failure.spares > hosts - next) {
    return Error{Errc::bad_input, Phase::options,
                 fmt::format("++numHosts {} leaves {} hosts for ++spare-hosts {}", options_.counts.host_limit,
                             hosts - next, options_.host_failure.spares),
                 "add hosts to the nodelist"};
  }
  for (std::uint32_t i = 0; i < options_.host_failure.spares; ++i)
    placement.hosts.push_back({next++, placement.counts.processes, 0});
  return {};
}

Result<void> Builder::listed_hosts() {
  auto list = choose_hosts({job_.nodelist_text, job_.nodelist, options_.hosts.nodegroup},
                           {options_.hosts.chosen, options_.hosts.excluded});
  if (!list) return list.error();
  job_.gives_slots = list->gives_slots || options_.placement.fills_hosts(options_.counts);
  HostSlots slots{{}, list->gives_slots};
  for (const NodelistHost& host : list->hosts) slots.each.push_back(host.slots);
  auto placement = place_processes(std::move(slots));
  if (!placement) return placement.error();
  if (auto spares = add_spares(*placement, list->hosts.size()); !spares) return spares.error();
  take_counts(*placement);

  const ThisMachine own{io::own_host_name(), hosts_file(), io::own_addresses()};
  std::vector<bool> here;
  std::vector<std::uint32_t> ports;
  for (const HostShare& share : placement->hosts) {
    const NodelistHost& entry = list->hosts[share.host];
    const HostOptions& said = list->options_of(entry);
    auto profile = base_profile(said);
    if (!profile) return profile.error();
    Host host;
    host.index = static_cast<std::uint32_t>(job_.plan.hosts.size());
    host.name = entry.name;
    host.first_process = share.first_process;
    host.processes = share.processes;
    const bool local = said.login.empty() && said.shell.empty() && said.port == 0 && own.has_name(entry.name);
    if (!local) profile->shell = said.shell.empty() ? shell_ : said.shell;
    profile->via = local ? Via::local : profile->shell.empty() ? Via::ssh : Via::command;
    if (auto known = check_shell(*profile, said, entry.name); !known) return known.error();
    host.profile = intern(std::move(*profile), &said);
    here.push_back(local);
    ports.push_back(said.port);
    job_.plan.hosts.push_back(std::move(host));
  }
  return is_run() ? Result<void>{} : ask_ssh(here, ports);
}

/// ssh settings for the hosts that libssh2 will log into.
Result<void> Builder::ask_ssh(const std::vector<bool>& here, const std::vector<std::uint32_t>& ports) {
  std::vector<Host>& hosts = job_.plan.hosts;
  job_.key_places.resize(hosts.size());
  std::vector<io::SshQuery> queries;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Profile& profile = profiles_[hosts[i].profile];
    if (here[i] || profile.via != Via::ssh) continue;
    queries.push_back({hosts[i].name, profile.user, static_cast<std::uint16_t>(ports[i])});
    asked.push_back(i);
  }
  job_.plan.job.private_network = std::all_of(here.begin(), here.end(), [](bool local) { return local; });
  if (!queries.empty()) {
    io::SshConfigOptions surroundings;
    if (const passwd* user = ::getpwuid(::geteuid()); user != nullptr) {
      surroundings.home = user->pw_dir;
      surroundings.user = user->pw_name;
    }
    auto answers = io::SshConfig{surroundings}.ask(queries);
    if (!answers) return answers.error();
    if (!answers->note.empty()) job_.notes.push_back(answers->note);
    std::set<std::string> said;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      Host& host = hosts[asked[q]];
      io::SshHost& answer = answers->hosts[q];
      const io::SshSettings& settings = answers->settings[answer.settings];
      Profile profile = profiles_[host.profile];
      const HostKeyPolicy wanted = profile.host_keys;
      settings.apply(profile);
      if (wanted == HostKeyPolicy::accept_new && profile.host_keys == HostKeyPolicy::strict)
        profile.host_keys = wanted;
      host.profile = intern(std::move(profile), said_[host.profile]);
      host.address = answer.address;
      host.known_keys = std::move(answer.known_keys);
      host.known_key_revoked = answer.known_key_revoked;
      job_.key_places[host.index] = {settings.known_hosts_file, answer.known_name,
                                     settings.name_style == io::NameStyle::hashed};
      if (settings.ssh_command_only && said.insert(settings.why_command).second) {
        remark(fmt::format("{}: {} in the ssh configuration: such hosts are started by the ssh command",
                           host.name, settings.why_command));
      }
    }
  }
  return advertise_own_entries(here);
}

/// Entries of this machine among others get an address that the others can reach.
Result<void> Builder::advertise_own_entries(const std::vector<bool>& here) {
  std::vector<Host>& hosts = job_.plan.hosts;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!here[i]) others.push_back(hosts[i].target());
  }
  if (others.empty() || others.size() == hosts.size()) return {};
  auto chosen = chosen_address(options_);
  if (!chosen) return chosen.error();
  const wire::Address own = *chosen != 0 ? wire::Address{*chosen} : io::address_towards(others);
  if (*chosen != 0 && !io::is_own_address(own))
    remark(wire::text_of(own) + " is no address of this machine: can the other hosts reach it there?");
  for (std::size_t i = 0; i < hosts.size() && own.is_known(); ++i) {
    if (here[i]) hosts[i].address = wire::text_of(own);
  }
  return {};
}

void Builder::describe() {
  wire::JobSpec& job = job_.plan.job;
  job.id = hexadecimal(io::random_bytes(8));
  job.secret = io::random_bytes(32);
  describe_programs(options_, files_, job);
  for (std::string& word : rules_.further_arguments()) job.arguments.push_back(std::move(word));
  if (has_program()) {
    const wire::ProgramTraits& traits = kind();
    job.resizes = traits.resizes;
    // A Charm++ process does nothing of its own before it has the node table, for which it waits for all.
    job.starts_together = !options_.launch.start_early && !traits.netstart && job_.plan.hosts.size() != 1;
  }
  job.hosts = static_cast<std::uint32_t>(job_.plan.hosts.size());
  job.magic = static_cast<std::uint16_t>(
      1 +
      (static_cast<unsigned char>(job.secret[0]) | (static_cast<unsigned char>(job.secret[1]) << 8)) % 32767);
  job.timeout = options_.time.to_start;
  job.grace = options_.time.grace;
  if (options_.time.heartbeat)
    job.heartbeat = {std::min(*options_.time.heartbeat, options_.time.detect_within / 4),
                     options_.time.detect_within, options_.time.orphan_after};
  job.silence = {options_.time.hang_after.value_or(Duration{0}),
                 options_.time.hang_action == HangAction::kill};
  job.loss.keep_alive = options_.time.keep_alive.value_or(Duration{0});
  job.loss.recovery = recovery_of(options_, has_program() ? kind() : wire::ProgramTraits{});
  if (options_.process.interactive) {
    constexpr wire::WindowSize kUsual{24, 80};
    const bool person = ::isatty(STDIN_FILENO) != 0;  // whatever stdout is
    job.terminal = wire::Terminal{io::UserTerminal::size().value_or(kUsual), person};
  }
  job.session = options_.mode == Mode::session;
  describe_spawn();
  describe_input();
  job.output = output_rules(options_, job.spawn.mpi.library);
  job.reports = report_rules(options_);
  job.profiles = profiles_;
  describe_launch();
  if (options_.time.limit) job_.plan.time_limit = *options_.time.limit;
  if (options_.process.kill_on_exit) job_.plan.bad_exit = proto::BadExit::ends;
  if (options_.recovery.on_failure == wire::OnFailure::restart && options_.mode == Mode::run)
    describe_restart();
  job_.plan.int_ends = options_.time.int_ends;
}

/// Precondition: whether it resizes is known.
void Builder::describe_spawn() {
  wire::JobSpec& job = job_.plan.job;
  if (options_.process.forward_environment)
    job.spawn.environment = proto::forwardable(proto::without_launcher_variables(io::own_environment()));
  if (options_.process.ipc_pool_size)
    proto::overlay(job.spawn.environment,
                   {fmt::format("CmiIpcPoolSize={}", *options_.process.ipc_pool_size)});
  if (options_.process.ipc_cutoff)
    proto::overlay(job.spawn.environment, {fmt::format("CmiIpcCutoff={}", *options_.process.ipc_cutoff)});
  job.spawn.keep_address_randomisation = options_.process.va_randomization;
  if (options_.launch.scalable_start && !job.resizes && options_.further.empty())
    job.spawn.fork_clients =
        options_.process.va_randomization ? wire::ForkClients::always : wire::ForkClients::where_random;
  job.spawn.bind = bound_to(options_.placement.binding);
  job.spawn.mpi =
      has_program() ? mpi_service(options_, kind()) : wire::MpiService{wire::MpiService::Pmi::none};
  if (job.spawn.mpi.universe == 0) job.spawn.mpi.universe = universe_size(slots_, job);
  job.spawn.mpi.name_space = hexadecimal(io::random_bytes(16));
  job.spawn.env_like = options_.process.env_like;
  job.spawn.expands = options_.process.expands;
  job.spawn.make_directory = options_.process.make_directory;
  job.spawn.umask = ::umask(0);
  ::umask(static_cast<mode_t>(job.spawn.umask));
  job.spawn.limits = io::spawned_limits();
  if (!options_.process.run_script.empty())
    job.spawn.runscript = absolute(options_.process.run_script, directory_);
}

void Builder::describe_restart() {
  RestartRules& rules = job_.plan.restart.emplace();
  rules.most = options_.recovery.max_restarts;
  rules.arguments = options_.recovery.restart_arguments.value_or(Command{});
  rules.may_narrow = options_.recovery.shrink_ok;
  rules.fast_failover = options_.recovery.fast_failover;
  job_.plan.bad_exit = proto::BadExit::ends;
}

void Builder::describe_input() {
  wire::JobSpec& job = job_.plan.job;
  InputTarget target = options_.process.input.value_or(InputTarget{});
  if (job.session || options_.lists_hosts_by_stdin()) target.who = InputTarget::Who::none;
  job.input.process = target.who == InputTarget::Who::none ? wire::kNoProcess : target.process;
  job.input.to_all = target.who == InputTarget::Who::all;
  job.input.is_typed = ::isatty(STDIN_FILENO) != 0 && !job.terminal;
}

void Builder::describe_launch() {
  wire::LaunchRules& rules = job_.plan.job.launch;
  rules.batch = options_.launch.batch;
  rules.max_logins = options_.launch.max_logins;
  rules.login_rate = std::uint64_t{options_.launch.login_rate.per_second} * 1'000'000;
  job_.plan.could_drop = !options_.connecting_starter();
  if (options_.connecting_starter()) return;  // nobody is logged in to
  rules.on_host_failure = options_.host_failure.policy;
  const bool in_session = is_run() || job_.plan.job.session;  // which does without hosts that fail
  if (in_session && rules.on_host_failure == wire::OnHostFailure::abort)
    rules.on_host_failure = wire::OnHostFailure::spare;
  if (is_run()) return;
  if (!job_.plan.job.private_network) number_machines(job_.plan.hosts, hosts_file());
  if (options_.mode == Mode::doctor) return prescribe_checkup();
  rules.patience = options_.host_failure.patience;
  rules.wait = options_.host_failure.wait;
  describe_tree();
}

void Builder::describe_tree() {
  wire::JobSpec& job = job_.plan.job;
  job_.plan.most_links = io::most_links();
  wire::Shape& shape = job.launch.shape;
  if (options_.launch.branching != 0 || options_.launch.levels != 0)
    shape = proto::choose_shape(job.hosts, options_.launch.branching, options_.launch.levels);
  else if (!job.private_network)
    shape.branching = static_cast<std::uint32_t>(std::min<std::size_t>(
        staging_branching(total_size(job.spawn.staged), job.hosts), job_.plan.most_links));
  if (options_.launch.branching != 0 && proto::widens(shape, job.hosts)) {
    job_.notes.push_back(
        fmt::format("++branching {} ++levels {} hold fewer than {} hosts: the last level is wider",
                    options_.launch.branching, options_.launch.levels, job.hosts));
  }
  if (job_.plan.hosts.size() > job_.plan.most_links && shape.branching == 0) {
    remark(fmt::format(
        "charmrun may open {} files (ulimit -Hn), enough to link to {} of the hosts: they start the rest",
        io::spawned_descriptor_limit().most, job_.plan.most_links));
  }
  std::string tree = "a tree that grows as hosts answer";
  if (shape.branching != 0) {
    tree = fmt::format("a tree of {} level{}, branching {}",
                       shape.levels == 0 ? "as many as needed" : std::to_string(shape.levels),
                       shape.levels == 1 ? "" : "s", shape.branching);
  }
  const wire::Provision& wish = job.provision;
  std::string processes = fmt::format("{} processes", job.processes);
  if (wish.process_unit > CpuUnit::host)
    processes = fmt::format("{} processes for each {}", wish.processes, name(wish.process_unit));
  if (job.session) processes = "session";
  job_.notes.push_back(fmt::format("job {}: {} on {} hosts, {}", job.id, processes, job.hosts, tree));
}

/// The same job without its processes: hosts are logged in to from here, all at the same time. Every host
/// counts, and none is waited for.
void Builder::prescribe_checkup() {
  constexpr std::uint32_t kLoginsAtATime = 256;
  wire::JobSpec& job = job_.plan.job;
  wire::LaunchRules& rules = job.launch;
  job.checkup = job.reports.stamps = true;
  job.spawn.bind = CpuUnit::none;
  job.reports.bindings = false;
  rules.shape = {job.hosts, 1};
  if (rules.batch == 0)
    rules.batch = rules.max_logins == 0 ? kLoginsAtATime : std::min(rules.max_logins, kLoginsAtATime);
  job.grace = Duration{0};
  job.input.process = wire::kNoProcess;
}

/// What earlier launches tell of logins to such hosts. A job on this machine alone needs and tells nothing.
void Builder::use_history() {
  const auto variable = [](const char* name) { return io::own_variable(name).value_or(""); };
  HistoryRead read;
  const bool here = job_.plan.job.private_network;
  if (!here) {
    job_.history_file = history_path(variable("XDG_STATE_HOME"), variable("HOME"));
    read = read_history(job_.history_file);
    if (!read.note.empty()) job_.notes.push_back(std::move(read.note));
  }
  job_.logins = login_costs(read.history, job_.plan.hosts, profiles_);
  if (here) return;
  job_.plan.job.launch.login_occupancy = job_.logins.postal.occupancy;
  job_.plan.job.launch.login_latency = job_.logins.postal.latency;
}

}  // namespace

Result<Job> resized_job(const Options& options, const Job& job, std::uint32_t pes) {
  if (const ConnectingStarter* starter = options.connecting_starter())
    return bad_input(fmt::format("a job that {} has started keeps its hosts", starter->name),
                     "start it by ssh to resize it");
  Options resized = options;
  resized.counts.pes = pes;
  resized.counts.processes = 0;
  resized.counts.typed = {};
  if (job.plan.job.pes_per_process > 1) resized.counts.pes_per_process = job.plan.job.pes_per_process;
  if (job.nodelist_is_read_once) {
    resized.hosts.listed = job.nodelist_text;
    resized.hosts.listed_by = job.nodelist;
  }
  resized.placement = {};
  resized.placement.binding = options.placement.binding;
  resized.placement.report_bindings = options.placement.report_bindings;
  return make_job(resized, job.self);
}

Result<Job> make_job(const Options& options, const std::string& self) {
  return Builder{options, self}.build();
}

Result<Job> make_run(const Options& options, const std::string& nodelist, const std::string& text) {
  return Builder{options, nodelist, text}.build();
}

}  // namespace charmtree
