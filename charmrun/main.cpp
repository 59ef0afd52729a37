// SPDX-License-Identifier: Apache-2.0
// charmrun: the root's command and, as `charmrun ++launcher`, every other launcher. Builds the objects, runs
// the loop, exits. The functions below, read from the bottom, are the architecture.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>

#include "charmrun/charm4py_drop_in.hpp"
#include "charmrun/cli/help.hpp"
#include "charmrun/cli/options.hpp"
#include "charmrun/cli/user_signals.hpp"
#include "charmrun/control/control_plane.hpp"
#include "charmrun/control/leaving.hpp"
#include "charmrun/control/listener.hpp"
#include "charmrun/control/status_text.hpp"
#include "charmrun/debug/mpir.hpp"
#include "charmrun/debug/prompt_windows.hpp"
#include "charmrun/doctor/diagnosis.hpp"
#include "charmrun/doctor/doctor_console.hpp"
#include "charmrun/launcher.hpp"
#include "charmrun/machinery.hpp"
#include "charmrun/mpiexec/command_line.hpp"
#include "charmrun/mpiexec/singleton.hpp"
#include "charmrun/plan/attach.hpp"
#include "charmrun/plan/ccs_listener.hpp"
#include "charmrun/plan/forward_keys.hpp"
#include "charmrun/plan/history_file.hpp"
#include "charmrun/plan/job.hpp"
#include "charmrun/plan/launcher_path.hpp"
#include "charmrun/plan/mpiexec_start.hpp"
#include "charmrun/plan/plan.hpp"
#include "charmrun/plan/program_file.hpp"
#include "charmrun/report/report.hpp"
#include "charmrun/report/timeline.hpp"
#include "charmrun/running_jobs.hpp"
#include "charmrun/session/background.hpp"
#include "charmrun/session/session_await.hpp"
#include "charmrun/session/session_client.hpp"
#include "charmrun/session/session_service.hpp"
#include "charmrun/told.hpp"
#include "charmrun/view/console.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/cpus.hpp"
#include "tree/io/host/runner.hpp"
#include "tree/io/pmix/pmix_helper.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/ssh/signer.hpp"
#include "tree/io/stacks/stack_helper.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/node/node.hpp"

using namespace charmtree;

namespace {

/// Writes the files that were asked for; a failure is said, but does not change how the job ended.
void write_reports(const Options& options, const StartupRecord& record) {
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) print_own_line(proto::Tone::info, "cannot write " + path);
  };
  if (!options.view.report.empty()) write(options.view.report, report_json(record));
  if (!options.view.timeline.empty()) {
    const auto format = timeline_format(options.view.timeline);
    write(options.view.timeline,
          format && *format == TimelineFormat::trace ? timeline_trace(record) : timeline_svg(record));
  }
  if (options.view.verbose) std::fputs(report_table(record).c_str(), stderr);
}

/// For what is said without a console.
void print_line(const Options& options, proto::Tone tone, const std::string& line) {
  const bool wanted = tone == proto::Tone::info ? !options.view.quiet : options.view.verbose;
  if (wanted || tone == proto::Tone::error) print_own_line(tone, line);
}

void print_remarks(const Options& options, const Job& job) {
  for (const std::string& remark : job.remarks) print_line(options, proto::Tone::info, remark);
  for (const std::string& note : job.notes) print_line(options, proto::Tone::verbose, note);
}

int show_plan(const Options& options, const std::string& self) {
  const auto job = make_job(options, self);
  if (!job) return complain(job.error()), kLauncherFailed;
  HostSlots slots{{}, job->gives_slots};
  for (const Host& host : job->plan.hosts) slots.each.push_back(host.processes);
  std::optional<Topology> here;
  const wire::Provision& wish = job->plan.job.provision;
  if (wish.by_topology()) {
    const auto cpus = io::load_cpus();
    if (!cpus) return complain(cpus.error()), kLauncherFailed;
    here = cpus->topology();
  }
  const auto text = plan_text(options, job->logins, slots, wish, here);
  if (!text) return complain(text.error()), kLauncherFailed;
  print_remarks(options, *job);
  return std::fputs(text->c_str(), stdout), 0;
}

