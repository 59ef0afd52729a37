// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/mpiexec_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "charmrun/cli/help.hpp"
#include "charmrun/cli/option_table.hpp"
#include "charmrun/mpiexec/app_file.hpp"
#include "charmrun/mpiexec/help_head.hpp"
#include "charmrun/mpiexec/settings.hpp"
#include "tree/base/join.hpp"
#include "tree/job/environment.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::mpiexec {

namespace {

enum class Deed : std::uint8_t {
  count,
  ours,         // options of charmrun's that say the same
  ours_valued,  // one, with the value
  variable,     // of all programs
  own_variable,
  exported,
  variables_of,  // only these go along
  directory,
  bind,
  map,
  output_folder,
  launcher,
  mca,
  no_cleanup,
  port,  // of PMI
  universe,
  programs,  // from a file
  unused,
  unused_valued,
  refused,
  help,
};

struct Word {
  std::string_view names;  // without dashes
  Deed deed;
  std::string_view ours;   // ... refused: why
  std::string_view value;  // what --help calls it; empty: it has none
  std::string_view help;
};

constexpr std::array kWords = {
    Word{"n np c", Deed::count, "", "N", "so many processes [one program: all slots]"},
    Word{"ppn perhost npernode N", Deed::ours_valued, "++processPerHost", "N",
         "so many processes on each host"},
    Word{"f hostfile machinefile", Deed::ours_valued, "++nodelist", "FILE",
         "the hosts: HOST, HOST:SLOTS or HOST slots=N on each line"},
    Word{"hosts host H", Deed::ours_valued, "++host", "LIST", "the hosts: a,b:2,n[1-4]"},
    Word{"exclude", Deed::ours_valued, "++exclude", "LIST", "without these hosts"},
    Word{"genv", Deed::variable, "", "NAME VALUE", "set a variable for all processes"},
    Word{"env", Deed::own_variable, "", "NAME VALUE", "for one program; of the first: if it is alone"},
    Word{"x", Deed::exported, "", "NAME[=VALUE]", "set a variable for all, or hand it on"},
    Word{"genvnone", Deed::ours, "++no-forward-env", "", "no variables go along to other hosts"},
    Word{"genvlist", Deed::variables_of, "", "NAME,...", "only these do, and what a login there has"},
    Word{"wdir wd", Deed::directory, "", "FOLDER", "where all programs run [here]"},
    Word{"iface", Deed::ours_valued, "++iface", "NAME", "the network interface of the processes"},
    Word{"bind-to", Deed::bind, "", "UNIT", "core, socket, numa or none"},
    Word{"map-by", Deed::map, "", "HOW", "slot, or ppr:N:node"},
    Word{"report-bindings", Deed::ours, "++report-bindings", "", "say what each process is bound to"},
    Word{"l prepend-rank tag-output", Deed::ours, "++label", "", "put [RANK] in front of each line"},
    Word{"timestamp-output", Deed::ours, "++timestamp", "", "... and the time"},
    Word{"outfile-pattern", Deed::ours_valued, "++output", "NAME", "write to files, with %r for the rank"},
    Word{"output-filename", Deed::output_folder, "", "FOLDER", "the same: FOLDER/RANK.out"},
    Word{"s stdin", Deed::ours_valued, "++stdin", "RANK", "who gets stdin: a rank, all or none [0]"},
    Word{"timeout", Deed::ours_valued, "++timelimit", "SECONDS", "end the job after that"},
    Word{"disable-auto-cleanup continuous", Deed::no_cleanup, "", "",
         "the others go on when a process fails"},
    Word{"mca gmca", Deed::mca, "", "KEY VALUE", "a parameter of Open MPI's library"},
    Word{"launcher bootstrap", Deed::launcher, "", "NAME", "ssh"},
    Word{"launcher-exec bootstrap-exec", Deed::ours_valued, "++remote-shell", "COMMAND", "instead of ssh"},
    Word{"pmi-port", Deed::port, "", "", "for wrappers that close what they inherit"},
    Word{"configfile app", Deed::programs, "", "FILE",
         "the programs: [OPTIONS] PROGRAM [ARGUMENTS] on each line"},
    Word{"v verbose", Deed::ours, "++verbose", "", "say what is done"},
    Word{"V version info", Deed::ours, "++version", "", "show the version and stop"},
    Word{"h help", Deed::help, "", "", "show this and stop"},
    Word{"oversubscribe allow-run-as-root q quiet", Deed::unused, "", "", "taken and ignored"},
    Word{"use-hwthread-cpus print-all-exitcodes genvall envall", Deed::unused, "", "", ""},
    Word{"display-map", Deed::unused, "charmrun ++plan shows where processes would run", "", ""},
    Word{"usize", Deed::universe, "", "N", "what MPI_UNIVERSE_SIZE is [all slots]"},
    Word{"envnone envlist", Deed::refused, "-genvnone and -genvlist are for all programs", "", ""},
    Word{"rmk", Deed::ours_valued, "++rm", "NAME", "whose allocation: slurm, pbs, lsf, sge, oar or none"},
    Word{"nolocal", Deed::refused, "-exclude HOST leaves this one out", "", ""},
    Word{"prefix", Deed::refused, "set LD_LIBRARY_PATH by -x", "", ""},
    Word{"preload-binary", Deed::refused, "copy the program to the hosts", "", ""},
};

class Reader {
public:
  Reader(std::span<const std::string> words, const std::vector<std::string>& environment,
         const ReadFile& read_file)
      : words_(words), environment_(environment), read_file_(read_file) {}

