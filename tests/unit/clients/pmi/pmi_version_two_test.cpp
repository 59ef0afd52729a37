// SPDX-License-Identifier: Apache-2.0
// Version 2 of PMI, as Slurm's library speaks it.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/pmi_bench.hpp"

namespace charmtree::pmi_version_two_test {

using namespace charmtree::proto;

namespace {

constexpr auto kService = static_cast<std::uint8_t>(ClientKind::pmi);

/// As ours; Slurm's library has its blanks behind the number.
std::string frame(std::string_view words) {
  return fmt::format("{:6}{}", words.size(), words);
}

/// Its processes have said init.
struct Bench : test::PmiBench {
  Bench() : PmiBench(8) {
    for (const std::uint32_t process : {2U, 3U}) open(process);
  }
  void open(std::uint32_t process) {
    connect(process);
    outputs.clear();
    server.received(10 + process, "cmd=init pmi_version=2 pmi_subversion=0\n", {}, outputs);
    CHECK(said_to(process) == "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
    CHECK(test::only<Joined>(outputs).empty());
  }
  /// The words of what it was answered.
  std::string ask(std::uint32_t process, std::string_view words) {
    outputs.clear();
    server.received(10 + process, frame(words), {}, outputs);
    return words_to(process);
  }
  std::string words_to(std::uint32_t process) const {
    const std::string all = said_to(process);
    if (all.empty()) return all;
    CHECK(all == frame(all.substr(6)));
    return all.substr(6);
  }
  void begin() {
    for (const std::uint32_t process : {2U, 3U})
      CHECK(ask(process, "cmd=fullinit;pmijobid=J;pmirank=3;threaded=FALSE;")
                .starts_with("cmd=fullinit-response;rc=0;"));
  }
  /// Both are in one now; what their host gives comes back, and what others give.
  void fence(const std::string& of_others) {
    const auto up = test::only<FenceEntered>(outputs);
    REQUIRE(up.size() == 1);
    CHECK(up[0].processes == 2);
    outputs.clear();
    server.fenced({up[0].fence, {}, std::make_shared<const std::string>(up[0].given + of_others)}, outputs);
  }
};

}  // namespace

TEST_CASE("a process joins by version 2, and asks what it must know of its job", "[pmi]") {
  Bench b;
  CHECK(b.ask(2, "cmd=fullinit;pmijobid=J;pmirank=2;threaded=FALSE;") ==
        "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=4;appnum=0;debugged=FALSE;"
        "pmiverbose=FALSE;");
  CHECK(test::only<Joined>(b.outputs).at(0).process == 2);
  CHECK(b.ask(2, "cmd=job-getid;thrid=0x7f;") == "cmd=job-getid-response;thrid=0x7f;rc=0;jobid=kvs_job_0;");
  CHECK(b.ask(2, "cmd=info-getjobattr;key=PMI_process_mapping;") ==
        "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));");
  CHECK(b.ask(2, "cmd=info-getjobattr;key=universeSize;") ==
        "cmd=info-getjobattr-response;rc=0;found=TRUE;value=8;");
  CHECK(b.ask(2, "cmd=info-getjobattr;key=PMI_ring_0;") == "cmd=info-getjobattr-response;rc=0;found=FALSE;");
  CHECK(b.ask(2, "cmd=info-getjobattr;key=physTopology;") ==
        "cmd=info-getjobattr-response;rc=0;found=FALSE;");
  CHECK(b.ask(2, "cmd=job-connect;jobid=x;") == "cmd=job-connect-response;rc=1;errmsg=not_served;");
  b.outputs.clear();
  b.server.received(12, "13    cmd=finalize;", {}, b.outputs);
  CHECK(b.words_to(2) == "cmd=finalize-response;rc=0;");
  CHECK(test::only<Ended>(b.outputs).at(0).process == 2);
}

TEST_CASE("what is put is there behind a fence, also for who speaks version 1", "[pmi]") {
  Bench b;
  b.server.made_for(99, 3);  // instead of the one that speaks version 2
  b.server.received(99, "cmd=init pmi_version=1 pmi_subversion=1\n", {}, b.outputs);
  b.ask(2, "cmd=fullinit;");
  CHECK(b.ask(2, "cmd=kvs-put;key=a;value=x;;y z;") == "cmd=kvs-put-response;rc=0;");
  CHECK(b.ask(2, "cmd=kvs-get;jobid=J;srcid=-1;key=b;") == "cmd=kvs-get-response;rc=0;found=FALSE;");
  CHECK(b.ask(2, "cmd=kvs-put;key=PMI_x;value=1;") ==
        "cmd=kvs-put-response;rc=1;errmsg=the_key_is_reserved;");
  CHECK(b.ask(2, "cmd=kvs-fence;").empty());
  b.server.received(99, "cmd=barrier_in\n", {}, b.outputs);
  b.fence(Bench::pair("b", "far") + Bench::pair("lines", "1\n2") +
          Bench::pair("long", std::string(PmiServer::kMostValue2 + 1, 'x')));
  CHECK(b.words_to(2) == "cmd=kvs-fence-response;rc=0;");
  CHECK(b.ask(2, "cmd=kvs-get;jobid=J;srcid=-1;key=b;") == "cmd=kvs-get-response;rc=0;found=TRUE;value=far;");
  CHECK(b.ask(2, "cmd=kvs-get;key=a;") == "cmd=kvs-get-response;rc=0;found=TRUE;value=x;;y z;");
  CHECK(b.ask(2, "cmd=kvs-get;key=long;") == "cmd=kvs-get-response;rc=0;found=FALSE;");  // it has no room
  b.outputs.clear();
  b.server.received(99, "cmd=get kvsname=k key=lines\n", {}, b.outputs);
  CHECK(test::only<ToClient>(b.outputs).at(0).bytes ==
        "cmd=get_result rc=1 msg=PMI-1_has_no_value_with_a_blank\n");
}

TEST_CASE("a text is the same for processes of both versions", "[pmi]") {
  Bench b;
  b.begin();
  b.server.made_for(99, 0);
  b.server.opened(99, {}, b.outputs);
  b.server.received(
      99, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=put kvsname=k key=one value=x;found=FALSE\n", {},
      b.outputs);
  CHECK(b.ask(2, "cmd=kvs-get;key=one;") == "cmd=kvs-get-response;rc=0;found=TRUE;value=x;;found=FALSE;");
  CHECK(b.ask(2, "cmd=kvs-put;key=two;value=y;;z;").find("rc=0") != std::string::npos);
  CHECK(b.ask(3, "cmd=kvs-get;key=two;").ends_with("value=y;;z;"));
  b.outputs.clear();
  b.server.received(99, "cmd=get kvsname=k key=two\n", {}, b.outputs);
  CHECK(test::only<ToClient>(b.outputs).at(0).bytes == "cmd=get_result rc=0 value=y;z\n");
}

TEST_CASE("a program of version 2 may be followed by another one", "[pmi]") {
  Bench b;
  b.begin();
  b.ask(2, "cmd=info-putnodeattr;key=a;value=1;");
  CHECK(b.ask(2, "cmd=fullinit;").find("rank=2") != std::string::npos);  // without finalize
  CHECK(b.ask(2, "cmd=finalize;") == "cmd=finalize-response;rc=0;");
  b.outputs.clear();
  for (const char byte : std::string_view{"cmd=init pmi_version=2 pmi_subversion=0\n"})
    b.server.received(12, std::string{byte}, {}, b.outputs);
  CHECK(b.said_to(2) == "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
  CHECK(b.ask(2, "cmd=fullinit;").find("rank=2") != std::string::npos);
  CHECK(test::only<Joined>(b.outputs).size() == 1);
  CHECK(b.ask(2, "cmd=info-getnodeattr;key=a;").ends_with("found=FALSE;"));
  CHECK(b.ask(3, "cmd=info-getnodeattr;key=a;").ends_with("value=1;"));
  CHECK(b.ask(2, "cmd=finalize;") == "cmd=finalize-response;rc=0;");
  b.outputs.clear();
  b.server.received(12, "cmd=init pmi_version=1 pmi_subversion=1\n", {}, b.outputs);
  CHECK(b.said_to(2) == "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n");
}

TEST_CASE("an attribute of a host is awaited by who wants that", "[pmi]") {
  Bench b;
  b.begin();
  CHECK(b.ask(2, "cmd=info-getnodeattr;key=a;") == "cmd=info-getnodeattr-response;rc=0;found=FALSE;");
  CHECK(b.ask(2, "cmd=info-getnodeattr;key=a;wait=TRUE;thrid=5;").empty());
  CHECK(b.ask(3, "cmd=info-putnodeattr;key=b;value=1;") == "cmd=info-putnodeattr-response;rc=0;");
  CHECK(b.words_to(2).empty());
  CHECK(b.ask(3, "cmd=info-putnodeattr;key=a;value=2;") == "cmd=info-putnodeattr-response;rc=0;");
  CHECK(b.words_to(2) == "cmd=info-getnodeattr-response;thrid=5;rc=0;found=TRUE;value=2;");
  CHECK(b.ask(2, "cmd=info-getnodeattr;key=b;wait=TRUE;") ==
        "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=1;");
  for (std::size_t i = 2; i < PmiValues::kMostAttributes; ++i)
    CHECK(b.ask(2, fmt::format("cmd=info-putnodeattr;key=k{};value=;", i)) ==
          "cmd=info-putnodeattr-response;rc=0;");
  CHECK(b.ask(2, "cmd=info-putnodeattr;key=more;value=;") ==
        "cmd=info-putnodeattr-response;rc=1;errmsg=too_many_attributes;");
  CHECK(b.ask(2, "cmd=info-putnodeattr;key=a;value=new;") == "cmd=info-putnodeattr-response;rc=0;");
  b.ask(2, "cmd=info-getnodeattr;key=never;wait=TRUE;");
  b.server.closed(12, {}, b.outputs);
  CHECK(b.lost() == "it left without MPI_Finalize");
}

TEST_CASE("a ring tells each process its place, and what its neighbours have given", "[pmi]") {
  Bench b;
  b.begin();
  for (int time = 0; time < 2; ++time) {
    CHECK(b.ask(3, fmt::format("cmd=ring;ring-count=1;ring-left=l3;ring-right=r3 {};", time)).empty());
    CHECK(b.ask(2, "cmd=ring;ring-count=1;ring-left=l2;ring-right=r2;").empty());
    b.fence(Bench::pair("PMI_ring_0000000000", Bench::pair("l0", "r0")) +
            Bench::pair("PMI_ring_0000000001", Bench::pair("l1", "r1")));
    CHECK(b.words_to(2) == "cmd=ring-response;rc=0;ring-count=2;ring-left=r1;ring-right=l3;");
    CHECK(b.words_to(3) == "cmd=ring-response;rc=0;ring-count=3;ring-left=r2;ring-right=l0;");
  }
  CHECK(b.ask(2, "cmd=kvs-get;key=PMI_ring_0000000000;").ends_with("found=FALSE;"));
  b.ask(3, "cmd=ring;ring-count=1;ring-left=a;ring-right=b;");
  b.ask(2, "cmd=kvs-fence;");  // which is no ring, and one for the fence
  b.fence({});
  CHECK(b.words_to(2) == "cmd=kvs-fence-response;rc=0;");
  CHECK(b.words_to(3) == "cmd=ring-response;rc=0;ring-count=0;ring-left=b;ring-right=a;");
  b.ask(3, "cmd=ring;ring-count=1;ring-left=a;ring-right=b;");
  b.ask(2, "cmd=ring;ring-count=1;ring-left=a;ring-right=b;");
  const auto up = test::only<FenceEntered>(b.outputs);
  b.outputs.clear();
  b.server.fenced({up.at(0).fence, "process 0 is lost", std::make_shared<const std::string>()}, b.outputs);
  CHECK(b.words_to(2) == "cmd=ring-response;rc=1;errmsg=process_0_is_lost;");
}

TEST_CASE("names and further processes are asked for in one request each", "[pmi]") {
  Bench b;
  b.begin();
  CHECK(b.ask(2, "cmd=name-publish;name=here;port=tag#0;infokeycount=0;").empty());
  const auto inquiry = test::only<wire::NameInquiry>(b.outputs).at(0);
  CHECK((inquiry.name == "here" && inquiry.value == "tag#0"));
  b.outputs.clear();
  b.server.answered({2, wire::kNoProcess, inquiry.id, "", ""}, b.outputs);
  CHECK(b.words_to(2) == "cmd=name-publish-response;rc=0;");
  b.ask(2, "cmd=name-lookup;name=here;");
  b.outputs.clear();
  b.server.answered({2, wire::kNoProcess, {kService, 2}, "", "tag#0"}, b.outputs);
  CHECK(b.words_to(2) == "cmd=name-lookup-response;rc=0;value=tag#0;port=tag#0;");

  CHECK(b.ask(3,
              "cmd=spawn;ncmds=2;preputcount=1;ppkey0=P;ppval0=v w;"
              "subcmd=worker;maxprocs=2;argc=2;argv0=a b;argv1=x;;y=z;infokeycount=2;infokey0=host;"
              "infoval0=n1,n2;infokey1=wdir;infoval1=/tmp;"
              "subcmd=./other;maxprocs=1;argc=0;infokeycount=0;")
            .empty());
  const auto wanted = test::only<wire::WorldWanted>(b.outputs);
  REQUIRE((wanted.size() == 1 && wanted[0].programs.size() == 2));
  CHECK((wanted[0].process == 3 && wanted[0].given == Bench::pair("P", "v w")));
  const wire::ProgramWanted &worker = wanted[0].programs[0], &other = wanted[0].programs[1];
  CHECK(worker.program.arguments == std::vector<std::string>{"worker", "a b", "x;y=z"});
  CHECK((worker.processes == 2 && worker.program.directory == "/tmp"));
  CHECK(worker.hosts == std::vector<std::string>{"n1", "n2"});
  CHECK((other.program.arguments == std::vector<std::string>{"./other"} && other.processes == 1));
  b.outputs.clear();
  b.server.answered({3, wire::kNoProcess, wanted[0].id, "", "4"}, b.outputs);
  CHECK(b.words_to(3) == "cmd=spawn-response;rc=0;jobid=kvs_job_0_4;errcodes=0,0,0;");

  b.server.join(4);
  b.server.begun({kService, 3, {{4, {"worker"}, {}, true, {}}}, {{1, 4, 3}}, wanted[0].given}, b.outputs);
  b.open(4);
  CHECK(b.ask(4, "cmd=fullinit;") ==
        "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=3;appnum=0;debugged=FALSE;"
        "pmiverbose=FALSE;spawner-jobid=kvs_job_0;");
  CHECK(b.ask(4, "cmd=kvs-get;key=P;").ends_with("value=v w;"));
}

TEST_CASE("who breaks version 2 is dropped with the reason, and nobody else", "[pmi]") {
  const std::string value(PmiServer::kMostValue2 + 1, 'v');
  for (const auto& [bytes, why] : std::vector<std::pair<std::string, std::string>>{
           {frame("cmd=bogus;"), "'bogus' is no request that is known"},
           {frame("cmd=get;key=a;"), "'get' is no request that is known"},
           {frame("hello"), "'hello' is no request"},
           {"cmd=put kvsname=k key=a value=b\n", "a request that does not begin with its length"},
           {"      ", "a request that does not begin with its length"},
           {"1 2   ", "a request that does not begin with its length"},
           {"    -1", "a request that does not begin with its length"},
           {frame(""), "'' is no request"},
           {frame("cmd=kvs-put;key=;value=x;"), "a put with a key of more than 64 bytes, or none"},
           {frame("cmd=kvs-put;key=a;value=" + value + ";"), "a value of 1025 bytes: 1024 are allowed"},
           {frame("cmd=info-putnodeattr;value=x;"), "an attribute of 1 bytes, called by 0"},
           {frame("cmd=ring;ring-left=" + value + ";"), "values of 1025 and 0 bytes for neighbours"},
           {frame("cmd=job-getid;thrid=" + value + ";"), "a thread of 1025 bytes"},
           {frame("cmd=name-lookup;"), "a name of 0 bytes for a port of 0"},
           {frame("cmd=spawn;ncmds=1;"), "a spawn that names no program, or no number of processes"},
           {frame("cmd=spawn;ncmds=2;subcmd=a;maxprocs=1;"), "a spawn of 2 programs that names 1"},
           {frame("cmd=spawn;ncmds=1;subcmd=a;maxprocs=0;subcmd=b;"), "a spawn with maxprocs=0"}}) {
    Bench b;
    b.begin();
    b.outputs.clear();
    b.server.received(12, bytes, {}, b.outputs);
    CHECK(b.lost() == "it spoke to its launcher (PMI) as no MPI library does: " + why);
    CHECK(test::only<CloseClient>(b.outputs).size() == 1);
    CHECK(b.ask(3, "cmd=job-getid;") == "cmd=job-getid-response;rc=0;jobid=kvs_job_0;");
  }
}

TEST_CASE("version 2 is spoken in pieces, and a process aborts its job by it", "[pmi]") {
  Bench b;
  const std::string init = frame("cmd=fullinit;");
  CHECK(b.ask(3, "cmd=job-connect;").empty());  // before fullinit
  b.outputs.clear();
  for (const char byte : init) b.server.received(12, std::string(1, byte), {}, b.outputs);
  CHECK(test::only<Joined>(b.outputs).size() == 1);
  b.ask(2, "cmd=abort;isworld=TRUE;msg=it is over;exitcode=7;");
  const auto aborted = test::only<Aborted>(b.outputs);
  REQUIRE(aborted.size() == 1);
  CHECK((aborted[0].process == 2 && aborted[0].code == 7 && aborted[0].text == "MPI_Abort: it is over"));
}

}  // namespace charmtree::pmi_version_two_test