/// ++forward-agent: the keys of one launch, named in its job, and who signs with them.
class Signing {
public:
  Signing(const Options& options, io::asio::io_context& io, Job& job) {
    if (!options.launch.forward_agent) return;
    signer_.emplace(io, io::SshSurroundings::mine());
    forward_keys(io, *signer_, job);
  }
  void serve(Console& console) {
    if (signer_) console.set_signer(*signer_);
  }

private:
  std::optional<io::Signer> signer_;
};

/// From Begin to the end. After it a signal ends us as it would any program. SIGHUP ends us alone where
/// `leaving` can.
proto::Finish conduct(io::asio::io_context& io, io::Runner& runner, control::Leaving& leaving) {
  io::asio::signal_set signals{io};
  watch_user_signals(signals, [&](int signal) {
    if (signal == SIGHUP && leaving.is_possible())
      leaving.leave();
    else
      runner.dispatch(proto::UserSignal{signal});
  });
  runner.dispatch(proto::Begin{});
  if (!runner.finished()) io.run();
  return leaving.has_left() ? control::Leaving::finish() : runner.result();
}

/// Where others reach the running job. The lines of CCS come first: tools count lines.
Result<void> open_listeners(const Options& options, const Job& job, io::Runner& runner, Console& console) {
  if (job.ccs) {
    const auto lines = open_ccs(options, *job.ccs, runner);
    if (!lines) return lines.error();
    console.announce(*lines);
  }
  if (!options.view.dashboard) return {};
  const auto address = console.open_dashboard();
  if (!address) return address.error();
  print_own_line(proto::Tone::info, "dashboard: " + *address);
  return {};
}

void say_remarks(const Job& job, Console& console) {
  for (const std::string& remark : job.remarks) console.say(proto::Tone::info, remark);
  for (const std::string& note : job.notes) console.say(proto::Tone::verbose, note);
}

/// One launch after the other, then what they have told.
int run_doctor(const Options& options, const std::string& self) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto place = open_events(options);
  if (!place) return complain(place.error()), kLauncherFailed;
  auto job = make_job(options, self);
  if (!job) return complain(job.error()), kLauncherFailed;
  Doctor doctor{job->plan, io::wall_ms_at_zero()};
  for (auto plan = doctor.next(); plan; plan = doctor.next()) {
    Machinery around;
    job->plan = std::move(*plan);
    Signing signing{options, around.io, *job};
    Node node{job->plan, seed()};
    DoctorConsole console{around.io, options, *job, doctor};
    signing.serve(console);
    io::Runner runner{around.io, node, around.transports(), around.watch, &console};
    console.attach(runner, &node);
    say_remarks(*job, console);
    control::Leaving never{around.io, nullptr};
    proto::Finish result = conduct(around.io, runner, never);
    console.finish(result, {}, Console::kNoHurry);
    if (result.signal != 0) die_of(result.signal);
    if (result.status != 0) return result.status;  // too large a job, ++timelimit
    job->remarks.clear();
    job->key_places.clear();  // whatever is to be remembered has been by now
  }
  const Diagnosis diagnosis = diagnose(doctor.record());
  return tell(*place, diagnosis_text(diagnosis, options.view.quiet), diagnosis_json(diagnosis),
              diagnosis.would_work ? 0 : kLauncherFailed);
}

/// What the program printed could not be written; nobody wants what is behind a closed pipe.
bool is_lost(int output_failure) {
  return output_failure != 0 && output_failure != EPIPE;
}

EndRecord end_record(const proto::Finish& result, bool output_lost, const std::vector<Host>& hosts) {
  EndRecord end{result.status, result.signal, result.why, {}};
  if (output_lost) {
    end = {kLauncherFailed, 0, {}, {}};
    end.why.cause = proto::Cause::launcher;
    end.why.how = "cannot write to stdout";
  }
  if (end.why.host && *end.why.host < hosts.size()) end.host = hosts[*end.why.host].name;
  return end;
}