  Result<Line> read();

private:
  Result<void> read_part();
  Result<void> take_option(const std::string& word);
  Result<void> take(const Word& row, std::string_view word);
  Result<void> take_ours(const std::string& word);
  Result<std::string> next(std::string_view word, std::string_view value);
  Result<std::uint32_t> next_number(std::string_view word, std::string_view value);
  Result<std::string> next_variable(std::string_view word);
  Result<void> take_text(const Word& row, std::string_view word);
  Result<void> take_variable(const Word& row, std::string_view word);
  void export_variable(const std::string& entry);
  Result<void> take_directory(std::string_view word);
  Result<void> take_binding(std::string_view word);
  Result<void> take_mapping(std::string_view word);
  Result<void> take_launcher(std::string_view word);
  Result<void> take_universe(std::string_view word);
  Result<void> take_list(std::string_view word);
  Result<void> take_programs(std::string_view word);
  Result<void> take_setting(const Setting& row, const std::string& name, const std::string& value);
  Result<void> take_parameter(std::string_view word);
  void take_environment();
  std::string merge(const Reader& setting);
  std::string meaning() const;
  void name_shell();
  void add(std::initializer_list<std::string_view> words) {
    for (const std::string_view each : words) line_.options.emplace_back(each);
  }
  Result<void> check() const;

  std::span<const std::string> words_;
  const std::vector<std::string>& environment_;
  const ReadFile& read_file_;
  std::vector<std::string> in_file_;  // the words of -configfile
  std::size_t at_ = 0;
  std::optional<std::string> attached_;  // the value in `-opt=VALUE`
  Line line_;
  std::string directory_;
  std::string agent_, agent_words_;  // the command instead of ssh, and further words of it
  bool is_over_ = false;             // no ':' behind this program
  bool cleans_up_ = true;
};

Error unknown(std::string_view word) {
  return bad_input(
      fmt::format("mpiexec does not know '{}'", quotable(word)),
      "mpiexec --help lists what it does; all of charmrun's own options (++NAME) may be given, too");
}

std::optional<std::uint32_t> count_in(std::string_view text) {
  std::uint32_t number = 0;
  if (!read_whole(text, number) || number == 0 || number > kMaxProcesses) return {};
  return number;
}

/// `-opt VALUE` or `-opt=VALUE`. An empty one is what is left of a variable that is not set.
Result<std::string> Reader::next(std::string_view word, std::string_view value) {
  if (!attached_ && (at_ == words_.size() || words_[at_] == ":"))
    return bad_input(fmt::format("'{}' needs a value: {} {}", word, word, value));
  std::string text = attached_ ? *std::exchange(attached_, {}) : words_[at_++];
  if (text.empty()) return bad_input(fmt::format("the value of {} is empty: {} {}", word, word, value));
  return text;
}

Result<std::uint32_t> Reader::next_number(std::string_view word, std::string_view value) {
  auto text = next(word, value);
  if (!text) return text.error();
  if (const auto number = count_in(*text)) return *number;
  return bad_input(fmt::format("{} cannot be '{}'", word, quotable(*text)),
                   fmt::format("it takes a number from 1 to {}", kMaxProcesses));
}

/// `NAME VALUE` or `NAME=VALUE`.
Result<std::string> Reader::next_variable(std::string_view word) {
  auto name = next(word, "NAME VALUE");
  if (!name || name->find('=') != std::string::npos) return name;
  if (at_ == words_.size() || words_[at_] == ":")
    return bad_input(fmt::format("'{}' needs a value: {} NAME VALUE", word, word));
  return *name + "=" + words_[at_++];
}

/// All programs run in one.
Result<void> Reader::take_directory(std::string_view word) {
  auto directory = next(word, "FOLDER");
  if (!directory) return directory.error();
  const bool is_first = line_.programs.size() == 1;
  if (!is_first && directory_ != *directory)
    return bad_input(
        fmt::format("{} {}: another folder than the first program's", word, quotable(*directory)),
        "start the program by sh -c 'cd ...; exec ...'");
  if (is_first) add({"++wdir", *directory});
  directory_ = std::move(*directory);
  return {};
}

/// Open MPI's may have modifiers: core:overload-allowed.
Result<void> Reader::take_binding(std::string_view word) {
  auto unit = next(word, "UNIT");
  if (!unit) return unit.error();
  std::string_view plain = *unit;
  for (const std::string_view modifier : {":overload-allowed", ":no-overload", ":if-supported"}) {
    if (plain.ends_with(modifier)) plain.remove_suffix(modifier.size());
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kUnits = {
      {{"core", "core"},
       {"socket", "socket"},
       {"package", "socket"},
       {"numa", "numa"},
       {"numanode", "numa"},
       {"none", "none"}}};
  const auto* known =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& each) { return each.first == plain; });
  if (known == kUnits.end())
    return bad_input(fmt::format("{} cannot be '{}'", word, quotable(*unit)),
                     "it takes core, socket, numa or none");
  return add({"++bind", known->second}), Result<void>{};
}

