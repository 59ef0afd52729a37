// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/command_line.hpp"

#include <algorithm>
#include <utility>

#include "charmrun/cli/help.hpp"
#include "charmrun/cli/pages.hpp"
#include "charmrun/mpiexec/mpiexec_words.hpp"
#include "charmrun/plan/launcher_path.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree {

namespace {

constexpr std::size_t kMostBytesOfPrograms = 64U << 20;

OptionEnvironment option_environment(bool is_mpiexec = false) {
  const auto text = [](const char* name) { return io::own_variable(name).value_or(""); };
  return {is_mpiexec ? std::string{} : text("NODELIST"),
          text("CONV_RSH"),
          text("HOME"),
          text("CHARMRUN_IP"),
          text("CONV_DAEMON"),
          text("CHARMTREE_SERVER_HOST"),
          is_mpiexec};
}

Result<std::string> read_programs(const std::string& path) {
  auto text = io::read_file(path, kMostBytesOfPrograms);
  if (!text) return Error{Errc::bad_input, Phase::options, text.error().what};
  return text;
}

/// Of one program as many processes as there are slots, if its number was not given; of each of several one.
Result<Options> options_of(mpiexec::Line line, const std::string& name) {
  const bool is_alone = line.programs.size() == 1;
  for (FurtherCommand& each : line.programs) {
    if (!is_alone) each.processes = std::max(each.processes, 1U);
  }
  FurtherCommand first = std::move(line.programs.front());
  line.programs.erase(line.programs.begin());
  std::vector<std::string> words{name};
  words.insert(words.end(), line.options.begin(), line.options.end());
  for (std::string& each : first.variables.all) words.insert(words.end(), {"++env", std::move(each)});
  if (first.processes > 0) words.insert(words.end(), {"++n", std::to_string(first.processes)});
  words.insert(words.end(), {"++", first.program});
  words.insert(words.end(), first.arguments.begin(), first.arguments.end());
  return parse_options(words, option_environment(true), std::move(line.programs));
}

Result<CommandLine> as_mpiexec(const std::vector<std::string>& argv) {
  auto line = mpiexec::read_line(argv, io::own_environment(), read_programs);
  if (!line) return line.error();
  if (line->help || line->version) {
    Options options;
    options.help = line->help;
    options.version = line->version;
    return CommandLine{std::move(options), line->help ? mpiexec::help_text() : mpiexec::version_text()};
  }
  std::vector<std::string> remarks = std::move(line->remarks);
  auto options = options_of(std::move(*line), argv[0]);
  if (!options) return options.error();
  if (options->time.keep_alive)
    return bad_input("mpiexec has no ++keep-alive",
                     "start the job by charmrun: ++attach reads its options again");
  return CommandLine{std::move(*options), {}, std::move(remarks)};
}

}  // namespace

Result<CommandLine> read_command_line(const std::vector<std::string>& argv) {
  if (!argv.empty() && mpiexec::is_mpiexec(argv[0])) return as_mpiexec(argv);
  auto options = parse_options(argv, option_environment());
  if (!options) return options.error();
  std::string text;
  if (options->help)
    text = page_for(options->program).value_or(help_text());
  else if (options->version)
    text = version_text() + build_text();
  return CommandLine{std::move(*options), std::move(text)};
}

}  // namespace charmtree
