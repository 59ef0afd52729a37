// SPDX-License-Identifier: Apache-2.0
// One pass over argv: each word is an option of ours (with its value in the same or the next word) or is kept
// for the program.
#include "charmrun/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "charmrun/cli/foreign_words.hpp"
#include "charmrun/cli/option_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::string_view kNo = "no-";
constexpr std::string_view kReplay = "+replay-detail";  // of Charm++ programs
constexpr std::string_view kEndHint = "words for the program go behind a lone ++";

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// What a word of argv is. No row: a word of the program.
struct Match {
  const OptionRow* row = nullptr;
  bool on = true;                         // false: the ++no- form
  std::optional<std::string_view> value;  // in the same word (+p4)
};

Error unknown_option(std::string_view word) {
  const std::string_view name = word.substr(2);
  if (find_mode(name) != nullptr)
    return bad_input(fmt::format("{} can only be the first word", word),
                     fmt::format("charmrun {} ...", word));
  const std::string what = fmt::format("unknown option '{}'", quotable(word));
  if (const auto equals = name.find('=');
      equals != std::string_view::npos && find_option(name.substr(0, equals)))
    return bad_input(what, fmt::format("write its value as the next word: ++{} {}", name.substr(0, equals),
                                       quotable(name.substr(equals + 1))));
  if (const auto guess = guess_option(name); !guess.empty())
    return bad_input(what, fmt::format("did you mean ++{}? ({})", guess, kEndHint));
  return bad_input(what, fmt::format("++help lists all; {}", kEndHint));
}

Result<Match> match_long(std::string_view word) {
  const std::string_view name = word.substr(2);
  if (const OptionRow* row = find_option(name)) return Match{row};
  if (name.starts_with(kNo)) {
    if (const OptionRow* row = find_option(name.substr(kNo.size()))) {
      if (row->is_flag()) return Match{row, false};
      return bad_input(fmt::format("++{} takes a value and so has no form {}", row->name, quotable(word)),
                       "leave it out to get its default");
    }
  }
  return unknown_option(word);
}

Result<Match> match_word(std::string_view word) {
  if (word.starts_with("++")) return match_long(word);
  if (word == "+") return bad_input("a lone + is no option", std::string(kEndHint));
  if (word.size() < 2 || word.front() != '+' || (word.size() > 2 && is_letter(word[2]))) return Match{};
  const OptionRow* row = find_option(word.substr(1, 1));
  if (row == nullptr) return Match{};
  return word.size() == 2 ? Match{row} : Match{row, true, word.substr(2)};
}

