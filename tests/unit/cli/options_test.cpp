// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/options.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "charmrun/cli/help.hpp"
#include "charmrun/cli/option_table.hpp"
#include "tree/clients/recoveries.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::options_test {

namespace {
using Words = std::vector<std::string>;

Words with_name(Words words) {
  words.insert(words.begin(), "charmrun");
  return words;
}

Options good(Words words, const OptionEnvironment& environment = {}) {
  const auto options = parse_options(with_name(std::move(words)), environment);
  INFO((options ? std::string{} : to_string(options.error())));
  REQUIRE(options.ok());
  return *options;
}

std::string failure(Words words, const OptionEnvironment& environment = {}) {
  const auto options = parse_options(with_name(std::move(words)), environment);
  REQUIRE_FALSE(options.ok());
  CHECK(options.error().code == Errc::bad_input);
  CHECK(options.error().phase == Phase::options);
  return to_string(options.error());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a plain command line") {
  const auto options = good({"+p64", "++nodelist", "nodes", "./app", "-x", "1"});
  CHECK(options.counts.pes == 64);
  CHECK(options.hosts.nodelist == "nodes");
  CHECK(options.program == "./app");
  CHECK(options.arguments == Words{"-x", "1"});
  CHECK(options.time.to_start == 60s);
  CHECK_FALSE(options.time.limit);
}

TEST_CASE("every option sets its member") {
  const auto options = good({"++p",
                             "8",
                             "++n",
                             "4",
                             "++ppn",
                             "2",
                             "++numHosts",
                             "3",
                             "++nodegroup",
                             "g",
                             "++local",
                             "++hosts",
                             "5",
                             "++remote-shell",
                             "ssh -p 22",
                             "++branching",
                             "6",
                             "++levels",
                             "7",
                             "++batch",
                             "9",
                             "++accept-new-host-keys",
                             "++forward-agent",
                             "++launcher",
                             "/opt/charmrun",
                             "++runscript",
                             "s.sh",
                             "++va-randomization",
                             "++timeout",
                             "2.5",
                             "++timelimit",
                             "3600",
                             "++quiet",
                             "++report",
                             "r.json",
                             "++timeline",
                             "t.svg",
                             "app"});
  CHECK(options.counts.pes == 8);
  CHECK(options.counts.processes == 4);
  CHECK(options.counts.pes_per_process == 2);
  CHECK(options.counts.host_limit == 3);
  CHECK(options.hosts.nodegroup == "g");
  CHECK(options.hosts.local);
  CHECK(options.hosts.virtual_hosts == 5);
  CHECK(options.launch.remote_shell == Command{"ssh", "-p", "22"});
  CHECK(options.launch.branching == 6);
  CHECK(options.launch.levels == 7);
  CHECK(options.launch.batch == 9);
  CHECK(options.launch.accept_new_host_keys);
  CHECK(options.launch.forward_agent);
  CHECK(options.launch.launcher == "/opt/charmrun");
  CHECK(options.process.run_script == "s.sh");
  CHECK(options.process.va_randomization);
  CHECK(options.time.to_start == 2500ms);
  CHECK(options.time.limit == Duration{3600s});
  CHECK(options.view.quiet);
  CHECK(options.view.report == "r.json");
  CHECK(options.view.timeline == "t.svg");
}

TEST_CASE("options are recognised anywhere and removed") {
  const auto options = good({"./app", "+p", "4", "a b", "++verbose", "c", "++timeout", "5", ""});
  CHECK(options.counts.pes == 4);
  CHECK(options.view.verbose);
  CHECK(options.time.to_start == 5s);
  CHECK(options.arguments == Words{"a b", "c", ""});
}

TEST_CASE("a lone ++ ends the scanning and is removed") {
  const auto after = good({"+p2", "prog", "x", "++", "++quux", "+p3", "++"});
  CHECK(after.counts.pes == 2);
  CHECK(after.arguments == Words{"x", "++quux", "+p3", "++"});
  const auto before = good({"++", "prog", "++verbose", "+"});
  CHECK(before.program == "prog");
  CHECK(before.arguments == Words{"++verbose", "+"});
  CHECK_FALSE(before.view.verbose);
}

TEST_CASE("single-plus options of the program stay with it") {
  const Words program = {"+vp4", "+ppn", "2", "+pemap", "0-3", "+netpoll", "+np", "+x5", "-p", "3"};
  Words words = {"app"};
  words.insert(words.end(), program.begin(), program.end());
  CHECK(good(words).arguments == program);
  CHECK(good(words).counts.pes == 0);
}

TEST_CASE("counts have long and short forms, np and n are two names of one number") {
  CHECK(good({"+n3", "a"}).counts.processes == 3);
  CHECK(good({"+n", "3", "a"}).counts.processes == 3);
  CHECK(good({"++np", "3", "a"}).counts.processes == 3);
  CHECK(good({"++n", "2", "++np", "3", "a"}).counts.processes == 3);
}

TEST_CASE("flags have a ++no- form and the last one counts") {
  CHECK_FALSE(good({"++verbose", "++no-verbose", "a"}).view.verbose);
  CHECK_FALSE(good({"++no-va-randomization", "a"}).process.va_randomization);
  CHECK(good({"++local", "++local", "a"}).hosts.local);
  CHECK(has(failure({"++no-timeout", "a"}), "++timeout takes a value and so has no form ++no-timeout"));
}

TEST_CASE("verbose wins over quiet") {
  CHECK_FALSE(good({"++quiet", "++verbose", "a"}).view.quiet);
  CHECK(good({"++quiet", "++verbose", "a"}).view.verbose);
}

TEST_CASE("an unknown option is an error that mentions ++ and guesses") {
  CHECK(failure({"++nodelsit", "f", "a"}) ==
        "options: unknown option '++nodelsit'; did you mean ++nodelist? (words for the program go behind a "
        "lone ++)");
  CHECK(has(failure({"a", "++quux"}),
            "unknown option '++quux'; ++help lists all; words for the program go behind a lone ++"));
  CHECK(has(failure({"++nodelist=f", "a"}), "write its value as the next word: ++nodelist f"));
  CHECK(has(failure({"a", "++no-quux"}), "unknown option '++no-quux'"));
}

TEST_CASE("a valued option given twice is an error before its second value is read") {
  CHECK(has(failure({"+p2", "./a", "+p3x"}), "'+p3x' is used more than once"));
  CHECK(has(failure({"++timeout", "1", "++timeout", "2", "a"}), "'++timeout' is used more than once"));
}

TEST_CASE("variables may be set again and again, but not those of launchers") {
  CHECK(good({"++env", "A=1", "prog", "++env", "B=x=y z", "++env", "A="}).process.variables.all ==
        Words{"A=1", "B=x=y z", "A="});
  CHECK(good({"a"}).process.forward_environment);
  CHECK_FALSE(good({"++no-forward-env", "a"}).process.forward_environment);
  CHECK(has(failure({"++env", "A", "a"}), "++env cannot be 'A'; it takes NAME=VALUE"));
  CHECK(has(failure({"++env", "=1", "a"}), "it takes NAME=VALUE"));
  CHECK(has(failure({"++env", "PMI_RANK=0", "a"}),
            "it takes a variable that no launcher sets for its own processes"));
}

TEST_CASE("a plain process that fails ends the job only if that is wanted") {
  CHECK_FALSE(good({"a"}).process.kill_on_exit);
  CHECK(good({"++kill-on-exit", "a"}).process.kill_on_exit);
  CHECK(good({"++on-failure", "abort", "a"}).process.kill_on_exit);
  CHECK_FALSE(good({"++on-failure", "continue", "a"}).process.kill_on_exit);
  CHECK(good({"++in", "++on-failure", "abort", "./x"}).process.kill_on_exit);
  CHECK(has(failure({"++in", "++on-failure", "continue", "./x"}), "sessions know no ++on-failure but abort"));
}

TEST_CASE("the help of ++on-failure says which programs go on without a lost process") {
  const OptionRow* row = find_option("on-failure");
  const std::string help{row == nullptr ? "" : row->help};
  REQUIRE_FALSE(help.empty());
  const auto goes_on = [](proto::ProgramKind kind) {
    return proto::ruling(kind, proto::Policy::go_on).recovery == wire::Recovery::go_on;
  };
  CHECK(goes_on(proto::ProgramKind::plain) == has(help, "plain"));
  CHECK(goes_on(proto::ProgramKind::native) == has(help, "client-lib"));
  CHECK(goes_on(proto::ProgramKind::charm) != has(help, "not Charm++"));
}

TEST_CASE("what becomes of a job that loses a process is abort, unless told otherwise") {
  CHECK(good({"a"}).recovery.on_failure == wire::OnFailure::abort);
  CHECK(good({"++on-failure", "abort", "a"}).recovery.on_failure == wire::OnFailure::abort);
  CHECK(good({"++on-failure", "continue", "a"}).recovery.on_failure == wire::OnFailure::go_on);
  CHECK(good({"++on-failure", "restart", "a"}).recovery.on_failure == wire::OnFailure::restart);
  CHECK(has(failure({"++on-failure", "stop", "a"}),
            "++on-failure cannot be 'stop'; it takes abort, continue or restart"));
  CHECK(good({"++on-failure", "restart", "++restart-args", "+restart 'my dir'", "a"})
            .recovery.restart_arguments == Command{"+restart", "my dir"});
  CHECK(good({"++on-failure", "restart", "++restart-args", "", "a"}).recovery.restart_arguments == Command{});
  CHECK(good({"++on-failure", "restart", "++max-restarts", "0", "a"}).recovery.max_restarts == 0);
  CHECK(has(failure({"++restart-args", "x", "a"}), "++restart-args without ++on-failure restart"));
  CHECK(has(failure({"++shrink-ok", "a"}), "++shrink-ok without ++on-failure restart"));
  CHECK(has(failure({"++fast-failover", "a"}), "++fast-failover without ++on-failure restart"));
  CHECK(has(failure({"++on-failure", "continue", "++kill-on-exit", "a"}), "exclude each other"));
}

TEST_CASE("values are checked and the word is named") {
  CHECK(has(failure({"+p4x", "a"}), "++p cannot be '4x'; it takes a whole number from 1 to 2147483647"));
  CHECK(has(failure({"+p0", "a"}), "++p cannot be '0'; it takes a whole number from 1"));
  CHECK(has(failure({"+n", "0", "a"}), " cannot be '0'; it takes a whole number from 1"));
  CHECK(has(failure({"++np", "0", "a"}), "++np cannot be '0'; it takes a whole number from 1"));
  CHECK(has(failure({"++ppn", "0", "a"}), "++ppn cannot be '0'; it takes a whole number from 1"));
  CHECK(has(failure({"+p-1", "a"}), "++p cannot be '-1'"));
  CHECK(has(failure({"++n", "16777217", "a"}), "from 1 to 16777216"));
  CHECK(has(failure({"++branching", "0", "a"}), "++branching cannot be '0'"));
  CHECK(has(failure({"++numHosts", "99999999999999999999", "a"}), "++numHosts cannot be"));
  CHECK(has(failure({"++timeout", "0", "a"}), "++timeout cannot be '0'; it takes seconds above 0"));
  CHECK(has(failure({"++timeout", "nan", "a"}), "++timeout cannot be 'nan'"));
  CHECK(has(failure({"++timeout", "1e300", "a"}), "++timeout cannot be"));
  CHECK(has(failure({"++timeout", "-1", "a"}), "++timeout cannot be '-1'"));
  CHECK(has(failure({"++nodelist", "", "a"}), "++nodelist cannot be ''; it takes a FILE that is not empty"));
  CHECK(has(failure({"++remote-shell", "ssh 'x", "a"}), "with closed quotes"));
  CHECK_FALSE(good({"++timelimit", "-1", "a"}).time.limit);
}

TEST_CASE("a missing value is an error") {
  CHECK(has(failure({"a", "++nodelist"}), "'++nodelist' needs a value: ++nodelist FILE"));
  CHECK(has(failure({"a", "+p"}), "'+p' needs a value: +p N"));
  CHECK(has(failure({"++nodelist", "++local", "a"}), "'++nodelist' needs a value, but '++local' follows"));
}

TEST_CASE("a program is needed, unless help or version is asked for") {
  CHECK(has(failure({"+p4"}), "no program was given"));
  CHECK(has(failure({}), "no program was given"));
  CHECK(parse_options({}, {}).ok() == false);
  CHECK(has(failure({""}), "the program's name is empty"));
  CHECK(good({"++help"}).help);
  CHECK(good({"++version"}).version);
  CHECK(good({"++help", "a"}).program == "a");
}

TEST_CASE("a program cannot begin with - or +") {
  CHECK(has(failure({"-ppx", "4", "a"}),
            "charmrun does not know the option '-ppx'; its own options begin with ++"));
  CHECK(has(failure({"--local", "a"}), "charmrun does not know the option '--local'; did you mean ++local?"));
  CHECK(
      has(failure({"+vp4", "a"}), "charmrun does not know the option '+vp4'; its own options begin with ++"));
  CHECK(has(failure({"-"}), "charmrun does not know the option '-'"));
  CHECK(has(failure({"++", "++"}), "charmrun does not know the option '++'"));
  CHECK(has(failure({"expr", "1", "+", "2"}),
            "a lone + is no option; words for the program go behind a lone ++"));
}

TEST_CASE("a mode counts as the first word only and may need no program") {
  CHECK(good({"a"}).mode == Mode::run);
  const auto all = good({"++doctor", "++nodelist", "f", "./app", "x"});
  CHECK(all.mode == Mode::doctor);
  CHECK(all.hosts.nodelist == "f");
  CHECK((all.program == "./app" && all.arguments == Words{"x"}));
  CHECK(good({"++doctor"}).program.empty());
  CHECK(has(failure({"a", "++doctor"}), "++doctor can only be the first word; charmrun ++doctor ..."));
  CHECK(has(failure({"++doctor", "++doctor"}), "++doctor can only be the first word"));
  CHECK(has(failure({"++docter", "a"}), "did you mean ++doctor?"));
}

TEST_CASE("a doctor waits less, unless told to") {
  CHECK(good({"++doctor"}).time.to_start == kDoctorTimeout);
  CHECK(good({"++doctor", "++timeout", "7"}).time.to_start == 7s);
  CHECK(find_mode("doctor")->help.find(fmt::format("++timeout is {} then", seconds(kDoctorTimeout))) !=
        std::string_view::npos);
}

TEST_CASE("places of the nodelist come in Charm++'s order") {
  const OptionEnvironment environment{"/env/nodes", "", "/home/me"};
  using Places = std::vector<NodelistPlace>;
  CHECK(good({"++nodelist", "f", "a"}, environment).nodelist_places == Places{{"f", "++nodelist", true}});
  CHECK(good({"a"}, environment).nodelist_places == Places{{"/env/nodes", "$NODELIST", true}});
  CHECK(good({"a"}, {"", "", "/home/me"}).nodelist_places ==
        Places{{"nodelist", "", false}, {"/home/me/.nodelist", "", false}});
  CHECK(good({"a"}).nodelist_places == Places{{"nodelist", "", false}});
  CHECK(good({"++local", "a"}, environment).nodelist_places.empty());
  CHECK(good({"++hosts", "2", "a"}, environment).nodelist_places.empty());
  CHECK(has(failure({"++hosts", "2", "++nodelist", "f", "a"}), "++hosts and ++nodelist exclude each other"));
}

TEST_CASE("the remote shell comes from the option, else from the environment") {
  CHECK(good({"a"}, {"", "rsh -K", ""}).launch.remote_shell == Command{"rsh", "-K"});
  CHECK(good({"++remote-shell", "ssh", "a"}, {"", "rsh", ""}).launch.remote_shell == Command{"ssh"});
  CHECK(good({"a"}).launch.remote_shell.empty());
  CHECK(has(failure({"a"}, {"", "ssh 'x", ""}), "$CONV_RSH cannot be 'ssh 'x'"));
}

TEST_CASE("only ++launcher alone is the launcher mode") {
  CHECK(is_launcher_mode(Words{"charmrun", "++launcher"}));
  CHECK_FALSE(is_launcher_mode(Words{"charmrun"}));
  CHECK_FALSE(is_launcher_mode(Words{}));
  CHECK_FALSE(is_launcher_mode(Words{"charmrun", "++launcher", "/opt/charmrun"}));
  CHECK_FALSE(is_launcher_mode(Words{"charmrun", "a", "++launcher"}));
}

TEST_CASE("the table is sound") {
  std::set<std::string_view> names;
  for (const OptionRow& row : option_table()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.help.empty());
    CHECK(row.value.empty() == row.is_flag());
    const bool is_integer =
        row.kind() == OptionKind::integer || row.target == OptionTarget{NoMember::integer};
    CHECK((!is_integer || row.low < row.high));
  }
}