/// What outlives the job: reports and the history of logins.
void keep_records(const Options& options, const Job& job, const Node& node, const Console& console,
                  const proto::Finish& result, Duration wall) {
  StartupRecord record = console.startup();
  record.wall = wall;
  if (job.plan.job.is_numbered_late()) set_processes(record, node.hosts());
  record.end = end_record(result, is_lost(console.output_failure()), node.hosts());
  write_reports(options, record);
  const LoginLog& logins = console.logins();
  const std::string note = remember_logins(job.history_file, logins.samples(), logins.occupancy());
  if (options.view.verbose && !note.empty()) print_own_line(proto::Tone::verbose, note);
}

/// How each root begins: a write to a closed pipe fails and is no signal, and what ++timeline wants is known
/// before anything is done. The time at which it began.
Result<Instant> begin_root(const Options& options) {
  const Instant started = io::now();
  ::signal(SIGPIPE, SIG_IGN);
  if (options.view.timeline.empty()) return started;
  const auto format = timeline_format(options.view.timeline);
  return format ? Result<Instant>{started} : format.error();
}

/// Opens the control socket, by which other processes of the user find the job. A job has one charmrun on a
/// machine: another one cannot take it over.
Result<void> open_control(control::Listener& listener, const Job& job, Console& console) {
  const auto opened = listener.open(job.plan.job.id);
  if (opened) return {};
  if (job.plan.takes_over)
    return Error{Errc::refused, Phase::options, "the charmrun of job " + job.plan.job.id + " still runs here",
                 "charmrun ++list shows it"};
  console.say(proto::Tone::verbose,
              "++status, ++kill and others will not find this job: " + to_string(opened.error()));
  return {};
}

/// ++debug, ++in-xterm: a job whose processes nobody can let go on ends.
void fail_held(const Error& error, const Node& node, io::Runner& runner, Console& console) {
  if (!node.suspended()) return;
  console.say(proto::Tone::error, to_string(error));
  runner.dispatch(proto::UserSignal{SIGTERM});
}

/// ++kill, ++detach.
Result<void> obey(control::Order order, const Job& job, io::Runner& runner, Console& console,
                  control::Leaving& leaving) {
  if (order == control::Order::kill)
    return runner.dispatch(proto::UserSignal{signals::kKill}), Result<void>{};
  const wire::JobSpec& spec = job.plan.job;
  auto left = leaving.by_order(spec.id);
  if (left)
    console.say(proto::Tone::info, fmt::format("++detach: charmrun ++attach {} takes over within {:g} s",
                                               spec.id, seconds(spec.loss.keep_alive)));
  return left;
}

/// What a root has been given beside its job.
struct Extras {
  std::optional<EventWriter> events = {};
  std::optional<MpiexecStart> mpiexec = {};
  std::optional<TreeFile> tree = {};  // ++keep-alive
};

/// Of processes that are held until there is a window for each.
control::ControlPlane::HeldFor held_for(const Options& options) {
  using HeldFor = control::ControlPlane::HeldFor;
  if (options.debug.opens_prompts()) return HeldFor::prompts;
  return options.debug.in_xterm ? HeldFor::viewers : HeldFor::none;
}

