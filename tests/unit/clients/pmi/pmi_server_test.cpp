// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_server.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/pmi_bench.hpp"
#include "tree/clients/pmi/pmi_variables.hpp"
#include "tree/wire/pmi_standard.hpp"

namespace charmtree::pmi_server_test {

using namespace charmtree::proto;

namespace {

constexpr auto kService = static_cast<std::uint8_t>(ClientKind::pmi);

struct Bench : test::PmiBench {
  Bench() : PmiBench(4) {
    for (const std::uint32_t process : {2U, 3U}) connect(process);
  }
  /// What it was answered.
  std::string ask(std::uint32_t process, const std::string& line) {
    outputs.clear();
    server.received(10 + process, line + "\n", {}, outputs);
    return said_to(process);
  }
  void begin() {
    for (const std::uint32_t process : {2U, 3U})
      CHECK(ask(process, "cmd=init pmi_version=1 pmi_subversion=1") ==
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n");
  }
  /// Both enter; what their host gives.
  std::string fence() {
    CHECK(ask(2, "cmd=barrier_in").empty());
    CHECK(test::only<FenceEntered>(outputs).empty());
    CHECK(ask(3, "cmd=barrier_in").empty());
    const auto up = test::only<FenceEntered>(outputs);
    REQUIRE(up.size() == 1);
    CHECK(up[0].processes == 2);
    CHECK(up[0].fence.processes == std::vector<wire::ProcessSet::Range>{{0, 3}});
    return up[0].given;
  }
  void fenced(std::uint32_t number, const std::string& given, const std::string& failure = {}) {
    outputs.clear();
    server.fenced({{kService, {{0, 3}}, number}, failure, std::make_shared<const std::string>(given)},
                  outputs);
  }
};

}  // namespace

TEST_CASE("a process asks what it must know of its job", "[pmi]") {
  Bench b;
  b.begin();
  CHECK(test::only<Joined>(b.outputs).at(0).process == 3);
  CHECK(b.ask(2, "cmd=get_maxes") == "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=16384\n");
  CHECK(b.ask(2, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
  CHECK(b.ask(2, "cmd=get_my_kvsname") == "cmd=my_kvsname rc=0 kvsname=kvs_job_0\n");
  CHECK(b.ask(2, "cmd=get_universe_size") == "cmd=universe_size rc=0 size=4\n");
  CHECK(b.ask(2, "cmd=get kvsname=kvs_job_0 key=PMI_process_mapping") ==
        "cmd=get_result rc=0 value=(vector,(0,2,2))\n");
}

TEST_CASE("what the host consists of is looked for once, when a process asks that has others beside it",
          "[pmi]") {
  const std::string asks = "cmd=get kvsname=kvs_job_0 key=PMI_hwloc_xmlfile";
  for (const std::string file : {"/tmp/topology.xml", ""}) {
    Bench b;
    b.begin();
    const std::string answer =
        file.empty() ? "cmd=get_result rc=1" : "cmd=get_result rc=0 value=/tmp/topology.xml\n";
    CHECK(b.ask(2, asks).empty());
    CHECK(test::only<TopologyWanted>(b.outputs).size() == 1);
    CHECK(b.ask(3, asks).empty());
    CHECK(test::only<TopologyWanted>(b.outputs).empty());
    b.server.topology(file, nullptr, b.outputs);
    for (const std::uint32_t process : {2U, 3U}) CHECK(b.said_to(process).starts_with(answer));
    CHECK(b.ask(3, asks).starts_with(answer));
  }
  PmiServer alone{{2, 1, 4}, {"kvs_job_0", "", 4}};
  ClientOutputs outputs;
  alone.made_for(12, 2);
  alone.opened(12, {}, outputs);
  alone.received(12, "cmd=init pmi_version=1 pmi_subversion=1\n" + asks + "\n", {}, outputs);
  CHECK(test::only<TopologyWanted>(outputs).empty());
  CHECK(test::only<ToClient>(outputs).at(1).bytes.starts_with("cmd=get_result rc=1"));
}

TEST_CASE("names of the job are asked for over the root", "[pmi]") {
  Bench b;
  b.begin();
  const auto answer = [&](const std::string& line, const std::string& failure, const std::string& bytes) {
    CHECK(b.ask(2, line).empty());
    const auto asked = test::only<wire::NameInquiry>(b.outputs);
    REQUIRE(asked.size() == 1);
    CHECK((asked[0].process == 2 && asked[0].name == "ocean"));
    b.outputs.clear();
    b.server.answered({2, wire::kNoProcess, asked[0].id, failure, bytes}, b.outputs);
    return b.said_to(2);
  };
  CHECK(answer("cmd=publish_name service=ocean port=p#1", "", "") == "cmd=publish_result rc=0\n");
  CHECK(answer("cmd=lookup_name service=ocean", "", "p#1") == "cmd=lookup_result rc=0 port=p#1\n");
  CHECK(answer("cmd=unpublish_name service=ocean", "", "") == "cmd=unpublish_result rc=0\n");
  CHECK(answer("cmd=lookup_name service=ocean", "nobody has published it", "") ==
        "cmd=lookup_result rc=1 msg=nobody_has_published_it\n");
  CHECK(b.ask(3, "cmd=lookup_name service=ocean").empty());
  b.ask(3, "cmd=get_maxes");
  CHECK(b.lost() == "it spoke to its launcher (PMI) as no MPI library does: get_maxes before an answer");
}

TEST_CASE("what is put is known on its host at once, and everywhere behind the next barrier", "[pmi]") {
  Bench b;
  b.begin();
  CHECK(b.ask(2, "cmd=put kvsname=kvs_job_0 key=a value=x=y") == "cmd=put_result rc=0\n");
  CHECK(b.ask(3, "cmd=get kvsname=kvs_job_0 key=a") == "cmd=get_result rc=0 value=x=y\n");
  CHECK(b.ask(3, "cmd=get kvsname=kvs_job_0 key=b").starts_with("cmd=get_result rc=1"));
  CHECK(b.ask(3, "cmd=put kvsname=kvs_job_0 key=empty value=") == "cmd=put_result rc=0\n");
  CHECK(b.fence() == Bench::pair("a", "x=y") + Bench::pair("empty", ""));
  b.fenced(1, Bench::pair("b", "from_afar"));
  CHECK(b.said_to(2) == "cmd=barrier_out rc=0 tag=0\n");
  CHECK(b.said_to(3) == "cmd=barrier_out rc=0 tag=0\n");
  CHECK(b.ask(3, "cmd=get kvsname=kvs_job_0 key=b") == "cmd=get_result rc=0 value=from_afar\n");
  CHECK(b.fence().empty());  // nothing new
}

TEST_CASE("a fence is left once, and one of another service is not heard", "[pmi]") {
  Bench b;
  b.begin();
  b.fence();
  b.fenced(2, {});
  CHECK(b.outputs.empty());
  b.fenced(1, {});
  CHECK_FALSE(b.outputs.empty());
  b.fenced(1, {});  // said again to those who may not have heard
  CHECK(b.outputs.empty());
  b.outputs.clear();
  b.server.fenced({{kService + 1, {{0, 3}}, 2}, {}, std::make_shared<const std::string>()}, b.outputs);
  CHECK(b.outputs.empty());
}

TEST_CASE("who is left of a host enters for it, and hears that the fence has failed", "[pmi]") {
  Bench b;
  b.begin();
  b.ask(2, "cmd=barrier_in");
  b.outputs.clear();
  b.server.lost({{3, 3}}, b.outputs);
  const auto up = test::only<FenceEntered>(b.outputs);
  REQUIRE(up.size() == 1);
  CHECK(up[0].processes == 1);
  b.fenced(1, {}, "process 3 is lost");
  CHECK(b.said_to(2) == "cmd=barrier_out rc=1 tag=0 msg=process_3_is_lost\n");
  CHECK(b.ask(2, "cmd=get kvsname=kvs_job_0 key=PMI_dead_processes") == "cmd=get_result rc=0 value=3\n");
}

TEST_CASE("a fence that has failed before it was entered fails at once", "[pmi]") {
  Bench b;
  b.begin();
  b.fenced(1, {}, "process 0 is lost");
  b.ask(2, "cmd=barrier_in");
  CHECK(b.ask(3, "cmd=barrier_in") == "cmd=barrier_out rc=1 tag=0 msg=process_0_is_lost\n");
  CHECK(b.said_to(2) == "cmd=barrier_out rc=1 tag=0 msg=process_0_is_lost\n");
}

TEST_CASE("a process ends by finalize, or by an abort with its status", "[pmi]") {
  Bench b;
  b.begin();
  CHECK(b.ask(2, "cmd=finalize") == "cmd=finalize_ack rc=0\n");
  CHECK(test::only<Ended>(b.outputs).at(0).process == 2);
  b.outputs.clear();
  b.server.closed(12, {}, b.outputs);
  CHECK(b.outputs.empty());
  b.ask(3, "cmd=abort exitcode=7 message=no more of this");
  CHECK(test::only<Aborted>(b.outputs).at(0).code == 7);
  CHECK(test::only<Aborted>(b.outputs).at(0).text == "MPI_Abort: no more of this");
  b.ask(3, "what=ever");
  b.server.closed(13, {}, b.outputs);
  CHECK(b.outputs.empty());
}

TEST_CASE("MPI may be opened again, and what is put then is of the next program", "[pmi]") {
  Bench b;
  b.begin();
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1";
  const std::string agreed = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n";
  CHECK(b.ask(2, init) == agreed);  // without finalize
  const std::string get = "cmd=get kvsname=kvs_job_0 key=", found = "cmd=get_result rc=0 value=";
  b.ask(2, "cmd=put kvsname=k key=a value=first");
  b.ask(2, "cmd=put kvsname=k key=b value=first");
  b.fenced(1, b.fence());
  b.ask(2, "cmd=put kvsname=k key=unfenced value=x");
  b.ask(2, "cmd=finalize");
  CHECK(b.ask(2, "cmd=get kvsname=k key=a").empty());
  CHECK(test::only<CloseClient>(b.outputs).size() == 1);

  Bench again;
  again.begin();
  again.ask(2, "cmd=put kvsname=k key=a value=first");
  again.ask(2, "cmd=put kvsname=k key=b value=first");
  again.fenced(1, again.fence());
  again.ask(2, "cmd=put kvsname=k key=unfenced value=x");
  again.ask(2, "cmd=finalize");
  CHECK(again.ask(2, init) == agreed);
  CHECK(test::only<Joined>(again.outputs).at(0).process == 2);
  again.ask(2, "cmd=put kvsname=k key=a value=second");
  CHECK(again.ask(2, get + "a") == found + "second\n");
  CHECK(again.ask(2, get + "b") == found + "first\n");
  CHECK(again.ask(3, get + "a") == found + "first\n");  // it is still in its first program
  again.ask(3, "cmd=finalize");
  CHECK(again.ask(3, init) == agreed);
  CHECK(again.ask(3, get + "a") == found + "second\n");
  const std::string given = again.fence();
  CHECK(given == Bench::pair("a", "second"));
  again.fenced(2, given + Bench::pair("c", "other_host"));
  for (const std::uint32_t process : {2U, 3U}) CHECK(again.ask(process, get + "c") == found + "other_host\n");
  again.server.closed(12, {}, again.outputs);
  CHECK(again.lost() == "it left without MPI_Finalize");
  again.ask(3, "cmd=barrier_in");
  again.ask(3, init);
  CHECK(again.lost().find("init in a barrier") != std::string::npos);
}

TEST_CASE("a process that connects itself does so for each of its programs", "[pmi]") {
  Bench b;
  b.begin();
  b.server.opened(40, {}, b.outputs);
  b.outputs.clear();
  b.server.received(40, "cmd=initack pmiid=2\n", {}, b.outputs);
  CHECK(test::only<CloseClient>(b.outputs).size() == 1);  // process 2 has a connection
  b.ask(2, "cmd=finalize");
  b.server.closed(12, {}, b.outputs);
  b.server.opened(41, {}, b.outputs);
  b.outputs.clear();
  b.server.received(41, "cmd=initack pmiid=2\n", {}, b.outputs);
  CHECK(test::only<CloseClient>(b.outputs).empty());
  CHECK(test::only<ToClient>(b.outputs).at(0).bytes.starts_with("cmd=initack rc=0\n"));
}

TEST_CASE("what is given to a world is kept where its processes are, while they are there", "[pmi]") {
  Bench b;
  b.begin();
  const std::string given = Bench::pair("PORT", "tag");
  b.server.begun({kService, 2, {{4, {"worker"}, {}, true, {}}}, {{9, 4, 2}}, given}, b.outputs);
  b.server.join(6);
  b.server.begun({kService, 4, {{6, {"worker"}, {}, true, {}}}, {{1, 6, 1}}, given}, b.outputs);
  b.connect(6);
  b.ask(6, "cmd=init pmi_version=1 pmi_subversion=1");
  CHECK(b.ask(6, "cmd=get_my_kvsname") == "cmd=my_kvsname rc=0 kvsname=kvs_job_0_6\n");
  CHECK(b.ask(6, "cmd=get kvsname=k key=PORT") == "cmd=get_result rc=0 value=tag\n");
  b.outputs.clear();
  b.server.fenced({{kService, {{4, 5}}, 1}, {}, std::make_shared<const std::string>(given)}, b.outputs);
  CHECK(b.outputs.empty());
  CHECK(b.ask(2, "cmd=get kvsname=k key=PORT").starts_with("cmd=get_result rc=1"));
}

TEST_CASE("a process that leaves between init and finalize is lost, one without init is none of ours",
          "[pmi]") {
  Bench b;
  b.server.closed(12, {}, b.outputs);
  CHECK(b.outputs.empty());
  b.ask(3, "cmd=init pmi_version=1 pmi_subversion=1");
  b.outputs.clear();
  b.server.closed(13, {}, b.outputs);
  CHECK(b.lost() == "it left without MPI_Finalize");
}

TEST_CASE("who breaks the protocol is dropped with the reason, and nobody else", "[pmi]") {
  using namespace std::string_literals;
  const std::string value(PmiServer::kMostValue + 1, 'v'), key(PmiServer::kMostKey + 1, 'k');
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"cmd=bogus", "'bogus' is no request that is known"},
           {"hello", "'hello' is no request"},
           {"key=a cmd=get", "'key=a cmd=get' is no request"},
           {"cmd=put kvsname=k key= value=x", "a put with a key of more than 64 bytes, or none"},
           {"cmd=put kvsname=k key=" + key + " value=x", "a put with a key of more than 64 bytes, or none"},
           {"cmd=put kvsname=k key=a value=" + value, "a value of 16385 bytes: 16384 are allowed"},
           {std::string(PmiServer::kMostRequest + 1, 'x') + "\r", "no request"}}) {
    Bench b;
    b.begin();
    b.ask(2, line);
    CHECK(b.lost().find(why) != std::string::npos);
    CHECK(test::only<CloseClient>(b.outputs).size() == 1);
    CHECK(b.ask(3, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
  }
  Bench b;
  b.ask(2, "cmd=get_appnum");
  CHECK(test::only<ClientNote>(b.outputs).size() == 1);  // it has not joined: its exit counts
  CHECK(test::only<CloseClient>(b.outputs).size() == 1);
  CHECK(b.ask(3, "cmd=init pmi_version=3") == "cmd=response_to_init rc=1 pmi_version=1 pmi_subversion=2\n");
}

TEST_CASE("requests come in pieces, and several at once", "[pmi]") {
  Bench b;
  b.server.received(12, "cmd=init pmi_ver", {}, b.outputs);
  CHECK(b.outputs.empty());
  b.server.received(12, "sion=1 pmi_subversion=1\ncmd=get_appnum\ncmd=get_m", {}, b.outputs);
  CHECK(b.said_to(2) ==
        "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\ncmd=appnum rc=0 appnum=0\n");
  b.outputs.clear();
  b.server.received(12, std::string(PmiServer::kMostRequest, 'x'), {}, b.outputs);
  CHECK(b.lost().find("a request of more than") != std::string::npos);
}

TEST_CASE("libraries that take less are told so, and may put no more", "[pmi]") {
  Bench b;
  b.server = PmiServer{LocalProcesses{2, 2, 4}, PmiJob{"kvs", std::string(1025, 'm'), 4, {0}, 1024}};
  b.server.made_for(12, 2);
  b.ask(2, "cmd=init pmi_version=1 pmi_subversion=1");
  CHECK(b.ask(2, "cmd=get_maxes") == "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  CHECK(b.ask(2, "cmd=get kvsname=kvs key=PMI_process_mapping").starts_with("cmd=get_result rc=1"));
  CHECK(b.ask(2, "cmd=put kvsname=kvs key=a value=" + std::string(1024, 'v')) == "cmd=put_result rc=0\n");
  b.ask(2, "cmd=put kvsname=kvs key=a value=" + std::string(1025, 'v'));
  CHECK(b.lost().find("a value of 1025 bytes: 1024 are allowed") != std::string::npos);
}

TEST_CASE("a process puts no more than a host may hand on for it", "[pmi]") {
  Bench b;
  b.begin();
  const std::string value(PmiServer::kMostValue, 'v');
  std::string said;
  for (int i = 0; i < 17 && !b.outputs.empty(); ++i) {
    said = b.ask(2, "cmd=put kvsname=k key=k" + std::to_string(i) + " value=" + value);
    if (said.empty()) break;
  }
  CHECK(b.lost().find("puts of more than") != std::string::npos);
}

TEST_CASE("a connection that was made for nobody is closed, and that of a lost process with it", "[pmi]") {
  Bench b;
  b.server.opened(99, {}, b.outputs);
  b.server.received(99, "cmd=init pmi_version=1 pmi_subversion=1\n", {}, b.outputs);
  CHECK(test::only<CloseClient>(b.outputs).at(0).client == 99);
  b.begin();
  b.outputs.clear();
  b.server.vacate(2, 1, false, b.outputs);
  CHECK(test::only<CloseClient>(b.outputs).at(0).client == 12);
  CHECK(b.lost().empty());
}

TEST_CASE("the mapping tells runs of hosts with as many processes", "[pmi]") {
  std::vector<wire::HostRun> layout;
  CHECK(process_mapping(layout).empty());
  std::uint32_t host = 0;
  for (const std::uint32_t processes : {3U, 3U, 0U, 3U, 1U}) wire::append(layout, host++, processes);
  CHECK(layout == std::vector<wire::HostRun>{{0, 2, 3}, {3, 1, 3}, {4, 1, 1}});
  CHECK(process_mapping(layout) == "(vector,(0,3,3),(3,1,1))");
  CHECK(pmi_variables(wire::MpiService::Pmi::one, {{0, 10}, 5, 2, 3}) ==
        std::vector<std::string>{"PMI_RANK=5", "PMI_SIZE=10", "MPIR_CVAR_PMI_VERSION=1", "MPI_LOCALRANKID=2",
                                 "MPI_LOCALNRANKS=3"});
  CHECK(process_mapping(std::vector<wire::Share>{{7, 4, 1}, {7, 5, 1}, {9, 6, 2}, {7, 8, 1}}) ==
        "(vector,(0,2,2),(0,1,1))");
  CHECK(pmi_variables(wire::MpiService::Pmi::one, {{4, 3}, 5, 1, 2}) ==
        std::vector<std::string>{"PMI_RANK=1", "PMI_SIZE=3", "MPIR_CVAR_PMI_VERSION=1", "MPI_LOCALRANKID=1",
                                 "MPI_LOCALNRANKS=2", "PMI_SPAWNED=1"});
  CHECK(pmi_variables(wire::MpiService::Pmi::port, {{0, 10}, 5, 2, 3}).back() == "PMI_ID=5");
}

TEST_CASE("the library of another launcher is not named where PMI-1 is served, unless the user names it",
          "[pmi]") {
  using Pmi = wire::MpiService::Pmi;
  const std::string library = "I_MPI_PMI_LIBRARY=/usr/lib/libpmi2.so.0";
  const auto left = [&](Pmi version, const std::vector<std::string>& given) {
    std::vector<std::string> environment{"A=1", library, "I_MPI_PMI_LIBRARY_PATH=/x"};
    remove_foreign_library(environment, version, given);
    return environment.size();
  };
  for (const Pmi version : {Pmi::one, Pmi::port}) {
    CHECK(left(version, {"B=1"}) == 2);
    CHECK(left(version, {library}) == 3);
  }
  for (const Pmi version : {Pmi::two, Pmi::none}) CHECK(left(version, {}) == 3);
}

// ---- worlds

TEST_CASE("a process has others started, of several programs", "[pmi]") {
  Bench b;
  b.begin();
  for (const char* line : {"mcmd=spawn",
                           "nprocs=2",
                           "execname=worker",
                           "totspawns=2",
                           "spawnssofar=1",
                           "argcnt=2",
                           "arg1=a b",
                           "arg2=x=y",
                           "preput_num=1",
                           "preput_key_0=PORT",
                           "preput_val_0=tag#0$ and more",
                           "info_num=4",
                           "info_key_0=wdir",
                           "info_val_0=/tmp",
                           "info_key_1=hosts",
                           "info_val_1=n1,n2",
                           "info_key_2=path",
                           "info_val_2=/opt/bin",
                           "info_key_3=unheard",
                           "info_val_3=of",
                           "endcmd",
                           "mcmd=spawn",
                           "nprocs=1",
                           "execname=./other",
                           "totspawns=2",
                           "spawnssofar=2",
                           "argcnt=0",
                           "preput_num=0",
                           "info_num=0"})
    CHECK(b.ask(2, line).empty());
  CHECK(test::only<wire::WorldWanted>(b.outputs).empty());
  CHECK(b.ask(2, "endcmd").empty());
  const auto wanted = test::only<wire::WorldWanted>(b.outputs);
  REQUIRE(wanted.size() == 1);
  CHECK((wanted[0].process == 2 && wanted[0].id.service == kService));
  CHECK(wanted[0].given == Bench::pair("PORT", "tag#0$ and more"));
  REQUIRE(wanted[0].programs.size() == 2);
  const wire::ProgramWanted& worker = wanted[0].programs[0];
  CHECK(worker.program.arguments == std::vector<std::string>{"/opt/bin/worker", "a b", "x=y"});
  CHECK((worker.program.directory == "/tmp" && worker.processes == 2));
  CHECK(worker.hosts == std::vector<std::string>{"n1", "n2"});
  const wire::ProgramWanted& other = wanted[0].programs[1];
  CHECK(other.program.arguments == std::vector<std::string>{"./other"});
  CHECK((other.program.directory.empty() && other.processes == 1 && other.hosts.empty()));
  b.outputs.clear();
  b.server.answered({2, wire::kNoProcess, wanted[0].id, "", "4"}, b.outputs);
  CHECK(b.said_to(2) == "cmd=spawn_result rc=0 errcodes=0,0,0\n");
}

TEST_CASE("a newline in what a spawn hands on belongs to it, whatever stands behind it", "[pmi]") {
  const std::string text = GENERATE("a\nb", "a\n", "\n\nb", "a\nendcmd", "a\nnprocs=7\nb", "a\narg9=x",
                                    "a\nmcmd=spawn", "a\ninfo_val_0=x", "a\ncmd=abort exitcode=3");
  const bool counts_first = GENERATE(true, false);
  Bench b;
  b.begin();
  std::string block = "mcmd=spawn\nnprocs=1\nexecname=w\ntotspawns=1\nspawnssofar=1\n";
  if (counts_first) block += "argcnt=2\n";
  block += "arg1=" + text + "\narg2=last\n";
  if (!counts_first) block += "argcnt=2\n";
  block += "preput_num=1\npreput_key_0=PORT\npreput_val_0=" + text +
           "\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=" + text + "\nendcmd";
  b.ask(2, block);
  CHECK(b.lost().empty());
  const auto wanted = test::only<wire::WorldWanted>(b.outputs);
  REQUIRE(wanted.size() == 1);
  REQUIRE(wanted[0].programs.size() == 1);
  const wire::ProgramWanted& program = wanted[0].programs[0];
  CHECK(program.program.arguments == std::vector<std::string>{"w", text, "last"});
  const bool ends_block = text.find("endcmd") != text.npos;  // which only the last text can
  CHECK((program.program.directory == (ends_block ? "a" : text) && program.processes == 1));
  CHECK(wanted[0].given == Bench::pair("PORT", text));
}

TEST_CASE("a newline in a name that is published ends nobody", "[pmi]") {
  Bench b;
  b.begin();
  CHECK(b.ask(2, "cmd=publish_name service=a\nb port=7") ==
        "cmd=publish_result rc=1 msg=a_name_with_a_newline\n");
  b.ask(2, "cmd=lookup_name service=a\nb");
  CHECK(b.lost().empty());
}

TEST_CASE("a spawn that is refused says why, and one that is nonsense ends its client", "[pmi]") {
  Bench b;
  b.begin();
  const auto spawn = [&](std::initializer_list<const char*> lines) {
    for (const char* line : lines) b.ask(2, line);
  };
  spawn({"mcmd=spawn", "nprocs=2", "execname=a", "totspawns=1", "spawnssofar=1", "endcmd"});
  const auto wanted = test::only<wire::WorldWanted>(b.outputs);
  b.outputs.clear();
  b.server.answered({2, wire::kNoProcess, wanted.at(0).id, "no host", ""}, b.outputs);
  CHECK(b.said_to(2) == "cmd=spawn_result rc=1 msg=no_host\n");
  for (const auto& [line, why] :
       {std::pair{"nprocs=0", "a spawn with nprocs=0"}, std::pair{"what", "'what' in a spawn"},
        std::pair{"endcmd", "a spawn that names no program, or no number of processes"}}) {
    Bench clumsy;
    clumsy.begin();
    clumsy.ask(2, "mcmd=spawn");
    clumsy.ask(2, line);
    CHECK(clumsy.lost() == std::string{"it spoke to its launcher (PMI) as no MPI library does: "} + why);
  }
}

TEST_CASE("a world has ranks, fences and a key-value space of its own", "[pmi]") {
  Bench b;
  b.begin();
  for (const std::uint32_t process : {5U, 6U}) b.server.join(process);
  b.server.begun({kService,
                  2,
                  {{4, {"a"}, {}, true, {}}, {6, {"b"}, {}, false, {}}},
                  {{0, 4, 1}, {1, 5, 1}, {0, 6, 1}},
                  Bench::pair("PORT", "here")},
                 b.outputs);
  for (const std::uint32_t process : {5U, 6U}) {
    b.server.made_for(10 + process, process);
    b.server.opened(10 + process, {}, b.outputs);
    b.ask(process, "cmd=init pmi_version=1 pmi_subversion=1");
  }
  CHECK(b.ask(6, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=1\n");
  CHECK(b.ask(5, "cmd=get_my_kvsname") == "cmd=my_kvsname rc=0 kvsname=kvs_job_0_4\n");
  CHECK(b.ask(5, "cmd=get kvsname=k key=PORT") == "cmd=get_result rc=0 value=here\n");
  CHECK(b.ask(2, "cmd=get kvsname=k key=PORT").starts_with("cmd=get_result rc=1"));
  CHECK(b.ask(5, "cmd=get kvsname=k key=PMI_process_mapping") ==
        "cmd=get_result rc=0 value=(vector,(0,2,1),(0,1,1))\n");
  CHECK(b.ask(5, "cmd=put kvsname=k key=a value=b") == "cmd=put_result rc=0\n");
  b.ask(5, "cmd=barrier_in");
  CHECK(b.fence().empty());  // of the first world, meanwhile
  b.ask(6, "cmd=barrier_in");
  const auto up = test::only<FenceEntered>(b.outputs);
  REQUIRE(up.size() == 1);
  CHECK((up[0].fence.processes == std::vector<wire::ProcessSet::Range>{{4, 6}} && up[0].fence.number == 1));
  CHECK((up[0].processes == 2 && up[0].given == Bench::pair("a", "b")));
  b.outputs.clear();
  b.server.fenced({up[0].fence, {}, std::make_shared<const std::string>()}, b.outputs);
  CHECK(b.said_to(5) == "cmd=barrier_out rc=0 tag=0\n");
  CHECK(b.said_to(2).empty());
}

}  // namespace charmtree::pmi_server_test