TEST_CASE("defaults shown are the defaults") {
  const Options defaults;
  CHECK(find_option("timeout")->default_text == fmt::format("{}", seconds(defaults.time.to_start)));
  CHECK(find_option("nodegroup")->default_text == defaults.hosts.nodegroup);
  for (const OptionRow& row : option_table()) {
    INFO(row.name);
    if (row.kind() == OptionKind::flag && !row.default_text.empty())
      CHECK(row.default_text == (get<OptionMember<bool>>(row.target).of(defaults) ? "on" : "off"));
  }
}

TEST_CASE("help shows every option by topic and fits a terminal") {
  const std::string text = help_text();
  for (const OptionRow& row : option_table()) CHECK(has(text, fmt::format("\n  ++{}", row.name)));
  for (const ModeRow& row : mode_table()) CHECK(has(text, fmt::format("\n  ++{}", row.name)));
  for (std::uint8_t topic = 0; topic < kOptionTopicCount; ++topic)
    CHECK(has(text, fmt::format("\n{}\n", title(static_cast<OptionTopic>(topic)))));
  for (const auto* word :
       {"$NODELIST", "$CONV_RSH", "~/.charmrunrc", "[60]", "[main]", "124", "125", "126", "127"})
    CHECK(has(text, word));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() < 80);
    CHECK((line.empty() || line.back() != ' '));
  }
  CHECK(version_text() ==
        fmt::format("charmrun (charmtree) " CHARMTREE_VERSION "\nprotocol {}\n", wire::protocol()));
}