/// A root, from Begin to its last word.
int run_job(const Options& options, Job& job, Machinery& around, Extras& extras, Instant started) {
  std::optional<MpiexecStart>& mpiexec = extras.mpiexec;
  proto::Finish result{0, 0};
  int output_failure = 0;
  control::Listener clients{around.io};  // to the end: a client that has given an order waits for it
  {
    Signing signing{options, around.io, job};
    Node node{job.plan, seed()};
    Console console{around.io, options, job, started};
    signing.serve(console);
    if (extras.tree) console.set_tree_file(*extras.tree);
    io::Runner runner{around.io, node, around.transports(), around.watch, &console};
    console.attach(runner, &node);
    if (extras.events) console.write_events(std::move(*extras.events));
    if (const auto opened = open_listeners(options, job, runner, console); !opened)
      return complain(opened.error()), kLauncherFailed;
    if (const auto opened = open_control(clients, job, console); !opened)
      return complain(opened.error()), kLauncherFailed;
    control::Leaving leaving{around.io, extras.tree ? &*extras.tree : nullptr};
    const auto status = [&] {
      return control::status_json(job.plan.job, ::getpid(), node.hosts(), node.status(), io::now() - started);
    };
    control::ControlPlane plane{
        around.io,
        clients,
        runner,
        console,
        {[&] { return node.status().processes; }, status,
         [&](control::Order order) { return obey(order, job, runner, console, leaving); }},
        held_for(options)};
    PromptWindows windows{around.watch, [&](const Error& error) { fail_held(error, node, runner, console); }};
    if (options.debug.opens_windows())
      console.when_held([&] {
        const auto opened = windows.open(options, job.plan.job.id, node.status().processes);
        if (!opened) return fail_held(opened.error(), node, runner, console);
        if (!opened->empty()) console.say(proto::Tone::info, *opened);
      });
    say_remarks(job, console);
    if (mpiexec) mpiexec->say_by([&](proto::Tone tone, const std::string& line) { console.say(tone, line); });
    result = conduct(around.io, runner, leaving);
    if (extras.tree && node.leaves_job()) extras.tree->leave();
    if (extras.tree) extras.tree->remove();
    const bool hurried = result.signal != 0 || result.why.cause == proto::Cause::time_limit;
    const bool written =
        console.finish(result, node.hosts(), hurried ? Console::kLastWords : Console::kNoHurry);
    plane.finish(result);
    output_failure = console.output_failure();
    keep_records(options, job, node, console, result, io::now() - started);
    if (!written && hurried) {  // the writer would wait for its reader
      if (result.signal != 0) die_of(result.signal);
      std::_Exit(result.status);
    }
  }
  around.command.finish();
  if (mpiexec) {
    mpiexec->say_by(
        [&options](proto::Tone tone, const std::string& line) { print_line(options, tone, line); });
    mpiexec->finish();
  }
  if (is_lost(output_failure)) return complain_of_output(output_failure), kLauncherFailed;
  if (result.signal != 0) die_of(result.signal);
  return result.status;
}

int run_root(const Options& options, const std::vector<std::string>& words) {
  const auto started = begin_root(options);
  if (!started) return complain(started.error()), kLauncherFailed;
  if (options.debug.opens_windows()) {
    if (const auto can = check_windows(options); !can) return complain(can.error()), kLauncherFailed;
  }
  Extras extras;
  auto events = open_events(options);
  if (!events) return complain(events.error()), kLauncherFailed;
  extras.events = std::move(*events);
  const std::string self = words.empty() ? "charmrun" : words[0];
  Machinery around;
  if (options.hosts.are_here()) around.local.start_early(launcher_path(options, self));  // while we plan
  auto job = make_job(options, self);
  if (!job) return complain(job.error()), kLauncherFailed;
  job->plan.tells_progress = Console::shows_progress(options);
  job->plan.shows_output = Console::shows_output(options);
  job->plan.job.spawn.held = is_debugged() || options.debug.opens_windows();
  if (options.time.keep_alive) extras.tree.emplace(tree_folder(), kept_tree(options, *job, words));

  const auto say = [&options](proto::Tone tone, const std::string& line) { print_line(options, tone, line); };
  if (options.connecting_starter()) {
    extras.mpiexec.emplace(around.io, around.watch, options, say);
    if (!job->ccs) {  // else nothing comes before the lines of its port
      print_remarks(options, *job);
      job->remarks.clear();
      job->notes.clear();
    }
    if (const auto over = extras.mpiexec->rendezvous(*job, *started)) {
      if (over->signal != 0) die_of(over->signal);
      return over->status;
    }
    around.mpiexec = &extras.mpiexec->transport();
  }
  const int status = run_job(options, *job, around, extras, *started);
  if (status == kNotFound && !job->plan.job.private_network && !options.process.stage_program)
    for (const std::string& line : missing_here(options)) print_line(options, proto::Tone::info, line);
  return status;
}