/// The word behind ++in is a session's number if it looks like one.
bool is_number_of_job(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The mode that the first word chooses, or nullptr.
const ModeRow* mode_of(std::span<const std::string> argv) {
  return argv.size() > 1 && argv[1].starts_with("++") ? find_mode(argv[1].substr(2)) : nullptr;
}

/// A tree and what runs over it have options of their own; what is about jobs that run has hardly any.
Result<void> check_part(const OptionRow& row, const Options& options) {
  if (!has_meaning(row, options.mode)) {
    if (options.mode == Mode::attach)
      return bad_input(fmt::format("++attach has no use for ++{}", row.name),
                       "a job keeps what it was started with");
    return bad_input(fmt::format("++{} has no meaning with ++{}", row.name, name(options.mode)),
                     "leave it out");
  }
  if (options.mode != Mode::session && options.mode != Mode::in) return {};
  switch (session_part(row)) {
    case SessionPart::both:
      return {};
    case SessionPart::neither:
      return bad_input(fmt::format("++{} and sessions exclude each other", row.name),
                       "start the program by itself");
    case SessionPart::tree:
      if (options.mode == Mode::session) return {};
      return bad_input(fmt::format("++{} is for the session as a whole", row.name),
                       fmt::format("charmrun ++session ++{} ...", row.name));
    case SessionPart::run:
      if (options.mode == Mode::in) return {};
      return bad_input(fmt::format("++{} is for what runs in the session", row.name),
                       fmt::format("charmrun ++in ++{} ... program", row.name));
  }
  return {};
}

/// For messages about counts that do not agree.
void remember_typed(const OptionRow& row, std::string typed, Options& options) {
  Options::Counts& counts = options.counts;
  const auto* count = std::get_if<OptionMember<std::uint32_t>>(&row.target);
  if (count == nullptr) return;
  const std::uint32_t* set = &count->in(options);
  if (set == &counts.pes)
    counts.typed.pes = std::move(typed);
  else if (set == &counts.processes)
    counts.typed.processes = std::move(typed);
  else if (set == &counts.pes_per_process)
    counts.typed.pes_per_process = std::move(typed);
}

// Takes our options into `options` and returns the words that are not ours.
Result<std::vector<std::string>> scan(std::span<const std::string> typed, Options& options) {
  std::vector<std::string> argv{typed.begin(), typed.end()};
  std::vector<std::string> rest;
  std::set<const OptionRow*> seen;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (rest.empty() && argv[i] == "--") argv[i] = "++";
    if (rest.empty() && argv[i].size() > 1 && argv[i].front() == '-') {
      auto said = say_in_ours(std::span{argv}.subspan(i));
      if (!said) return said.error();
      const auto place = argv.begin() + static_cast<std::ptrdiff_t>(i);
      argv.insert(argv.erase(place, place + static_cast<std::ptrdiff_t>(said->used)), said->words.begin(),
                  said->words.end());
      --i;
      continue;
    }
    const std::string word = argv[i];
    if (word == "++") {
      rest.insert(rest.end(), argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end());
      break;
    }
    if (options.mode == Mode::exec && !rest.empty()) {  // a command, with options of its own
      rest.insert(rest.end(), argv.begin() + static_cast<std::ptrdiff_t>(i), argv.end());
      break;
    }
    const auto match = match_word(word);
    if (!match) return match.error();
    if (match->row == nullptr) {
      rest.push_back(word);
      continue;
    }
    if (auto fits = check_part(*match->row, options); !fits) return fits.error();
    OptionValue value{match->on, {}};
    if (!match->row->is_flag()) {
      if (!match->row->is_repeatable() && !seen.insert(match->row).second)
        return bad_input(fmt::format("'{}' is used more than once", quotable(word)), "leave one of them out");
      if (!match->value && i + 1 == argv.size())
        return bad_input(fmt::format("'{}' needs a value: {} {}", word, word, match->row->value));
      if (!match->value && argv[i + 1].starts_with("++"))
        return bad_input(fmt::format("'{}' needs a value, but '{}' follows: {} {}", word,
                                     quotable(argv[i + 1]), word, match->row->value));
      value.text = match->value ? *match->value : std::string_view(argv[++i]);
    }
    if (auto set = set_option(*match->row, value, options); !set) return set.error();
    options.given.push_back(match->row->name);
    remember_typed(*match->row, match->value ? word : fmt::format("{} {}", word, value.text), options);
  }
  return rest;
}

Error not_a_program(const std::string& word) {
  return bad_input(fmt::format("charmrun does not know the option '{}'", quotable(word)),
                   "its own options begin with ++; those of the program stand behind the program's name");
}

/// ++exec: on whose hosts, and what.
Result<void> take_command(std::vector<std::string> words, Options& options) {
  if (options.help || options.version) return {};
  if (words.empty() || words.front().find(':') == std::string::npos)
    return bad_input(fmt::format("++exec needs to know where: {} is no JOB:PROCESSES",
                                 words.empty() ? "nothing" : quotable(words.front())),
                     "charmrun ++exec : uptime runs it on all hosts of the only job, ++exec 7a:3 on that of "
                     "process 3 of job 7a");
  if (words.size() == 1) return bad_input("++exec needs a command", "charmrun ++exec : uptime");
  options.program = std::move(words.front());
  options.arguments.assign(std::make_move_iterator(words.begin() + 1), std::make_move_iterator(words.end()));
  return {};
}

/// Of modes that are about jobs that run already.
Result<void> take_job(std::vector<std::string> words, Options& options) {
  if (options.mode == Mode::exec) return take_command(std::move(words), options);
  const std::size_t most = options.mode == Mode::list ? 0 : 1;
  if (words.size() > most)
    return bad_input(
        fmt::format("'{}' has no meaning here", quotable(words[most])),
        fmt::format("charmrun ++{} {}", name(options.mode), find_mode(name(options.mode))->words));
  if (!words.empty()) options.program = words.front();
  if (options.mode == Mode::kill && words.empty() && !options.help && !options.version)
    return bad_input("++kill needs the job that is to end",
                     "charmrun ++kill JOB; charmrun ++list shows them");
  return {};
}