// Charm++ 8's own list, builds with shared memory and with shrink/expand included.
TEST_CASE("every option of Charm++ is known") {
  for (const auto* name : {"p",
                           "n",
                           "np",
                           "ppn",
                           "numHosts",
                           "processPerHost",
                           "processPerSocket",
                           "processPerCore",
                           "processPerPU",
                           "oneWthPerHost",
                           "oneWthPerSocket",
                           "oneWthPerCore",
                           "oneWthPerPU",
                           "auto-provision",
                           "autoProvision",
                           "nodelist",
                           "nodegroup",
                           "local",
                           "remote-shell",
                           "maxssh",
                           "batch",
                           "scalable-start",
                           "mpiexec",
                           "mpiexec-no-n",
                           "runscript",
                           "interactive",
                           "usehostname",
                           "useip",
                           "timeout",
                           "timelimit",
                           "verbose",
                           "quiet",
                           "help",
                           "server",
                           "server-port",
                           "server-auth",
                           "debug",
                           "debug-no-pause",
                           "debug-commands",
                           "debugger",
                           "xterm",
                           "in-xterm",
                           "display",
                           "ssh-display",
                           "no-xrdb",
                           "charmdebug",
                           "va-randomization",
                           "ipcpoolsize",
                           "ipccutoff",
                           "newp",
                           "oldp",
                           "shrinkexpand",
                           "charmrun_port"}) {
    INFO(name);
    CHECK(find_option(name) != nullptr);
  }
}

