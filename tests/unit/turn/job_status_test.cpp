// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/job_status.hpp"

#include <catch2/catch.hpp>

#include "charmrun/control/status_text.hpp"

namespace charmtree::job_status_test {

using namespace charmtree::control;
using namespace charmtree::proto;

namespace {

std::vector<Host> hosts(const std::vector<std::uint32_t>& counts) {
  std::vector<Host> all;
  for (const std::uint32_t count : counts) {
    Host host;
    host.index = static_cast<std::uint32_t>(all.size());
    host.name = "n" + std::to_string(host.index);
    host.processes = count;
    all.push_back(host);
  }
  number_processes(all);
  return all;
}

std::string answer(const std::string& id, const JobStatus& status) {
  wire::JobSpec job;
  job.id = id;
  job.arguments = {"./app", "-n", "3\n"};
  return status_json(job, 4711, hosts({1, 2}), status, 75s);
}

}  // namespace

TEST_CASE("a status says how far the job is, and whom it waits for", "[job_status]") {
  JobStatus status{Stage::launch, 64, 62, 0, 512, 0, 0, {"h17", "h40"}};
  CHECK(summary(status) == "launch: 62 of 64 hosts are up; not yet: h[17,40]");
  status.hosts_failed = 1;
  CHECK(summary(status) == "launch: 62 of 64 hosts are up, 1 failed; not yet: h[17,40]");
  status.staged = 37;
  CHECK(summary(status) ==
        "launch: 62 of 64 hosts are up, 1 failed, 37% of its files sent; not yet: h[17,40]");
  status = {Stage::start, 64, 64, 0, 512, 504, 0, {"h40"}};
  CHECK(summary(status) == "start: 504 of 512 processes have registered; not yet: h40");
  CHECK(summary({Stage::run, 64, 64, 0, 512, 512, 0, {}}) == "run: 512 processes on 64 hosts");
  CHECK(summary({Stage::run, 1, 1, 0, 1, 0, 0, {}}) == "run: 1 process on 1 host");
  CHECK(summary({Stage::end, 64, 60, 0, 512, 0, 3, {}}) ==
        "end: 512 processes on 64 hosts, 3 ended; 60 of 64 hosts are up");
}

TEST_CASE("who runs what is a line for each row of hosts with as many processes", "[job_status]") {
  CHECK(placement_lines(hosts({2, 2, 0, 1, 1})) ==
        std::vector<std::string>{"n[0-1]: processes 0-3, 2 on each", "n[3-4]: processes 4-5, 1 on each"});
  CHECK(placement_lines(hosts({1})) == std::vector<std::string>{"n0: process 0"});
  CHECK(placement_lines(hosts({3})) == std::vector<std::string>{"n0: processes 0-2"});
  CHECK(placement_lines({}).empty());
}

TEST_CASE("processes are shown where they are now", "[job_status]") {
  wire::MovedProcesses moved;
  moved.move(2, 5);
  moved.move(3, 5);
  moved.move(3, 0);
  CHECK(placement_lines(hosts({2, 2, 2, 2, 0, 0}), moved) ==
        std::vector<std::string>{"n0: processes 0-1,3", "n[2-3]: processes 4-7, 2 on each", "n5: process 2"});
}

TEST_CASE("jobs are listed, chosen by number or pid, and shown", "[job_status]") {
  const JobStatus status{Stage::run, 2, 2, 0, 3, 3, 1, {}};
  const std::vector<std::string> answers = {answer("ab01", status), answer("ab02", status)};
  const std::string list = list_text(answers);
  CHECK(list.find("ab01") != std::string::npos);
  CHECK(list.find(R"(./app -n 3\n)") != std::string::npos);
  CHECK(list_text({}) == "no job of yours is running on this machine\n");
  CHECK(choose_job(answers, "ab02").value() == answers[1]);
  CHECK(choose_job(answers, "ab").error().what == "2 running jobs of yours are called 'ab'");
  CHECK(choose_job(answers, "").error().what == "2 jobs of yours are running");
  CHECK(choose_job(answers, "x").error().what == "no running jobs of yours are called 'x'");
  CHECK(choose_job({answers[1]}, "4711").value() == answers[1]);
  CHECK(choose_job({}, "").error().what == "no job of yours is running on this machine");
  CHECK(choose_job({}, "", {"5ea8"}).error().what == "no job that answers is running here; 5ea8 does not");
  CHECK(choose_job(answers, "4712", {"5ea8", "77"}).error().what ==
        "no job that answers is called '4712'; 5ea8, 77 do not");
  CHECK(choose_job(answers, "ab", {"5ea8"}).error().what == "2 running jobs of yours are called 'ab'");
  CHECK(choose_job({answers[0]}, "").value() == answers[0]);
  const std::string shown = status_text(answers[0]);
  CHECK(shown.find("job ab01: ./app -n 3\\n\n") == 0);
  CHECK(shown.find("\nrun: 3 processes on 2 hosts, 1 ended\n  n0: process 0\n  n1: processes 1-2\n") !=
        std::string::npos);
  CHECK(status_text("garbage").find("job ") == 0);  // of another version, perhaps
}

TEST_CASE("a status shows so many rows of hosts, and says how many more there are", "[status]") {
  const std::uint32_t more = GENERATE(0U, 2U);
  std::vector<Host> hosts(kMostRows + more);
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    hosts[i].index = i;
    hosts[i].name = std::string(1, static_cast<char>('a' + i));
    hosts[i].processes = i + 1;
  }
  number_processes(hosts);
  JobStatus status;
  CHECK(status_lines(status, hosts) == std::vector<std::string>{summary(status)});  // nothing runs yet
  status.stage = Stage::run;
  const auto lines = status_lines(status, hosts);
  REQUIRE(lines.size() == 1 + kMostRows + (more > 0 ? 1 : 0));
  CHECK(lines[0] == summary(status));
  if (more > 0) CHECK(lines.back() == "  and 2 more such rows; see charmrun ++status");
}

TEST_CASE("names of hosts that there are not are left out", "[status]") {
  std::vector<Host> hosts(2);
  hosts[0].name = "h0";
  hosts[1].name = "h1";
  CHECK(names_of({0, 1, 2}, hosts) == "h[0-1]");
  CHECK(names_of({7}, hosts).empty());
}

}  // namespace charmtree::job_status_test