Result<void> take_program(std::vector<std::string> words, Options& options) {
  if (is_about_running_jobs(options.mode)) return take_job(std::move(words), options);
  if (options.mode == Mode::session && !words.empty())
    return bad_input(fmt::format("++session has no use for '{}'", quotable(words.front())),
                     "start it without a program, and run programs by charmrun ++in");
  if (options.mode == Mode::ccs) {
    options.arguments = std::move(words);
    return {};
  }
  if (words.empty()) {
    if (options.help || options.version || (options.mode != Mode::run && options.mode != Mode::in)) return {};
    if (options.process.interactive) words = {"python3", "-m", "charm4py.interactive"};
  }
  if (words.empty()) {
    return bad_input("no program was given", "charmrun [options] program [arguments]; ++help shows more");
  }
  if (words.front().empty()) return bad_input("the program's name is empty");
  if (words.front().front() == '-' || words.front().front() == '+') return not_a_program(words.front());
  options.program = std::move(words.front());
  options.arguments.assign(std::make_move_iterator(words.begin() + 1), std::make_move_iterator(words.end()));
  return {};
}

// Charm++'s order. A list that the user named must exist; ++local and ++hosts read none.
std::vector<NodelistPlace> places(const Options& options, const OptionEnvironment& environment) {
  if (options.hosts.are_here()) return {};
  if (!options.hosts.nodelist.empty()) return {{options.hosts.nodelist, "++nodelist", true}};
  if (!environment.nodelist.empty()) return {{environment.nodelist, "$NODELIST", true}};
  if (environment.is_mpiexec) return {};
  std::vector<NodelistPlace> usual = {{"nodelist", "", false}};
  if (!environment.home.empty()) usual.push_back({environment.home + "/.nodelist", "", false});
  return usual;
}

/// What options and the program's own words say beyond themselves.
void imply(Options& options) {
  if (options.view.verbose) options.view.quiet = false;
  Options::Launch& launch = options.launch;
  if ((launch.mpiexec || launch.mpiexec_without_count) && !find_connecting_starter(launch.transport))
    launch.transport = StartedBy::mpiexec;
  if (options.ccs.port != 0 || !options.ccs.host.empty() || !options.ccs.keys.empty())
    options.ccs.wanted = true;
  if (!options.ccs.denied.empty() || options.ccs.any_user || options.ccs.timeout) options.ccs.wanted = true;
  const auto& given = options.given;
  if (options.recovery.on_failure == wire::OnFailure::abort &&
      std::find(given.begin(), given.end(), "on-failure") != given.end())
    options.process.kill_on_exit = true;
  const auto& words = options.arguments;
  if (std::find(words.begin(), words.end(), kReplay) == words.end()) return;
  options.counts.pes = 1;  // the log of one PE is replayed by that PE alone
  options.counts.processes = options.counts.pes_per_process = 0;
}

/// An option, or several of a kind, with whether it was given.
using Said = std::pair<bool, std::string_view>;

/// The name of the first of them that was; empty: none.
std::string_view first_said(std::initializer_list<Said> options) {
  const auto* found =
      std::find_if(options.begin(), options.end(), [](const Said& each) { return each.first; });
  return found == options.end() ? std::string_view{} : found->second;
}

/// mpiexec chooses the hosts and is run once, before anything is known of them.
Result<void> check_mpiexec(const Options& o) {
  const ConnectingStarter* starter = o.connecting_starter();
  if (!starter) return {};
  const std::string_view name = first_said({
      {o.mode == Mode::plan, "++plan"},
      {o.mode == Mode::doctor, "++doctor"},
      {o.mode == Mode::session, "++session"},
      {o.hosts.virtual_hosts > 0, "++hosts"},
      {o.placement.is_by_processes(), "++processPer*"},
      {o.placement.is_by_workers(), "++oneWthPer*"},
      {o.placement.auto_provision, "++auto-provision"},
      {o.launch.branching > 0, "++branching"},
      {o.launch.levels > 0, "++levels"},
      {o.host_failure.policy != wire::OnHostFailure::abort, "++on-host-failure"},
      {o.host_failure.wait > Duration{0}, "++wait-hosts"},
      {o.launch.forward_agent, "++forward-agent"},
  });
  if (name.empty()) return {};
  return bad_input(fmt::format("{} and {} exclude each other", starter->option, name),
                   fmt::format("{} chooses the hosts and starts a launcher on each", starter->name));
}

}  // namespace

