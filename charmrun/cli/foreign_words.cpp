// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/foreign_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "charmrun/cli/option_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

enum class Meaning : std::uint8_t {
  flag,       // the same as ours
  value,      // the same, with a value
  variable,   // NAME VALUE or NAME=VALUE
  hosts,      // a list of hosts, or with a '/' in it a file
  pattern,    // of names of files
  nothing,    // charmrun does so anyway
  explained,  // what to do instead
};

struct ForeignWord {
  std::string_view names;  // without dashes
  Meaning meaning;
  std::string_view ours;  // without ++; explained: the explanation
};

constexpr std::array kForeign = {
    ForeignWord{"h help", Meaning::flag, "help"},
    ForeignWord{"V version", Meaning::flag, "version"},
    ForeignWord{"v verbose", Meaning::flag, "verbose"},
    ForeignWord{"q quiet", Meaning::flag, "quiet"},
    ForeignWord{"n np ntasks", Meaning::value, "n"},
    ForeignWord{"ppn perhost npernode ntasks-per-node", Meaning::value, "processPerHost"},
    ForeignWord{"f hostfile machinefile", Meaning::value, "nodelist"},
    ForeignWord{"host hosts H", Meaning::value, "host"},
    ForeignWord{"w", Meaning::hosts, "host"},
    ForeignWord{"nodelist", Meaning::explained,
                "++nodelist FILE names a file of hosts, ++host HOSTS the hosts themselves, as srun's "
                "--nodelist does"},
    ForeignWord{"X exclude", Meaning::value, "exclude"},
    ForeignWord{"g group", Meaning::value, "nodegroup"},
    ForeignWord{"wdir wd D chdir", Meaning::value, "wdir"},
    ForeignWord{"genv env", Meaning::variable, "env"},
    ForeignWord{"genvnone", Meaning::flag, "no-forward-env"},
    ForeignWord{"bind-to", Meaning::value, "bind"},
    ForeignWord{"report-bindings", Meaning::flag, "report-bindings"},
    ForeignWord{"l label prepend-rank tag-output", Meaning::flag, "label"},
    ForeignWord{"iface", Meaning::value, "iface"},
    ForeignWord{"timestamp-output", Meaning::flag, "timestamp"},
    ForeignWord{"L b B", Meaning::flag, "fold"},
    ForeignWord{"o output outfile-pattern", Meaning::pattern, "output"},
    ForeignWord{"i s stdin", Meaning::value, "stdin"},
    ForeignWord{"pty", Meaning::flag, "interactive"},
    ForeignWord{"timeout", Meaning::value, "timelimit"},
    ForeignWord{"K kill-on-bad-exit", Meaning::flag, "kill-on-exit"},
    ForeignWord{"oversubscribe O overcommit allow-run-as-root genvall u unbuffered", Meaning::nothing, ""},
    ForeignWord{"N nodes", Meaning::explained,
                "++numHosts N takes the first N hosts, ++processPerHost N starts N processes on each"},
    ForeignWord{
        "c cpus-per-task", Meaning::explained,
        "++ppn N gives each process of a Charm++ SMP program N threads; -n N says how many processes"},
    ForeignWord{
        "x", Meaning::explained,
        "++exclude HOSTS leaves hosts out (srun, clush); ++env NAME=VALUE sets a variable (mpirun), and "
        "yours go along anyway"},
    ForeignWord{"t time", Meaning::explained,
                "++timelimit SECONDS ends the job after that, ++timeout SECONDS limits its start"},
    ForeignWord{"a all", Meaning::explained, "all hosts of the nodelist are used anyway: leave it out"},
    ForeignWord{"cpu-bind", Meaning::explained, "++bind core, socket, numa or none"},
    ForeignWord{
        "map-by rank-by", Meaning::explained,
        "++processPerHost N starts N processes on each host; processes that follow each other are on one"},
    ForeignWord{"mpi", Meaning::explained,
                "++pmi says by what an MPI program finds its processes; mostly it shows"},
    ForeignWord{"mca gmca", Meaning::explained,
                "++env OMPI_MCA_KEY=VALUE; charmrun called mpirun takes --mca"},
    ForeignWord{"e error", Meaning::explained, "++output FILE has stderr, too"},
    ForeignWord{"p partition A account q qos mem gres G gpus C constraint exclusive J job-name",
                Meaning::explained, "make the allocation first (salloc, sbatch), and call charmrun in it"},
    ForeignWord{"bcast preload-binary", Meaning::explained,
                "++stage-program sends the program and its libraries, ++stage other files"},
    ForeignWord{"configfile app multi-prog", Meaning::explained,
                "several programs are written as charmrun -n 2 ./a : -n 6 ./b"},
};

const ForeignWord* find_foreign(std::string_view name) {
  const auto* row = std::find_if(kForeign.begin(), kForeign.end(),
                                 [&](const ForeignWord& each) { return has_word(each.names, name); });
  return row == kForeign.end() ? nullptr : row;
}

Error unknown_foreign(std::string_view word, std::string_view name) {
  const std::string what = fmt::format("charmrun does not know the option '{}'", quotable(word));
  if (find_option(name) != nullptr || find_mode(name) != nullptr)
    return bad_input(what, fmt::format("did you mean ++{}?", name));
  return bad_input(what,
                   "its own options begin with ++; those of the program stand behind the program's name");
}

/// srun's %t, Hydra's %r: of which process the file is.
std::string with_process(std::string text) {
  for (std::size_t at = 0; (at = text.find("%t", at)) != std::string::npos;) text[at + 1] = 'r';
  return text;
}

}  // namespace

Result<SaidInOurs> say_in_ours(std::span<const std::string> words) {
  const std::string& word = words.front();
  const std::size_t dashes = word.starts_with("--") ? 2 : 1;
  const std::string_view named = std::string_view{word}.substr(dashes);
  const auto equals = named.find('=');
  std::string_view name = named.substr(0, equals);
  std::optional<std::string> value;
  if (equals != std::string_view::npos) value = named.substr(equals + 1);
  if (dashes == 1 && name.size() > 1 && name[0] == 'n' && is_digit(name[1])) {  // -n4
    value = name.substr(1);
    name = name.substr(0, 1);
  }
  const ForeignWord* row = find_foreign(name);
  if (row == nullptr) return unknown_foreign(word, name);
  const std::string said = word.substr(0, dashes) + std::string{name};
  if (row->meaning == Meaning::explained)
    return bad_input(fmt::format("charmrun has no {}", said), std::string{row->ours});
  SaidInOurs out;
  if (row->meaning == Meaning::nothing) return out;
  out.words.push_back("++" + std::string{row->ours});
  if (row->meaning == Meaning::flag) {
    if (value) return bad_input(fmt::format("{} takes no value", said), "leave it out");
    return out;
  }
  if (!value) {
    if (words.size() < 2)
      return bad_input(fmt::format("'{}' needs a value", said), fmt::format("ours is ++{}", row->ours));
    value = words[out.used++];
  }
  if (row->meaning == Meaning::variable && value->find('=') == std::string::npos) {
    if (words.size() <= out.used)
      return bad_input(fmt::format("'{}' needs a value: {} NAME VALUE", said, said),
                       "ours is ++env NAME=VALUE");
    *value += "=" + words[out.used++];
  }
  if (row->meaning == Meaning::hosts && value->find('/') != std::string::npos) out.words[0] = "++nodelist";
  out.words.push_back(row->meaning == Meaning::pattern ? with_process(std::move(*value)) : std::move(*value));
  return out;
}

}  // namespace charmtree