Result<void> Reader::take_mapping(std::string_view word) {
  auto how = next(word, "HOW");
  if (!how) return how.error();
  std::string_view rest = *how;
  if (rest == "slot" || rest == "core") return {};
  if (rest.starts_with("ppr:") && rest.ends_with(":node")) {
    rest = rest.substr(4, rest.size() - 9);
    if (count_in(rest)) return add({"++processPerHost", rest}), Result<void>{};
  }
  return bad_input(fmt::format("{} cannot be '{}'", word, quotable(*how)),
                   "it takes slot or ppr:N:node: ranks that follow each other are on one host");
}

Result<void> Reader::take_launcher(std::string_view word) {
  auto launcher = next(word, "NAME");
  if (!launcher || *launcher == "ssh" || *launcher == "fork" || *launcher == "auto")
    return launcher ? Result<void>{} : launcher.error();
  return bad_input(fmt::format("{} cannot be '{}'", word, quotable(*launcher)),
                   "hosts are logged in to by ssh; -launcher-exec names another command that does as it");
}

/// Takes a number, or Hydra's words for all slots and for no limit.
Result<void> Reader::take_universe(std::string_view word) {
  auto size = next(word, "N");
  if (!size) return size.error();
  if (*size == "SYSTEM" || *size == "system") return {};
  const bool is_infinite = *size == "INFINITE" || *size == "infinite";
  if (!is_infinite && !count_in(*size))
    return bad_input(fmt::format("{} cannot be '{}'", word, quotable(*size)),
                     fmt::format("it takes a number from 1 to {}, SYSTEM or INFINITE", kMaxProcesses));
  return add({"++universe-size", is_infinite ? std::to_string(kMaxProcesses) : *size}), Result<void>{};
}

Result<void> Reader::take_list(std::string_view word) {
  auto names = next(word, "NAME,...");
  if (!names) return names.error();
  add({"++no-forward-env"});
  for (const std::string& name : split_list(*names)) export_variable(name);
  return {};
}

/// The lines of the file are what would stand between two ':'.
Result<void> Reader::take_programs(std::string_view word) {
  const auto file = next(word, "FILE");
  if (!file) return file.error();
  if (at_ < words_.size() || !in_file_.empty())
    return bad_input(fmt::format("'{}' behind {} {}", quotable(in_file_.empty() ? words_[at_] : word), word,
                                 quotable(*file)),
                     "the programs are those in the file; options for all stand in front");
  const auto text = read_file_(*file);
  if (!text) return text.error();
  auto words = words_of_programs(*text, *file);
  if (!words) return words.error();
  in_file_ = std::move(*words);
  words_ = in_file_;
  at_ = 0;
  return {};
}