TEST_CASE("any option of the server asks for one, and the environment only says where") {
  OptionEnvironment environment;
  environment.server_host = "127.0.0.1";
  const auto parsed = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "charmrun");
    words.emplace_back("./a");
    return parse_options(words, environment);
  };
  CHECK_FALSE(parsed({})->ccs.wanted);
  CHECK(parsed({"++server"})->ccs.wanted);
  CHECK(parsed({"++server-port", "1234"})->ccs.wanted);
  CHECK(parsed({"++server"})->ccs.host == "127.0.0.1");
  CHECK(parsed({"++server-host", "192.0.2.1"})->ccs.host == "192.0.2.1");
}

TEST_CASE("the address of this machine comes from ++useip, else the environment") {
  const OptionEnvironment environment{"", "", "", "192.0.2.1", ""};
  CHECK(good({"a"}, environment).address.own == "192.0.2.1");
  CHECK(good({"++useip", "192.0.2.2", "a"}, environment).address.own == "192.0.2.2");
  CHECK(good({"a"}).address.own.empty());
  CHECK(good({"++usehostname", "a"}).address.by_host_name);
}

TEST_CASE("charmd is refused where hosts would be logged in to") {
  const OptionEnvironment environment{"", "", "", "", "1"};
  CHECK(has(failure({"a"}, environment), "CONV_DAEMON is set, but charmd"));
  CHECK(good({"++local", "a"}, environment).hosts.local);
  CHECK(good({"++hosts", "2", "a"}, environment).hosts.virtual_hosts == 2);
}