Result<void> check_output(const Options& o) {
  if (auto label = label_of(o); !label) return label.error();
  const std::string_view not_raw = first_said({{o.output.label, "++label"},
                                               {!o.output.label_format.empty(), "++label-format"},
                                               {o.output.timestamp, "++timestamp"}});
  if (o.output.raw && !not_raw.empty())
    return bad_input(fmt::format("++raw and {} exclude each other", not_raw),
                     "++raw passes bytes on as they come");
  if (auto file = file_name_of(o); !file) return file.error();
  if (!o.output.fold.value_or(false) || may_fold(o)) return {};
  if (!o.output.raw && o.output.file.empty())
    return bad_input("++fold needs %r in ++label-format", "it says whose line it is");
  return bad_input(fmt::format("++fold and {} exclude each other", o.output.raw ? "++raw" : "++output"),
                   "equal lines of several processes become one on the screen");
}

namespace {

Result<void> check_restart(const Options& options) {
  if (options.recovery.on_failure == wire::OnFailure::restart) {
    if (!options.process.interactive) return {};
    return bad_input("++interactive and ++on-failure restart exclude each other",
                     "what has been typed cannot be typed again");
  }
  const std::string_view only_then =
      first_said({{options.recovery.restart_arguments.has_value(), "++restart-args"},
                  {options.recovery.shrink_ok, "++shrink-ok"},
                  {options.recovery.fast_failover, "++fast-failover"}});
  if (only_then.empty()) return {};
  return bad_input(fmt::format("{} without ++on-failure restart", only_then), "say both");
}

/// Another root could not go on with these.
Result<void> check_kept(const Options& options) {
  if (!options.time.keep_alive) return {};
  const ConnectingStarter* starter = options.connecting_starter();
  const std::string_view name =
      first_said({{options.recovery.on_failure == wire::OnFailure::restart, "++on-failure restart"},
                  {starter != nullptr, starter ? starter->option : ""},
                  {options.process.interactive, "++interactive"},
                  {options.ccs.wanted, "++server"},
                  {!options.output.file.empty(), "++output"}});
  if (name.empty()) return {};
  return bad_input(fmt::format("++keep-alive and {} exclude each other", name),
                   "who takes over by ++attach could not go on with it");
}

Result<void> check_together(const Options& options) {
  if (options.background && options.mode != Mode::session)
    return bad_input("++background is for sessions", "charmrun ++session ++background ...");
  if (auto agree = check_output(options); !agree) return agree.error();
  if (options.hosts.virtual_hosts > 0 && !options.hosts.nodelist.empty())
    return bad_input("++hosts and ++nodelist exclude each other",
                     "++hosts plays hosts on this machine alone");
  if (options.hosts.are_here() && !(options.hosts.chosen.empty() && options.hosts.excluded.empty()))
    return bad_input(fmt::format("{} and {} exclude each other", options.hosts.local ? "++local" : "++hosts",
                                 options.hosts.chosen.empty() ? "++exclude" : "++host"),
                     "with it all runs on this machine");
  if ((options.host_failure.spares > 0) != (options.host_failure.policy == wire::OnHostFailure::spare))
    return bad_input("++spare-hosts and ++on-host-failure spare belong together",
                     "say both: ++on-host-failure spare ++spare-hosts N");
  if (options.process.kill_on_exit && options.recovery.on_failure == wire::OnFailure::go_on)
    return bad_input("++kill-on-exit and ++on-failure continue exclude each other",
                     "with ++on-failure continue the others go on when a process fails");
  if (options.mode == Mode::in && options.recovery.on_failure != wire::OnFailure::abort)
    return bad_input("sessions know no ++on-failure but abort", "start the program by itself");
  if (auto good = check_restart(options); !good) return good.error();
  if (auto good = check_kept(options); !good) return good.error();
  if (options.time.detect_within < kLeastDetectWithin || options.time.detect_within > kMostDetectWithin)
    return bad_input(fmt::format("++detect-within cannot be {:g} s", seconds(options.time.detect_within)),
                     "say 0.1 to 8: the kernel itself gives a silent connection up after 10 s");
  if (options.time.orphan_after < options.time.detect_within)
    return bad_input("++orphan-after is less than ++detect-within",
                     "a host would end its processes before it can be known whether it has to");
  if (options.time.hang_action == HangAction::kill && !options.time.hang_after)
    return bad_input("++hang-action kill and ++hang-after -1 exclude each other",
                     "with -1 nobody is found to hang");
  if (options.hosts.nodelist == "-" && (options.process.interactive || options.process.input))
    return bad_input(fmt::format("++nodelist - and {} exclude each other",
                                 options.process.interactive ? "++interactive" : "++stdin"),
                     "stdin has the hosts");
  if (options.process.interactive && options.process.input)
    return bad_input("++interactive and ++stdin exclude each other",
                     "with ++interactive process 0 gets what is typed");
  if (options.launch.batch != 0 && options.launch.max_logins != 0)
    return bad_input("++batch and ++maxssh exclude each other",
                     "++batch fixes how many logins there are at a time, ++maxssh limits it");
  return check_mpiexec(options);
}

Result<void> use_environment(const OptionEnvironment& environment, Options& options) {
  if (!environment.daemon.empty() && !options.hosts.are_here())
    return bad_input("CONV_DAEMON is set, but charmd, which has no authentication, is not used",
                     "unset CONV_DAEMON: hosts are logged in to by ssh");
  if (options.address.own.empty()) options.address.own = environment.address;
  if (options.ccs.host.empty()) options.ccs.host = environment.server_host;
  if (!options.launch.remote_shell.empty() || environment.remote_shell.empty() ||
      options.connecting_starter())
    return {};
  auto words = split_command(environment.remote_shell);
  if (!words)
    return bad_input(fmt::format("$CONV_RSH cannot be '{}'", quotable(environment.remote_shell)),
                     "it takes a command, with closed quotes");
  options.launch.remote_shell = std::move(*words);
  return {};
}

}  // namespace

