// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "charmrun/cli/help.hpp"
#include "charmrun/mpiexec/host_file.hpp"
#include "charmrun/mpiexec/mpiexec_words.hpp"
#include "charmrun/plan/nodelist.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree {

namespace {

OptionEnvironment option_environment() {
  const auto text = [](const char* name) { return io::own_variable(name).value_or(""); };
  return {text("NODELIST"),    text("CONV_RSH"),    text("HOME"),
          text("CHARMRUN_IP"), text("CONV_DAEMON"), text("CHARMTREE_SERVER_HOST")};
}

Result<std::string> read_text(const std::string& path, Phase phase) {
  auto text = io::read_file(path, kMaxNodelistBytes);
  if (!text) return Error{Errc::bad_input, phase, text.error().what};
  return text;
}

Result<std::string> read_programs(const std::string& path) {
  return read_text(path, Phase::options);
}

Result<std::vector<mpiexec::SlotHost>> hosts_of(const mpiexec::Line& line) {
  if (!line.host_list.empty()) return mpiexec::read_host_list(line.host_list);
  const auto text = read_text(line.host_file, Phase::nodelist);
  if (!text) return text.error();
  return mpiexec::read_host_file(*text, line.host_file);
}

/// What mpiexec would do where nobody says on which hosts: all runs on this machine.
Result<Options> options_of(mpiexec::Line line, const std::string& name) {
  std::vector<mpiexec::SlotHost> hosts;
  if (!line.chooses_hosts && line.host_list.empty() && line.host_file.empty())
    line.host_file = io::own_variable("HYDRA_HOST_FILE").value_or("");
  const bool is_listed = !line.host_list.empty() || !line.host_file.empty();
  if (is_listed) {
    auto read = hosts_of(line);
    if (!read) return read.error();
    hosts = std::move(*read);
  }
  std::uint64_t slots = is_listed ? 0 : line.per_host;
  for (const mpiexec::SlotHost& host : hosts) slots += line.per_host > 0 ? line.per_host : host.slots;
  for (FurtherCommand& each : line.programs) {
    if (each.processes > 0) continue;
    const bool takes_all = line.programs.size() == 1 && slots > 0;
    each.processes =
        takes_all ? static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, kMaxProcesses)) : 1;
  }
  FurtherCommand first = std::move(line.programs.front());
  line.programs.erase(line.programs.begin());
  if (!is_listed && !line.chooses_hosts) line.options.emplace_back("++local");
  std::vector<std::string> words{name};
  words.insert(words.end(), line.options.begin(), line.options.end());
  for (std::string& each : first.variables.all) words.insert(words.end(), {"++env", std::move(each)});
  words.insert(words.end(), {"++n", std::to_string(first.processes), "++", first.program});
  words.insert(words.end(), first.arguments.begin(), first.arguments.end());
  auto options = parse_options(words, option_environment(), std::move(line.programs));
  if (!options || !is_listed) return options;
  options->hosts.listed = mpiexec::nodelist_text(std::move(hosts), options->counts.processes, line.per_host);
  options->hosts.listed_by = line.host_list.empty() ? line.host_file : "-hosts";
  return options;
}

Result<CommandLine> as_mpiexec(const std::vector<std::string>& argv) {
  auto line = mpiexec::read_line(argv, io::own_variable, read_programs);
  if (!line) return line.error();
  if (line->help || line->version) {
    Options options;
    options.help = line->help;
    options.version = line->version;
    return CommandLine{std::move(options), line->help ? mpiexec::help_text() : mpiexec::version_text()};
  }
  const std::string directory = std::exchange(line->directory, "");
  auto options = options_of(std::move(*line), argv[0]);
  if (!options) return options.error();
  if (options->time.keep_alive)
    return bad_input("mpiexec has no ++keep-alive",
                     "start the job by charmrun: ++attach reads its options again");
  std::error_code failed;  // on the hosts, nobody needs the link
  const auto charmrun = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (options->launch.launcher.empty() && !failed) options->launch.launcher = charmrun.string();
  options->process.directory = directory;
  return CommandLine{std::move(*options)};
}

}  // namespace

Result<CommandLine> read_command_line(const std::vector<std::string>& argv) {
  if (!argv.empty() && mpiexec::is_mpiexec(argv[0])) return as_mpiexec(argv);
  auto options = parse_options(argv, option_environment());
  if (!options) return options.error();
  return CommandLine{std::move(*options), options->help ? help_text() : version_text()};
}

}  // namespace charmtree