TEST_CASE("a flag that overrules has three states") {
  CHECK_FALSE(good({"a"}).counts.smp.has_value());
  CHECK(good({"++smp", "a"}).counts.smp == true);
  CHECK(good({"++smp", "++no-smp", "a"}).counts.smp == false);
  CHECK_FALSE(good({"a"}).recovery.syncft.has_value());
  CHECK(good({"++syncft", "a"}).recovery.syncft == true);
}

TEST_CASE("sizes of shared memory: any number, or -1 for the program's own") {
  CHECK_FALSE(good({"a"}).process.ipc_pool_size.has_value());
  CHECK(good({"++ipcpoolsize", "0", "++ipccutoff", "65536", "a"}).process.ipc_pool_size == 0U);
  CHECK(good({"++ipccutoff", "65536", "a"}).process.ipc_cutoff == 65536U);
  CHECK_FALSE(good({"++ipcpoolsize", "-1", "a"}).process.ipc_pool_size.has_value());
  CHECK(has(failure({"++ipcpoolsize", "-2", "a"}), "++ipcpoolsize cannot be '-2'"));
}

TEST_CASE("nothing starts early unless the user says so") {
  CHECK_FALSE(good({"a"}).launch.start_early);
  CHECK(good({"++start-early", "a"}).launch.start_early);
}