/// One of charmrun's, with its value.
Result<void> Reader::take_ours(const std::string& word) {
  const std::string_view name = std::string_view{word}.substr(2);
  if (find_mode(name) != nullptr)
    return bad_input(fmt::format("mpiexec starts programs, and knows no {}", word),
                     fmt::format("charmrun {} ...", word));
  const OptionRow* row = find_option(name);
  line_.options.push_back(word);
  if (row == nullptr) return {};
  if (row->topic == OptionTopic::counts && row->kind() == OptionKind::integer && row->name != "ppn" &&
      row->name != "numHosts")
    return bad_input(fmt::format("mpiexec has words of its own for {}", word), "say -n, and -ppn");
  line_.help = line_.help || row->name == "help";
  line_.version = line_.version || row->name == "version";
  if (!row->is_flag() && at_ < words_.size()) line_.options.push_back(words_[at_++]);
  return {};
}

/// Of an option with one value.
Result<void> Reader::take_text(const Word& row, std::string_view word) {
  auto text = next(word, row.value);
  if (!text) return text.error();
  if (row.deed == Deed::ours_valued) add({row.ours, *text});
  if (row.deed == Deed::exported) export_variable(*text);
  if (row.deed == Deed::output_folder) add({"++output", text->substr(0, text->find(":no")) + "/%r.out"});
  return {};
}

/// NAME alone: as it is here; what launchers set for their processes is not handed on.
void Reader::export_variable(const std::string& entry) {
  if (entry.find('=') != std::string::npos) return add({"++env", entry});
  const auto found = std::find_if(environment_.begin(), environment_.end(), [&](std::string_view each) {
    return each.substr(0, each.find('=')) == entry;
  });
  if (found != environment_.end() && proto::why_not_settable(*found).empty()) add({"++env", *found});
}

/// A variable of all programs, or of this one.
Result<void> Reader::take_variable(const Word& row, std::string_view word) {
  auto variable = next_variable(word);
  if (!variable) return variable.error();
  if (const auto wanted = proto::why_not_settable(*variable); !wanted.empty())
    return bad_input(fmt::format("{} cannot be '{}'", word, quotable(*variable)),
                     fmt::format("it takes {}", wanted));
  if (row.deed == Deed::own_variable)
    line_.programs.back().variables.all.push_back(std::move(*variable));
  else
    add({"++env", *variable});
  return {};
}

/// Takes --mca KEY VALUE: a setting of the launcher's, or a variable that the library reads.
Result<void> Reader::take_parameter(std::string_view word) {
  const auto parameter = next_variable(word);
  if (!parameter) return parameter.error();
  const auto equals = parameter->find('=');
  const std::string key = parameter->substr(0, equals), value = parameter->substr(equals + 1);
  const Setting* row = find_key(key);
  if (row == nullptr) return add({"++env", "OMPI_MCA_" + *parameter}), Result<void>{};
  return is_as_without(*row, value) ? Result<void>{}
                                    : take_setting(*row, fmt::format("{} {}", word, key), value);
}

/// Takes a setting. `name` is for messages.
Result<void> Reader::take_setting(const Setting& row, const std::string& name, const std::string& value) {
  using Means = Setting::Deed;
  const auto say_by = [&](std::string_view said) {
    return take(*std::find_if(kWords.begin(), kWords.end(),
                              [said](const Word& each) { return has_word(each.names, said); }),
                name);
  };
  switch (row.deed) {
    case Means::word:
      if (row.text.starts_with("++")) return add({row.text, value}), Result<void>{};
      attached_ = value;
      return say_by(row.text);
    case Means::flag:
      return says_yes(value, false) ? say_by(row.text) : Result<void>{};
    case Means::unflag:
      return says_yes(value, true) ? Result<void>{} : say_by(row.text);
    case Means::agent:  // Open MPI takes the first of several that is there
      agent_ = value.substr(0, value.find(" :"));
      return {};
    case Means::arguments:
      agent_words_ += " " + value;
      return {};
    case Means::exported:
      for (const std::string& each : split_list(value, ';')) export_variable(each);
      return {};
    case Means::harmless:
      return {};
    case Means::unused:
      line_.remarks.push_back(
          fmt::format("{} has no effect here{}{}", name, row.text.empty() ? "" : ": ", row.text));
      return {};
  }
  return {};
}

/// Returns what has been read, in charmrun's words; empty: nothing.
std::string Reader::meaning() const {
  if (!agent_.empty() || !agent_words_.empty())
    return fmt::format("++remote-shell {}{}", agent_.empty() ? "ssh" : agent_, agent_words_);
  return join(line_.options, " ");
}