/// ++attach.
int run_attach(const Options& options, const std::string& self) {
  const auto started = begin_root(options);
  if (!started) return complain(started.error()), kLauncherFailed;
  auto made = attach(options, self);
  if (!made) return complain(made.error()), kLauncherFailed;
  auto events = open_events(options);
  if (!events) return complain(events.error()), kLauncherFailed;
  made->job.plan.tells_progress = Console::shows_progress(made->options);
  made->job.plan.shows_output = Console::shows_output(made->options);
  Machinery around;
  Extras extras;
  extras.events = std::move(*events);
  extras.tree.emplace(tree_folder(), std::move(made->tree), true);
  return run_job(made->options, made->job, around, extras, *started);
}

/// As conduct(); what ends us ends the session. A suspended one would leave its hosts alone.
proto::Finish conduct_session(io::asio::io_context& io, io::Runner& runner) {
  io::asio::signal_set signals{io};
  watch_user_signals(signals, [&runner](int signal) {
    if (signal == SIGTSTP)
      ::raise(SIGSTOP);
    else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)
      runner.dispatch(proto::SessionEnds{signal});
    else if (signal != SIGCONT)
      runner.dispatch(proto::UserSignal{signal});
  });
  runner.dispatch(proto::Begin{});
  if (!runner.finished()) io.run();
  return runner.result();
}

/// ++kill, ++end, ++detach.
Result<void> obey_in_session(control::Order order, SessionService& session) {
  if (order == control::Order::kill) return session.end(), Result<void>{};
  return Error{Errc::refused, Phase::run, "a session ends with its charmrun",
               "charmrun ++session ++background leaves it to itself"};
}