TEST_CASE("scalable start is on, and what a resized job tells itself is ignored") {
  CHECK(good({"a"}).launch.scalable_start);
  CHECK_FALSE(good({"++no-scalable-start", "a"}).launch.scalable_start);
  const auto options =
      good({"++newp", "4", "++oldp", "2", "++shrinkexpand", "++charmrun_port", "2000", "+p3", "a"});
  CHECK(options.counts.pes == 3);
  CHECK(options.arguments.empty());
}

TEST_CASE("the replay of one PE is a job of one PE") {
  const auto options = good({"+p8", "++n", "4", "++ppn", "2", "a", "x", "+replay-detail", "0"});
  CHECK((options.counts.pes == 1 && options.counts.processes == 0 && options.counts.pes_per_process == 0));
  CHECK(options.arguments == Words{"x", "+replay-detail", "0"});
}

TEST_CASE("the value of an option that is ignored is checked, and nothing is kept of it") {
  CHECK(failure({"++newp", "x", "app"}) ==
        fmt::format("options: ++newp cannot be 'x'; it takes a whole number from 0 to {}",
                    wire::kMaxProcesses));
  CHECK(failure({"++charmrun_port", "65536", "app"}) ==
        "options: ++charmrun_port cannot be '65536'; it takes a whole number from 0 to 65535");
  CHECK(failure({"++debugger", "", "app"}) ==
        "options: ++debugger cannot be ''; it takes a COMMAND that is not empty");
  CHECK(failure({"++debug-commands", "", "app"}) ==
        "options: ++debug-commands cannot be ''; it takes a TEXT that is not empty");
  const Words words{
      "charmrun", "++newp",        "4",         "++oldp",       "2",  "++shrinkexpand", "++charmrun_port",
      "9",        "++ssh-display", "++no-xrdb", "++charmdebug", "app"};
  CHECK(parse_options(words, {})->arguments.empty());
}

