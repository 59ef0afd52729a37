// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/mpiexec_words.hpp"

#include <catch2/catch.hpp>

namespace charmtree::mpiexec_words_test {

namespace {

using namespace mpiexec;
using Words = std::vector<std::string>;

std::optional<std::string> variable(const std::string& name) {
  return name == "HERE" ? std::optional<std::string>{"yes"} : std::nullopt;
}

Result<std::string> file(const std::string& path) {
  if (path == "two") return std::string{"# programs\n\n-n 2 ./a 'x y'\r\n  -n 1 -env A=1 ./b -- -n 4"};
  if (path == "open") return std::string{"./a\n./b 'x\n"};
  if (path == "empty") return std::string{"# nothing\n"};
  return bad_input(path + ": no such file");
}

Line good(Words words) {
  words.insert(words.begin(), "mpiexec");
  auto line = read_line(words, variable, file);
  INFO((line ? std::string{} : to_string(line.error())));
  REQUIRE(line.ok());
  REQUIRE_FALSE(line->options.empty());
  if (line->options.back() == "++kill-on-exit") line->options.pop_back();
  return *line;
}

std::string failure(Words words) {
  words.insert(words.begin(), "mpiexec");
  const auto line = read_line(words, variable, file);
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
  CHECK(options({"-launcher", "ssh", "--oversubscribe", "-usize", "9"}).empty());
  CHECK(options({"--timeout", "5", "--stdin", "all"}) == Words{"++timelimit", "5", "++stdin", "all"});
  CHECK(options({"++verbose", "-l", "++nodelist", "nodes"}) ==
        Words{"++verbose", "++label", "++nodelist", "nodes"});
  CHECK(options({"-disable-auto-cleanup"}) == Words{"++on-failure", "continue"});
  Words plain{"mpiexec", "./app"};
  CHECK(read_line(plain, variable, file)->options == Words{"++kill-on-exit"});
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