bool is_launcher_mode(std::span<const std::string> argv) {
  return argv.size() == 2 && argv[1] == "++launcher";
}

bool is_rank_mode(std::span<const std::string> argv) {
  return argv.size() == 2 && argv[1] == kRankWord;
}

Result<Label> label_of(const Options& options, bool folding) {
  std::string text = options.output.timestamp ? "%t " : "";
  text += !options.output.label_format.empty() ? options.output.label_format
          : options.output.label || folding    ? "[%r] "
                                               : "";
  return Label::parse(text);
}

Result<Label> file_name_of(const Options& options) {
  auto name = Label::parse(options.output.file, {"output", "rhs"});
  if (name && !name->empty() && !name->names_processes())
    return bad_input(
        fmt::format("++output cannot be '{}'", quotable(options.output.file)),
        "it takes the name of a file for each process, with its number for %r, such as DIR/%r.out");
  return name;
}

bool may_fold(const Options& options) {
  const auto label = label_of(options, true);
  return !options.output.raw && options.output.file.empty() && label && label->names_processes();
}

namespace {

using Words = std::span<const std::string>;

/// At each lone `:`, up to a lone `++`, behind which all words are the last program's.
std::vector<Words> split_programs(Words words) {
  const auto is = [](std::string_view what) {
    return [what](const std::string& word) { return word == what; };
  };
  const auto end = std::find_if(words.begin(), words.end(), is("++"));
  std::vector<Words> parts;
  auto begin = words.begin();
  for (auto colon = std::find_if(begin, end, is(":")); colon != end;
       colon = std::find_if(begin, end, is(":"))) {
    parts.emplace_back(begin, colon);
    begin = colon + 1;
  }
  parts.emplace_back(begin, words.end());
  return parts;
}

/// Of one of several programs.
Result<std::uint32_t> processes_of(const Options& options) {
  const Options::Counts& counts = options.counts;
  if (counts.pes_per_process > 0 || (counts.pes > 0 && counts.processes > 0))
    return bad_input("each of several programs has one number of processes", "give it by +p or ++n alone");
  return std::max({counts.pes, counts.processes, 1U});
}

/// `words`: what is between two `:`, behind our own name.
Result<FurtherCommand> further_command(Words words) {
  std::vector<std::string> named{"charmrun"};
  named.insert(named.end(), words.begin(), words.end());
  Options options;
  auto rest = scan(named, options);
  if (!rest) return rest.error();
  for (const std::string_view name : options.given) {
    static constexpr std::array<std::string_view, 4> kOwn = {"p", "n", "np", "env"};
    if (std::find(kOwn.begin(), kOwn.end(), name) == kOwn.end())
      return bad_input(fmt::format("++{} behind a ':' is for all programs", name),
                       "write it in front of the first one");
  }
  if (rest->empty()) return bad_input("no program was given behind a ':'", "charmrun +p2 ./a : +p6 ./b");
  auto processes = processes_of(options);
  if (!processes) return processes.error();
  if (auto program = take_program(std::move(*rest), options); !program) return program.error();
  return FurtherCommand{*processes, std::move(options.program), std::move(options.arguments),
                        std::move(options.process.variables)};
}

/// What gives a job another number of processes than the one that is divided among its programs.
Result<void> check_further(const Options& o) {
  const std::string_view name = first_said({
      {o.mode == Mode::doctor, "++doctor"},
      {o.placement.is_by_processes() && !o.placement.fills_hosts(o.counts), "++processPer*"},
      {o.placement.is_by_workers(), "++oneWthPer*"},
      {o.placement.auto_provision, "++auto-provision"},
      {o.host_failure.policy == wire::OnHostFailure::drop, "++on-host-failure drop"},
      {o.recovery.restart_arguments.has_value(), "++restart-args"},
      {o.recovery.shrink_ok, "++shrink-ok"},
  });
  if (name.empty()) return {};
  return bad_input(fmt::format("{} and several programs exclude each other", name),
                   "it is for a job of one program");
}

/// The first program's number of processes becomes that of all.
Result<void> add_further(std::vector<FurtherCommand> commands, Options& options) {
  if (options.program.empty()) return bad_input("no program was given in front of the ':'");
  auto first = processes_of(options);
  if (!first) return first.error();
  std::uint64_t all = *first;
  for (const FurtherCommand& command : commands) all += command.processes;
  options.further = std::move(commands);
  if (all > kMaxProcesses)
    return bad_input(
        fmt::format("the programs have {} processes; at most {} are possible", all, kMaxProcesses));
  options.counts.pes = 0;
  options.counts.processes = static_cast<std::uint32_t>(all);
  options.counts.typed = {};
  return check_further(options);
}

}  // namespace