/// Takes over what one setting means. Returns why not, or nothing.
std::string Reader::merge(const Reader& setting) {
  const auto has = [this](std::string_view option) {
    return std::find(line_.options.begin(), line_.options.end(), option) != line_.options.end();
  };
  const std::vector<std::string>& options = setting.line_.options;
  if (!options.empty() && options[0] != "++env") {
    if (has(options[0])) return fmt::format("{} is given", options[0]);
    if (options[0] == "++nodelist" && has("++host")) return "the command line names the hosts";
  }
  if (!setting.agent_.empty() && (!agent_.empty() || has("++remote-shell")))
    return "another command is given";
  line_.options.insert(line_.options.end(), options.begin(), options.end());
  if (!setting.agent_.empty()) agent_ = setting.agent_;
  agent_words_ += setting.agent_words_;
  cleans_up_ = cleans_up_ && setting.cleans_up_;
  return {};
}

/// Takes the settings of the environment. A bad value stops no job, since a site may have set it. One line
/// names the settings that were taken, another one those without effect.
void Reader::take_environment() {
  const auto is_set = [this](std::string_view name) { return !proto::value_of(environment_, name).empty(); };
  std::string taken, unused;
  bool has_other_launcher = false;  // its words are not ssh's
  for (const FoundSetting& each : found_settings(environment_)) {
    const bool is_launcher = each.row->text == "launcher";
    if (is_launcher && each.value == "slurm" && is_set("SLURM_JOB_ID")) has_other_launcher = true;
    if (is_launcher && has_other_launcher) continue;
    if (each.row->text == "f" && is_set("K_MPI_JOB_ROLE")) continue;  // the allocation names them
    Reader one{{}, environment_, read_file_};
    one.line_.programs.emplace_back();
    std::string why;
    if (auto good = one.take_setting(*each.row, each.name, each.value); !good)
      why = fmt::format("{}; {}", good.error().what, good.error().fix);
    else if (each.row->deed == Setting::Deed::arguments && has_other_launcher)
      why = "they are for another launcher";
    else if (one.line_.remarks.empty())
      why = merge(one);
    else
      why = each.row->text;
    if (is_launcher && !why.empty()) has_other_launcher = true;
    const bool is_taken = why.empty() && one.line_.remarks.empty();
    if (is_taken) why = one.meaning();
    if (is_taken && why.empty()) continue;
    std::string& text = is_taken ? taken : unused;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", each.name, why.empty() ? "" : " (" + why + ")");
  }
  if (!taken.empty()) line_.remarks.push_back("taken from the environment: " + taken);
  if (!unused.empty())
    line_.remarks.push_back("without effect here, though the environment has it: " + unused);
}

/// Combines the settings about the command that stands for ssh.
void Reader::name_shell() {
  if (agent_.empty() && agent_words_.empty()) return;
  const auto said = std::find(line_.options.begin(), line_.options.end(), "++remote-shell");
  if (said != line_.options.end() && said + 1 != line_.options.end())
    *(said + 1) += agent_words_;
  else
    add({"++remote-shell", (agent_.empty() ? "ssh" : agent_) + agent_words_});
}

Result<void> Reader::take(const Word& row, std::string_view word) {
  FurtherCommand& program = line_.programs.back();
  const bool is_own = row.deed == Deed::count || row.deed == Deed::own_variable ||
                      row.deed == Deed::directory || row.deed == Deed::unused ||
                      row.deed == Deed::unused_valued;
  if (line_.programs.size() > 1 && !is_own)
    return bad_input(fmt::format("{} behind a ':' is for all programs", word),
                     "write it in front of the first one");
  switch (row.deed) {
    case Deed::count: {
      auto number = next_number(word, row.value);
      if (!number) return number.error();
      program.processes = *number;
      return {};
    }
    case Deed::ours_valued:
    case Deed::exported:
    case Deed::output_folder:
    case Deed::unused_valued:
      return take_text(row, word);
    case Deed::ours:
      line_.version = line_.version || row.ours == "++version";
      return add({row.ours}), Result<void>{};
    case Deed::variable:
    case Deed::own_variable:
      return take_variable(row, word);
    case Deed::mca:
      return take_parameter(word);
    case Deed::variables_of:
      return take_list(word);
    case Deed::directory:
      return take_directory(word);
    case Deed::bind:
      return take_binding(word);
    case Deed::map:
      return take_mapping(word);
    case Deed::launcher:
      return take_launcher(word);
    case Deed::universe:
      return take_universe(word);
    case Deed::programs:
      return take_programs(word);
    case Deed::no_cleanup:
      cleans_up_ = false;
      return add({"++on-failure", "continue"}), Result<void>{};
    case Deed::port:
      return add({"++pmi", "port"}), Result<void>{};
    case Deed::refused:
      return bad_input(fmt::format("{} is not understood here", word), std::string{row.ours});
    case Deed::help:
      line_.help = true;
      return {};
    case Deed::unused:
      if (!row.ours.empty())
        line_.remarks.push_back(fmt::format("{} has no effect here: {}", word, row.ours));
  }
  return {};
}