TEST_CASE("a unit of binding is one of those there are") {
  const OptionRow& row = *find_option("bind");
  Options options;
  CHECK(options.placement.binding == BindUnit::automatic);
  REQUIRE(set_option(row, {true, "numa"}, options).ok());
  CHECK(options.placement.binding == BindUnit::numa);
  CHECK(
      has(to_string(set_option(row, {true, "cpu"}, options).error()), "it takes core, socket, numa or none"));
}

TEST_CASE("mpiexec is called by its own name, or by ++remote-shell, never by $CONV_RSH") {
  OptionEnvironment environment;
  environment.remote_shell = "ssh -x";
  const auto plain = good({"++mpiexec", "+p4", "./app"}, environment);
  REQUIRE(plain.connecting_starter());
  CHECK(plain.connecting_starter()->command == "mpiexec");
  CHECK(plain.launch.remote_shell.empty());
  const auto named = good({"++mpiexec-no-n", "++remote-shell", "srun -l", "+p4", "./app"}, environment);
  CHECK(named.connecting_starter() == plain.connecting_starter());
  CHECK(named.launch.mpiexec_without_count);
  CHECK(named.launch.remote_shell == Command{"srun", "-l"});
  const auto local = good({"++mpiexec", "++local", "./app"}, environment);
  CHECK_FALSE(local.connecting_starter());
  const auto chosen = good({"++mpiexec", "++transport", "pbsdsh", "+p4", "./app"});
  REQUIRE(chosen.connecting_starter());
  CHECK(chosen.connecting_starter()->name == "pbsdsh");
  CHECK_FALSE(good({"++transport", "srun", "+p4", "./app"}).connecting_starter());
  CHECK(is_rank_mode(Words{"charmrun", "++mpiexec-rank"}));
  CHECK_FALSE(is_rank_mode(Words{"charmrun", "++mpiexec-rank", "./app"}));
}