Result<Options> parse_options(std::span<const std::string> argv, const OptionEnvironment& environment,
                              std::vector<FurtherCommand> further) {
  Options options;
  options.is_mpiexec = environment.is_mpiexec;
  if (argv.size() == 2 && argv[1] == "help") return options.help = true, options;
  if (const ModeRow* mode = mode_of(argv)) {
    options.mode = mode->mode;
    if (options.mode == Mode::doctor) options.time.to_start = kDoctorTimeout;
    argv = argv.subspan(1);
    if (options.mode == Mode::in && argv.size() > 1 && is_number_of_job(argv[1])) {
      options.job = argv[1];
      argv = argv.subspan(1);
    }
  }
  const std::vector<Words> parts =
      options.mode == Mode::exec ? std::vector<Words>{argv} : split_programs(argv);
  const bool runs =
      !is_about_running_jobs(options.mode) && options.mode != Mode::session && options.mode != Mode::ccs;
  if (parts.size() > 1 && !runs)
    return bad_input("a lone ':' has no meaning here", "it stands between programs");
  auto rest = scan(parts.front(), options);
  if (!rest) return rest.error();
  if (auto program = take_program(std::move(*rest), options); !program) return program.error();
  imply(options);
  for (const Words words : std::span{parts}.subspan(1)) {
    auto command = further_command(words);
    if (!command) return command.error();
    further.push_back(std::move(*command));
  }
  if (!further.empty()) {
    if (auto added = add_further(std::move(further), options); !added) return added.error();
  }
  if (auto agree = check_together(options); !agree) return agree.error();
  if (auto known = use_environment(environment, options); !known) return known.error();
  options.nodelist_places = places(options, environment);
  return options;
}

}  // namespace charmtree