Result<void> Reader::take_option(const std::string& word) {
  const std::string_view named = std::string_view{word}.substr(word.starts_with("--") ? 2 : 1);
  const auto equals = named.find('=');
  const std::string_view name = named.substr(0, equals);
  const auto* row = std::find_if(kWords.begin(), kWords.end(),
                                 [&](const Word& each) { return has_word(each.names, name); });
  if (row == kWords.end()) return unknown(word);
  if (equals != std::string_view::npos) attached_ = named.substr(equals + 1);
  const std::string_view said = std::string_view{word}.substr(0, word.find('='));
  if (auto taken = take(*row, said); !taken) return taken;
  if (attached_) return bad_input(fmt::format("{} takes no value", said), "leave it out");
  return {};
}

/// Up to the next ':' or the end. `--`, or a lone `++`, ends the options.
Result<void> Reader::read_part() {
  const auto is_option = [](std::string_view word) {
    return word.size() > 1 && (word[0] == '-' || word.starts_with("++"));
  };
  while (at_ < words_.size() && is_option(words_[at_])) {
    const std::string& word = words_[at_++];
    if (word == "++" || word == "--") break;
    const bool is_ours = word.starts_with("++");
    if (is_ours && line_.programs.size() > 1) return unknown(word);
    if (auto taken = is_ours ? take_ours(word) : take_option(word); !taken) return taken;
  }
  FurtherCommand& program = line_.programs.back();
  if (at_ < words_.size() && words_[at_] != ":") program.program = words_[at_++];
  for (; at_ < words_.size() && words_[at_] != ":"; ++at_) program.arguments.push_back(words_[at_]);
  is_over_ = at_++ >= words_.size();
  return {};
}

Result<void> Reader::check() const {
  if (line_.help || line_.version) return {};
  for (const FurtherCommand& each : line_.programs) {
    if (each.program.empty())
      return bad_input("no program was given", "mpiexec -n 4 ./app; mpiexec --help shows more");
  }
  if (line_.programs.size() > 1 && !line_.programs.front().variables.all.empty())
    return bad_input("-env of the first of several programs", "use -genv, or put that program behind a ':'");
  return {};
}

Result<Line> Reader::read() {
  do {
    line_.programs.emplace_back().processes = 0;
    if (auto part = read_part(); !part) return part.error();
  } while (!is_over_);
  if (auto good = check(); !good) return good.error();
  if (!line_.help && !line_.version) take_environment();
  name_shell();
  if (cleans_up_) add({"++kill-on-exit"});
  return std::move(line_);
}

}  // namespace

bool is_mpiexec(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  return name == "mpiexec" || name == "mpirun" || name == "mpiexec.hydra" || name == "orterun";
}

Result<Line> read_line(std::span<const std::string> argv, const std::vector<std::string>& environment,
                       const ReadFile& read_file) {
  return Reader{argv.subspan(1), environment, read_file}.read();
}

std::string version_text() {
  return charmtree::version_text() + "takes the options of MPICH's mpiexec (Hydra): mpiexec --help\n";
}

std::string help_text() {
  std::string text{kHelpHead};
  for (const Word& row : kWords) {
    if (row.help.empty()) continue;
    std::string names;
    for (const char c : row.names) names += c == ' ' ? std::string{" -"} : std::string{c};
    const std::string left = fmt::format("  -{}{}{}", names, row.value.empty() ? "" : " ", row.value);
    text += left.size() < 39 ? fmt::format("{:<39} {}\n", left, row.help)
                             : fmt::format("{}\n{:<39} {}\n", left, "", row.help);
  }
  return text;
}

}  // namespace charmtree::mpiexec
