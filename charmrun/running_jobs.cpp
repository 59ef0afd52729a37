// SPDX-License-Identifier: Apache-2.0
#include "charmrun/running_jobs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "charmrun/ccs/ccs_client.hpp"
#include "charmrun/control/debug_client.hpp"
#include "charmrun/control/order_service.hpp"
#include "charmrun/control/rootless_jobs.hpp"
#include "charmrun/control/stack_service.hpp"
#include "charmrun/control/status_service.hpp"
#include "charmrun/control/status_text.hpp"
#include "charmrun/control/tool_client.hpp"
#include "charmrun/control/view_client.hpp"
#include "charmrun/debug/prompt.hpp"
#include "charmrun/debug/prompt_windows.hpp"
#include "charmrun/machinery.hpp"
#include "charmrun/report/stack_tree.hpp"
#include "charmrun/told.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

/// Returns why the only job that `wanted` names has no charmrun here. Nothing: `wanted` names jobs that have
/// one, or several, or none.
std::optional<Error> without_charmrun(const control::RunningJobs& running, const std::string& wanted) {
  for (const std::string& answer : running.answers) {
    if (control::id_of(answer).starts_with(wanted)) return std::nullopt;
  }
  std::vector<control::RootlessJob> jobs = control::rootless_jobs(running);
  std::erase_if(jobs, [&](const control::RootlessJob& job) { return !job.id.starts_with(wanted); });
  if (jobs.size() != 1) return std::nullopt;
  return control::rootless_error(jobs.front(), io::wall_ms(), io::own_host_name());
}

/// Returns the status of the job that `wanted` names, as its charmrun sends it. Errors: those of choose_job
/// and without_charmrun.
Result<std::string> find_job(const std::string& wanted) {
  const control::RunningJobs running = control::find_running_jobs();
  auto chosen = control::choose_job(running.answers, wanted, running.silent);
  if (chosen) return chosen;
  const auto rootless = without_charmrun(running, wanted);
  return rootless ? *rootless : chosen.error();
}

/// The same for what looks at processes: an error, too, if none can be there.
Result<std::string> find_program(const std::string& wanted) {
  auto chosen = find_job(wanted);
  if (!chosen || !control::is_idle(*chosen)) return chosen;
  const std::string id = control::id_of(*chosen);
  return Error{Errc::bad_input, Phase::options, fmt::format("no program runs in session {} now", id),
               fmt::format("charmrun ++in {} runs one", id)};
}

/// ++list, ++status.
int show_running(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto place = open_events(options);
  if (!place) return complain(place.error()), kLauncherFailed;
  if (options.mode == Mode::list) {
    const control::RunningJobs running = control::find_running_jobs();
    const std::vector<control::RootlessJob> rootless = control::rootless_jobs(running);
    const std::int64_t now = io::wall_ms();
    const std::string here = io::own_host_name();
    return tell(*place, control::list_text(running.answers) + control::rootless_text(rootless, now, here),
                control::list_json(running.answers, rootless, now, here), 0);
  }
  const auto chosen = find_job(options.program);
  if (!chosen) return complain(chosen.error()), kLauncherFailed;
  return tell(*place, control::status_text(*chosen), *chosen, 0);
}

/// ++ccs.
int ask_handler(const Options& options) {
  auto question = read_ccs_question(options.arguments);
  if (!question) return complain(question.error()), kLauncherFailed;
  if (question->data_from_stdin) {
    std::array<char, 64U << 10> part;
    for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), stdin)) > 0;)
      question->request.data.append(part.data(), got);
  }
  auto reply = ask_ccs(*question, options.ccs.keys);
  if (!reply) return complain(reply.error()), kLauncherFailed;
  if (!*reply) return 0;
  const std::string text = show_reply(std::move(**reply), ::isatty(STDOUT_FILENO) == 1);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : kLauncherFailed;
}

/// ++end.
int run_end(const Options& options) {
  const auto id = control::choose_session(control::ask_running_jobs(), options.program);
  if (!id) return complain(id.error()), kLauncherFailed;
  const auto ended = control::give_order(*id, control::Order::kill);
  return ended ? 0 : (complain(ended.error()), kLauncherFailed);
}

/// ++kill, ++detach.
int run_order(const Options& options) {
  const auto chosen = find_job(options.program);
  if (!chosen) return complain(chosen.error()), kLauncherFailed;
  const auto done = control::give_order(
      control::id_of(*chosen), options.mode == Mode::kill ? control::Order::kill : control::Order::detach);
  return done ? 0 : (complain(done.error()), kLauncherFailed);
}

