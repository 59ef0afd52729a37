// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/mpiexec_words.hpp"

#include <catch2/catch.hpp>

namespace charmtree::mpiexec_words_test {

namespace {

using namespace mpiexec;
using Words = std::vector<std::string>;

const Words kEnvironment{"HERE=yes"};

Result<std::string> file(const std::string& path) {
  if (path == "two") return std::string{"# programs\n\n-n 2 ./a 'x y'\r\n  -n 1 -env A=1 ./b -- -n 4"};
  if (path == "open") return std::string{"./a\n./b 'x\n"};
  if (path == "empty") return std::string{"# nothing\n"};
  return bad_input(path + ": no such file");
}

Line good(Words words) {
  words.insert(words.begin(), "mpiexec");
  auto line = read_line(words, kEnvironment, file);
  INFO((line ? std::string{} : to_string(line.error())));
  REQUIRE(line.ok());
  REQUIRE_FALSE(line->options.empty());
  if (line->options.back() == "++kill-on-exit") line->options.pop_back();
  return *line;
}

std::string failure(Words words) {
  words.insert(words.begin(), "mpiexec");
  const auto line = read_line(words, kEnvironment, file);
  REQUIRE_FALSE(line.ok());
  CHECK((line.error().code == Errc::bad_input && line.error().phase == Phase::options));
  return to_string(line.error());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// What charmrun is told.
Words options(Words words) {
  words.insert(words.end(), {"./app"});
  return good(std::move(words)).options;
}

/// What is read where the environment has these settings.
Line with(Words environment, Words words = {}) {
  words.insert(words.begin(), "mpiexec");
  words.emplace_back("./app");
  auto line = read_line(words, environment, file);
  REQUIRE(line.ok());
  if (line->options.back() == "++kill-on-exit") line->options.pop_back();
  return *line;
}

/// The lines about settings, as one.
std::string remarks(Words environment, Words words = {}) {
  std::string all;
  for (const std::string& line : with(std::move(environment), std::move(words)).remarks) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("some names make charmrun an mpiexec") {
  for (const auto* name :
       {"mpiexec", "/usr/local/libexec/charmtree/mpi/mpirun", "./mpiexec.hydra", "orterun"})
    CHECK(is_mpiexec(name));
  for (const auto* name : {"charmrun", "mpiexec/charmrun", "mpiexec.slurm", ""})
    CHECK_FALSE(is_mpiexec(name));
}

TEST_CASE("words of mpiexec are said in charmrun's") {
  CHECK(options({"-n", "4"}).empty());
  CHECK(options({"-l"}) == Words{"++label"});
  CHECK(options({"-pmi-port"}) == Words{"++pmi", "port"});
  CHECK(options({"--tag-output", "--timestamp-output"}) == Words{"++label", "++timestamp"});
  CHECK(options({"-genv", "A", "1", "-genv", "B=2"}) == Words{"++env", "A=1", "++env", "B=2"});
  CHECK(options({"-x", "A", "-x", "B=2", "-x", "HERE"}) == Words{"++env", "B=2", "++env", "HERE=yes"});
  CHECK(options({"--stdin=all", "-genv=A=1", "-q"}) == Words{"++stdin", "all", "++env", "A=1"});
  CHECK(options({"-output-filename", "out:nocopy"}) == Words{"++output", "out/%r.out"});
  CHECK(options({"-genvlist", "HERE,NOT"}) == Words{"++no-forward-env", "++env", "HERE=yes"});
  CHECK(options({"--bind-to", "core:overload-allowed"}) == Words{"++bind", "core"});
  CHECK(options({"--mca", "btl", "^ofi"}) == Words{"++env", "OMPI_MCA_btl=^ofi"});
  CHECK(options({"--output-filename", "out"}) == Words{"++output", "out/%r.out"});
  CHECK(options({"-launcher", "ssh", "--oversubscribe", "-usize", "SYSTEM"}).empty());
  CHECK(options({"-usize", "9"}) == Words{"++universe-size", "9"});
  CHECK(options({"--timeout", "5", "--stdin", "all"}) == Words{"++timelimit", "5", "++stdin", "all"});
  CHECK(options({"++verbose", "-l", "++nodelist", "nodes"}) ==
        Words{"++verbose", "++label", "++nodelist", "nodes"});
  CHECK(options({"-disable-auto-cleanup"}) == Words{"++on-failure", "continue"});
  Words plain{"mpiexec", "./app"};
  CHECK(read_line(plain, kEnvironment, file)->options == Words{"++kill-on-exit"});
}

TEST_CASE("hosts and places are said in charmrun's words") {
  const Line line =
      good({"-f", "hosts", "-ppn", "2", "-wdir", "/w", "-n", "8", "./a", "-n", "3", "++verbose"});
  CHECK(line.options == Words{"++nodelist", "hosts", "++processPerHost", "2", "++wdir", "/w"});
  REQUIRE(line.programs.size() == 1);
  CHECK((line.programs[0].processes == 8 && line.programs[0].program == "./a"));
  CHECK(line.programs[0].arguments == Words{"-n", "3", "++verbose"});
  CHECK(options({"-host", "a,b", "--map-by", "ppr:4:node"}) ==
        Words{"++host", "a,b", "++processPerHost", "4"});
  CHECK(options({"-exclude", "b", "-rmk", "pbs"}) == Words{"++exclude", "b", "++rm", "pbs"});
  CHECK(good({"./a"}).programs[0].processes == 0);
  CHECK(good({"-np=3", "--", "-odd", "-n"}).programs[0].program == "-odd");
  CHECK(good({"++", "./a", "-n"}).programs[0].arguments == Words{"-n"});
  CHECK(good({"./a", "", "x : y", "--"}).programs[0].arguments == Words{"", "x : y", "--"});
  CHECK(good({"--help"}).help);
  CHECK(good({"++version"}).options == Words{"++version"});
}

TEST_CASE("several programs stand between colons") {
  const Line line = good({"-n", "2", "./a", "x", ":", "-n", "3", "-env", "A", "1", "./b", ":", "./c"});
  REQUIRE(line.programs.size() == 3);
  CHECK((line.programs[0].arguments == Words{"x"} && line.programs[1].variables.all == Words{"A=1"}));
  CHECK((line.programs[1].processes == 3 && line.programs[2].processes == 0 &&
         line.programs[2].program == "./c"));
}

TEST_CASE("what mpiexec cannot do is one line") {
  CHECK(has(failure({}), "no program was given"));
  CHECK(has(failure({"./a", ":"}), "no program was given"));
  CHECK(has(failure({"-bogus", "./a"}), "mpiexec does not know '-bogus'"));
  CHECK(has(failure({"-n"}), "'-n' needs a value: -n N"));
  CHECK(has(failure({"-n", ":", "./a"}), "'-n' needs a value"));
  CHECK(has(failure({"-n", "many", "./a"}), "-n cannot be 'many'"));
  CHECK(has(failure({"-n", "99999999", "./a"}), "-n cannot be '99999999'"));
  CHECK(has(failure({"./a", ":", "-l", "./b"}), "-l behind a ':' is for all programs"));
  CHECK(has(failure({"./a", ":", "++verbose", "./b"}), "does not know '++verbose'"));
  CHECK(has(failure({"-env", "A", "1", "./a", ":", "./b"}), "-env of the first of several programs"));
  CHECK(has(failure({"-wdir", "/a", "./a", ":", "-wdir", "/b", "./b"}),
            "another folder than the first program's"));
  CHECK(has(failure({"-bind-to", "board", "./a"}), "it takes core, socket, numa or none"));
  CHECK(has(failure({"--map-by", "ppr:0:node", "./a"}), "it takes slot or ppr:N:node"));
  CHECK(has(failure({"-bind-to", "core:2", "./a"}), "it takes core, socket, numa or none"));
  CHECK(has(failure({"--map-by", "ppr:4000000000:node", "./a"}), "it takes slot or ppr:N:node"));
  CHECK(has(failure({"-hosts", "", "./a"}), "the value of -hosts is empty: -hosts LIST"));
  CHECK(has(failure({"-n", "1", "", "rm"}), "no program was given"));
  CHECK(has(failure({"-l=3", "./a"}), "-l takes no value"));
  CHECK(has(failure({"./a", ":", "-env", "PMI_PORT", "x", "./b"}), "-env cannot be 'PMI_PORT=x'"));
  CHECK(has(failure({"++n", "2", "./a"}), "mpiexec has words of its own for ++n"));
  CHECK(has(failure({"++list"}), "mpiexec starts programs, and knows no ++list"));
  CHECK(has(failure({"-launcher", "slurm", "./a"}), "by ssh"));
  CHECK(has(failure({"-configfile", "f"}), "f: no such file"));
  CHECK(has(failure({"-configfile", "open"}), "open, line 2: a quote is not closed"));
  CHECK(has(failure({"-configfile", "empty"}), "empty has no programs"));
  CHECK(has(failure({"-configfile", "two", "./c"}), "'./c' behind -configfile two"));
  CHECK(has(failure({"./c", ":", "-configfile", "two"}), "-configfile behind a ':' is for all programs"));
}

TEST_CASE("programs may stand in a file, a line for each") {
  const auto name = GENERATE("-configfile", "--configfile", "--app");
  const Line line = good({"-l", name, "two"});
  CHECK(line.options == Words{"++label"});
  REQUIRE(line.programs.size() == 2);
  CHECK((line.programs[0].processes == 2 && line.programs[0].program == "./a"));
  CHECK(line.programs[0].arguments == Words{"x y"});
  CHECK((line.programs[1].processes == 1 && line.programs[1].program == "./b"));
  CHECK(line.programs[1].arguments == Words{"--", "-n", "4"});
  CHECK(line.programs[1].variables.all == Words{"A=1"});
}

TEST_CASE("settings of other launchers become options, and one line says which") {
  CHECK(with({"MPIEXEC_TIMEOUT=2"}).options == Words{"++timelimit", "2"});
  CHECK(remarks({"MPIEXEC_TIMEOUT=2", "HYDRA_DEBUG=1"}) ==
        "taken from the environment: MPIEXEC_TIMEOUT (++timelimit 2), HYDRA_DEBUG (++verbose)\n");
  CHECK(with({"HYDRA_HOST_FILE=h"}).options == Words{"++nodelist", "h"});
  CHECK(with({"OMPI_MCA_orte_default_hostfile=h"}).options == Words{"++nodelist", "h"});
  CHECK(with({"I_MPI_HYDRA_IFACE=ib0", "HYDRA_BINDING=core"}).options ==
        Words{"++bind", "core", "++iface", "ib0"});
  CHECK(with({"OMPI_MCA_orte_tag_output=true", "PRTE_MCA_plm_ssh_args=-q"}).options ==
        Words{"++label", "++remote-shell", "ssh -q"});
  CHECK(with({"HYDRA_LAUNCHER_EXEC=/my/ssh", "HYDRA_LAUNCHER_EXTRA_ARGS=-p 22"}).options ==
        Words{"++remote-shell", "/my/ssh -p 22"});
  CHECK(with({"OMPI_MCA_orte_abort_on_non_zero_status=0"}).options == Words{"++on-failure", "continue"});
  CHECK(with({"OMPI_MCA_mca_base_env_list=A=1;HERE", "HERE=yes"}).options ==
        Words{"++env", "A=1", "++env", "HERE=yes"});
}

TEST_CASE("--mca takes settings of Open MPI's launcher, too") {
  CHECK(options({"--mca", "plm_rsh_args", "-p 2222"}) == Words{"++remote-shell", "ssh -p 2222"});
  CHECK(options({"--mca", "plm_rsh_agent", "/my/ssh : rsh", "-launcher-exec", "other"}) ==
        Words{"++remote-shell", "other"});
  CHECK(options({"--mca", "plm_rsh_agent", "ssh : rsh", "--mca", "plm", "rsh"}).empty());
  for (const auto* key : {"orte_base_help_aggregate", "orte_tmpdir_base", "orte_keep_fqdn_hostnames",
                          "ess_base_verbose", "oob_tcp_if_include"}) {
    const Line line = good({"--mca", key, "1", "./app"});
    CHECK((line.options.empty() && line.remarks.empty()));
  }
  CHECK(good({"--mca", "rmaps_rank_file_path", "f", "./app"}).remarks ==
        Words{"--mca rmaps_rank_file_path has no effect here: ranks that follow each other are on one host"});
  CHECK(good({"--mca", "orte_of_tomorrow", "1", "./app"}).remarks ==
        Words{"--mca orte_of_tomorrow has no effect here"});
  CHECK(has(failure({"--mca", "hwloc_base_binding_policy", "board", "./a"}), "it takes core, socket, numa"));
}

TEST_CASE("a setting that has no effect is named in one line, and stops no job") {
  CHECK(remarks({"HYDRA_NEW=1", "I_MPI_JOB_ABORT_SIGNAL=9", "HYDRA_BINDING=cpu:0"}) ==
        "without effect here, though the environment has it: HYDRA_BINDING (HYDRA_BINDING cannot be 'cpu:0'; "
        "it takes core, socket, numa or none), I_MPI_JOB_ABORT_SIGNAL (a job that ends gets SIGTERM, and "
        "SIGKILL after ++grace), HYDRA_NEW\n");
  CHECK(remarks({"I_MPI_HYDRA_HOST_FILE=f"}, {"-hosts", "a"}) ==
        "without effect here, though the environment has it: I_MPI_HYDRA_HOST_FILE (the command line names "
        "the hosts)\n");
  CHECK(with({"MPIEXEC_TIMEOUT=2"}, {"--timeout", "5"}).options == Words{"++timelimit", "5"});
  CHECK(remarks({"HYDRA_LAUNCHER_EXEC=x"}, {"-launcher-exec", "y"}) ==
        "without effect here, though the environment has it: HYDRA_LAUNCHER_EXEC (another command is "
        "given)\n");
  CHECK(remarks({"PRTE_MCA_new=1"}) == "without effect here, though the environment has it: PRTE_MCA_new\n");
  CHECK(has(remarks({"HYDRA_LAUNCHER=sge", "HYDRA_LAUNCHER_EXTRA_ARGS=-q x"}), "for another launcher"));
}

TEST_CASE("what a library or another program reads, and what Slurm sets for each job, gets no line") {
  const Line line = with({"OMPI_MCA_btl=tcp", "I_MPI_DEBUG=5", "HYDRA_FULL_ERROR=1", "MPIEXEC_EXECUTABLE=x",
                          "MPIEXEC_TIMEOUT=-1", "HYDRA_BOOTSTRAP=slurm", "I_MPI_HYDRA_BOOTSTRAP=slurm",
                          "HYDRA_LAUNCHER_EXTRA_ARGS=--external-launcher", "SLURM_JOB_ID=7", "HYDRA_DEBUG=0",
                          "OMPI_MCA_plm_slurm_args=--external-launcher", "HYDRA_LAUNCHER=", "PATH=/bin"});
  CHECK((line.options.empty() && line.remarks.empty()));
  CHECK(with({"K_MPI_JOB_ROLE=launcher", "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile"}).options.empty());
}

TEST_CASE("--help has all that is understood, in lines that fit") {
  const std::string text = help_text();
  for (const auto* word : {"-np", "-hosts", "-genv", "-tag-output", "++dashboard"}) CHECK(has(text, word));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    CHECK(end - at <= 100);
    at = end + 1;
  }
}

}  // namespace charmtree::mpiexec_words_test