TEST_CASE("stdin goes to a process, to all or to none") {
  using Who = InputTarget::Who;
  CHECK_FALSE(good({"app"}).process.input);
  CHECK(good({"++stdin", "3", "app"}).process.input == InputTarget{Who::process, 3});
  CHECK(good({"++stdin", "all", "app"}).process.input == InputTarget{Who::all, 0});
  CHECK(good({"++stdin", "none", "app"}).process.input == InputTarget{Who::none, 0});
  for (const char* wrong : {"", "-1", "two", "1x", "99999999999"})
    CHECK(has(failure({"++stdin", wrong, "app"}), "++stdin cannot be"));
  CHECK(
      has(failure({"++interactive", "++stdin", "3", "app"}), "++interactive and ++stdin exclude each other"));
}

TEST_CASE("the grace is 2 seconds, and Ctrl-C ends the job, unless told otherwise") {
  CHECK(good({"app"}).time.grace == 2s);
  CHECK(good({"++grace", "0.5", "app"}).time.grace == 500ms);
  CHECK(good({"app"}).time.int_ends);
  CHECK_FALSE(good({"++no-int-ends", "app"}).time.int_ends);
  CHECK(good({"++no-int-ends", "++int-ends", "app"}).time.int_ends);
}

TEST_CASE("launchers watch each other, unless told otherwise") {
  CHECK(good({"app"}).time.heartbeat == 250ms);
  CHECK(good({"app"}).time.detect_within == 1s);
  CHECK(good({"app"}).time.orphan_after == 8s);
  CHECK(good({"++heartbeat", "0.1", "++detect-within", "0.5", "++orphan-after", "3", "app"}).time.heartbeat ==
        100ms);
  CHECK_FALSE(good({"++heartbeat", "-1", "app"}).time.heartbeat);
  for (const char* wrong : {"0", "0.05", "9"})
    CHECK(has(failure({"++detect-within", wrong, "app"}), "++detect-within cannot be"));
  CHECK(has(failure({"++detect-within", "2", "++orphan-after", "1", "app"}), "++orphan-after is less than"));
}

TEST_CASE("a process that hangs is told after a minute, unless told otherwise") {
  CHECK(good({"app"}).time.hang_after == 60s);
  CHECK(good({"app"}).time.hang_action == HangAction::report);
  CHECK(good({"++hang-after", "0.5", "++hang-action", "kill", "app"}).time.hang_after == 500ms);
  CHECK(good({"++hang-action", "kill", "app"}).time.hang_action == HangAction::kill);
  CHECK(good({"++hang-action", "report", "++hang-after", "-1", "app"}).time.hang_after == std::nullopt);
  CHECK(has(failure({"++hang-action", "none", "app"}),
            "++hang-action cannot be 'none'; it takes report or kill"));
  CHECK(has(failure({"++hang-action", "kill", "++hang-after", "-1", "app"}), "exclude each other"));
}

TEST_CASE("what needs to know or start the hosts does not go with ++mpiexec") {
  for (const Words& words : {Words{"++hosts", "2"}, Words{"++levels", "2"}, Words{"++branching", "4"},
                             Words{"++on-host-failure", "drop"}, Words{"++forward-agent"}}) {
    Words all = words;
    all.insert(all.end(), {"++mpiexec", "./app"});
    CHECK(has(failure(all), "++mpiexec and " + words[0] + " exclude each other"));
  }
  CHECK(has(failure({"++plan", "++mpiexec", "./app"}), "++mpiexec and ++plan exclude each other"));
  for (const char* how : {"flux", "pbsdsh"})
    CHECK(has(failure({"++session", "++transport", how}),
              fmt::format("++transport {} and ++session exclude each other", how)));
}

TEST_CASE("the command of ++exec is taken as it is", "[options]") {
  const Options options = good({"++exec", "++fold", "7a:0-3", "sh", "-c", "++p", ":", "+p4", "++"});
  CHECK((options.mode == Mode::exec && options.program == "7a:0-3" && options.output.fold == true));
  CHECK(options.arguments == std::vector<std::string>{"sh", "-c", "++p", ":", "+p4", "++"});
  CHECK(good({"++exec", ":", "uptime"}).program == ":");
}

}  // namespace charmtree::options_test