/// ++draw.
Result<StackFormat> format_of(const std::string& file) {
  if (file.ends_with(".svg")) return StackFormat::svg;
  if (file.ends_with(".dot")) return StackFormat::dot;
  return Error{Errc::bad_input, Phase::options,
               fmt::format("++draw {}: unknown kind of file", quotable(file)),
               "use a name that ends in .svg (picture) or .dot (STATview, dot)"};
}

/// ++stack-trees.
int show_stack_trees(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string& drawing = options.view.draw;
  const auto format = drawing.empty() ? Result<StackFormat>{StackFormat::text} : format_of(drawing);
  if (!format) return complain(format.error()), kLauncherFailed;
  const auto place = open_events(options);
  if (!place) return complain(place.error()), kLauncherFailed;
  const auto chosen = find_program(options.program);
  if (!chosen) return complain(chosen.error()), kLauncherFailed;
  const auto answer = control::ask_stacks(control::id_of(*chosen), options.view.all_frames);
  if (!answer) return complain(answer.error()), kLauncherFailed;
  const StackReport& report = *answer;
  if (!drawing.empty()) {
    std::ofstream file(drawing, std::ios::binary | std::ios::trunc);
    file << show_stacks(report, *format);
    if (!file.flush())
      return complain({Errc::bad_input, Phase::options, "cannot write " + quotable(drawing), {}}),
             kLauncherFailed;
  }
  return tell(*place, show_stacks(report, StackFormat::text), show_stacks(report, StackFormat::json), 0);
}

/// "JOB:PROCESSES", or one of the two.
struct JobWords {
  std::string job, processes;
};
JobWords read_job(const std::string& words, bool alone_is_processes = false) {
  const std::size_t colon = words.rfind(':');
  if (colon != std::string::npos) return {words.substr(0, colon), words.substr(colon + 1)};
  return alone_is_processes ? JobWords{"", words} : JobWords{words, ""};
}

/// ++exec, ++dap.
int run_beside(const Options& options) {
  const auto [job, processes] = read_job(options.program);
  const auto chosen = find_program(job);
  if (!chosen) return complain(chosen.error()), kLauncherFailed;
  const std::string id = control::id_of(*chosen);
  if (options.mode == Mode::dap && processes.empty() && control::processes_of(*chosen) != 1) {
    complain({Errc::bad_input, Phase::options, "++dap debugs one process, and the job has several",
              "charmrun ++dap " + id + ":PROCESS"});
    return kLauncherFailed;
  }
  const auto status = options.mode == Mode::dap
                          ? control::run_dap(id, processes, options)
                          : control::run_exec(id, processes, options.arguments, options);
  return status ? *status : (complain(status.error()), kLauncherFailed);
}

/// ++gdb, ++tmux.
int show_prompt(const Options& options) {
  const auto [job, processes] = read_job(options.program, options.mode == Mode::tmux);
  const auto chosen = find_program(job);
  if (!chosen) return complain(chosen.error()), kLauncherFailed;
  if (options.mode == Mode::tmux) {
    const auto set = read_processes(processes, control::processes_of(*chosen));
    return complain(set ? become_tmux(options, control::id_of(*chosen), *set) : set.error()), kLauncherFailed;
  }
  const auto end = control::run_gdb(control::id_of(*chosen), processes, options.debug);
  if (!end) return complain(end.error()), kLauncherFailed;
  if (!end->empty()) print_own_line(proto::Tone::info, *end);
  return 0;
}

/// ++view.
int view_job(const Options& options) {
  const auto [job, processes] = read_job(options.program);
  const auto chosen = find_job(job);
  if (!chosen) return complain(chosen.error()), kLauncherFailed;
  const auto end = control::run_view(control::id_of(*chosen), processes, options);
  if (!end) return complain(end.error()), kLauncherFailed;
  if (end->output_failure == 0 || end->output_failure == EPIPE) return end->status;
  return complain_of_output(end->output_failure), kLauncherFailed;
}

}  // namespace

int ask_running_job(const Options& options) {
  switch (options.mode) {
    case Mode::ccs:
      return ask_handler(options);
    case Mode::stack_trees:
      return show_stack_trees(options);
    case Mode::view:
      return view_job(options);
    case Mode::gdb:
    case Mode::tmux:
      return show_prompt(options);
    case Mode::dap:
    case Mode::exec:
      return run_beside(options);
    case Mode::end:
      return run_end(options);
    case Mode::detach:
    case Mode::kill:
      return run_order(options);
    default:
      return show_running(options);
  }
}

}  // namespace charmtree
