// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/foreign_words.hpp"

#include "tests/unit/cli/command_lines.hpp"

namespace charmtree::foreign_words_test {

using namespace command_lines;

TEST_CASE("what mpirun, srun and clush call so is done") {
  for (const Words& words :
       {Words{"-n", "4", "./a"}, Words{"-np", "4", "./a"}, Words{"--np=4", "./a"}, Words{"-n4", "./a"},
        Words{"--ntasks=4", "./a"}, Words{"-n", "4", "--", "./a"}}) {
    const Options options = good(words);
    CHECK((options.counts.processes == 4 && options.program == "./a"));
  }
  const Options options = good({"+p4", "--hostfile", "h", "-host", "a,b", "-wdir", "/w", "-l", "-genv", "A",
                                "1", "--oversubscribe", "-o", "out.%t", "./a", "-n", "2", "--help"});
  CHECK((options.counts.pes == 4 && options.hosts.nodelist == "h" && options.hosts.chosen == "a,b"));
  CHECK((options.process.directory == "/w" && options.output.label && options.output.file == "out.%r"));
  CHECK(options.process.variables.all == Words{"A=1"});
  CHECK(options.arguments == Words{"-n", "2", "--help"});
  CHECK(good({"-w", "n[1-4]", "-X", "n2", "uname", "-r"}).hosts.excluded == "n2");
  CHECK(good({"-w", "./hosts", "uname"}).hosts.nodelist == "./hosts");
  CHECK(good({"-n", "2", "-ppn", "1", "./a"}).placement.processes_per_host == 1);
  const Options two = good({"-n", "2", "./a", ":", "-n", "3", "./b", "-n"});
  CHECK((two.counts.processes == 5 && two.further.size() == 1 && two.further[0].arguments == Words{"-n"}));
  CHECK(good({"++wdir", "/x", "./a"}).process.directory == "/x");
  for (const Words& words : {Words{"-h"}, Words{"--help"}, Words{"help"}, Words{"++plan", "-h"}})
    CHECK(good(words).help);
  for (const Words& words : {Words{"-V"}, Words{"--version"}}) CHECK(good(words).version);
}

TEST_CASE("what means something else is explained by what to say instead") {
  CHECK(has(failure({"-N", "4", "./a"}), "charmrun has no -N; ++numHosts N takes the first N hosts"));
  CHECK(has(failure({"-x", "A", "./a"}), "++exclude HOSTS leaves hosts out (srun, clush); ++env NAME=VALUE"));
  CHECK(has(failure({"--partition=short", "./a"}), "charmrun has no --partition; make the allocation first"));
  CHECK(has(failure({"-a", "uname"}), "leave it out"));
  CHECK(has(failure({"--nodelist", "x", "uname"}), "++nodelist FILE names a file of hosts, ++host HOSTS"));
  CHECK(has(failure({"--mpi=pmi2", "./a"}), "++pmi"));
  CHECK(has(failure({"-n"}), "'-n' needs a value; ours is ++n"));
  CHECK(has(failure({"-genv", "A"}), "'-genv' needs a value: -genv NAME VALUE"));
  CHECK(has(failure({"-l=3", "./a"}), "-l takes no value"));
  CHECK(has(failure({"-n", "many", "./a"}), "++n cannot be 'many'"));
  CHECK(has(failure({"-n", "2", "-np", "3", "./a"}), "++"));
  CHECK(has(failure({"--list"}), "did you mean ++list?"));
  CHECK(has(failure({"-bogus", "./a"}), "charmrun does not know the option '-bogus'"));
}

}  // namespace charmtree::foreign_words_test