/// ++background, in the process that the user has started.
int tell_start(const Background::Start& start) {
  if (start.line.empty()) {
    if (start.signal != 0) die_of(start.signal);
    return start.status;
  }
  return std::fputs(start.line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : kLauncherFailed;
}

/// ++session: a tree, and whoever comes to run something over it.
int run_session(const Options& options, const std::string& self) {
  const auto started = begin_root(options);
  if (!started) return complain(started.error()), kLauncherFailed;
  auto background = options.background ? Background::begin() : Result<Background>{Background{}};
  if (!background) return complain(background.error()), kLauncherFailed;
  if (!background->is_session()) return tell_start(background->wait());
  auto job = make_job(options, self);
  if (!job) return complain(job.error()), kLauncherFailed;
  job->plan.tells_progress = Console::shows_progress(options);
  Machinery around;
  Signing signing{options, around.io, *job};
  Node node{job->plan, seed()};
  control::Listener clients{around.io};
  Console console{around.io, options, *job, *started};
  signing.serve(console);
  SessionService session{clients, options, *job, console};
  io::Runner runner{around.io, node, around.transports(), around.watch, &session};
  console.attach(runner, &node);
  session.attach(runner, node);
  session.when_ready([&] {
    if (!options.background) return;
    console.drain(Console::kLastWords);
    background->ready(job->plan.job.id + "\n");
  });
  if (const auto opened = clients.open(job->plan.job.id); !opened)
    return complain(opened.error()), kLauncherFailed;  // nothing would find it
  const auto status = [&] {
    return control::status_json(session.present(), ::getpid(), node.hosts(), node.status(),
                                io::now() - *started, session.status());
  };
  control::ControlPlane plane{around.io,
                              clients,
                              runner,
                              console,
                              {[&] { return session.present().processes; }, status,
                               [&](control::Order order) { return obey_in_session(order, session); }}};
  say_remarks(*job, console);
  proto::Finish result = conduct_session(around.io, runner);
  session.finish(result);
  console.finish(result, {}, Console::kLastWords);
  plane.finish(session.was_asked_to_end() ? proto::Finish{} : result);
  keep_records(options, *job, node, console, result, io::now() - *started);
  if (session.was_asked_to_end()) return 0;
  if (result.signal != 0) die_of(result.signal);
  return result.status;
}

/// ++in.
int run_in(const Options& options) {
  const Instant started = io::now();
  const auto id = await_session(
      options.job, [&](const std::string& line) { print_line(options, proto::Tone::info, line); });
  if (!id) return complain(id.error()), kLauncherFailed;
  const auto end = run_in_session(options, *id, started);
  if (!end) return complain(end.error()), kLauncherFailed;
  if (is_lost(end->output_failure)) return complain_of_output(end->output_failure), kLauncherFailed;
  if (end->result.signal != 0) die_of(end->result.signal);
  return end->result.status;
}

/// Descriptors 0, 1 and 2 exist from here on: a closed one would be taken by the next file or socket.
void fill_standard_descriptors() {
  int fd = 0;
  while ((fd = ::open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO) continue;
  if (fd > STDERR_FILENO) ::close(fd);
}

int run_for_singleton(const mpiexec::Singleton& program);

int run(const std::vector<std::string>& arguments) {
  if (is_launcher_mode(arguments)) return run_launcher();
  if (is_rank_mode(arguments)) return run_rank();
  if (const auto status = io::run_pmix_helper(arguments)) return *status;
  if (const auto status = io::run_stack_helper(arguments)) return *status;
  if (const auto failure = mpiexec::run_singleton_relay(arguments))
    return failure->empty() ? 0 : (print_own_line(proto::Tone::error, *failure), kLauncherFailed);
  if (const auto program = mpiexec::singleton_of(arguments)) return run_for_singleton(*program);
  const auto line = read_command_line(arguments);
  if (!line) return complain(line.error()), kLauncherFailed;
  const Options& options = line->options;
  if (options.help || options.version) return std::fputs(line->text.c_str(), stdout), 0;
  for (const std::string& remark : line->remarks) print_line(options, proto::Tone::info, remark);
  switch (options.mode) {
    case Mode::plan:
      return show_plan(options, arguments[0]);
    case Mode::doctor:
      return run_doctor(options, arguments[0]);
    case Mode::session:
      return run_session(options, arguments[0]);
    case Mode::in:
      return run_in(options);
    case Mode::attach:
      return run_attach(options, arguments[0]);
    case Mode::run:
      return run_root(options, arguments);
    case Mode::replace_charm4py:
    case Mode::restore_charm4py:
      return change_charm4py(options);
    default:
      return ask_running_job(options);
  }
}

/// Runs the job of a program that was started without launcher, and ends the program with it if it fails.
int run_for_singleton(const mpiexec::Singleton& program) {
  Options own;
  own.is_mpiexec = true;
  const int status = run(mpiexec::job_of(program, launcher_path(own, "charmrun")));
  if (status != 0) mpiexec::end_program(program);
  return status;
}

/// Output passes through blocks of 64 KiB and more, which malloc would give back to the kernel each time, to
/// get them again page by page: that is half the cost of carrying it.
void keep_freed_memory() {
  constexpr int kMostKept = 16 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kMostKept);
  ::mallopt(M_MMAP_THRESHOLD, kMostKept);
}

/// Returns the error of a stack that is too small for us: we would end by SIGSEGV.
std::optional<Error> stack_error() {
  constexpr rlim_t kLeast = 512U << 10;  // bytes
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast) return {};
  return Error{Errc::bad_input, Phase::run,
               fmt::format("the stack may have only {} KiB (ulimit -Hs), charmrun needs {}",
                           limit.rlim_cur >> 10U, kLeast >> 10U),
               "raise the limit"};
}

/// Without what each library says of its own around it.
std::string system_words(const std::exception& error) {
  if (const auto* of_system = dynamic_cast<const std::system_error*>(&error))
    return of_system->code().message();
  if (const auto* of_boost = dynamic_cast<const io::system_error*>(&error)) return of_boost->code().message();
  return error.what();
}

}  // namespace

int main(int argc, char** argv) {
  io::take_all_signals();
  keep_freed_memory();
  fill_standard_descriptors();
  io::raise_descriptor_limit();
  if (const auto error = stack_error()) return complain(*error), kLauncherFailed;
  try {
    return run({argv, argv + argc});
  } catch (const std::exception& error) {  // out of memory, threads or descriptors
    complain({Errc::internal, Phase::run, system_words(error), "see ulimit -a"});
    return kLauncherFailed;
  }
}
