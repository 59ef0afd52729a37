// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tree/io/spawn.hpp"

namespace charmtree::cpus_test {

using namespace charmtree::io;

namespace {

proto::CpuSet allowed() {
  cpu_set_t set;
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  proto::CpuSet all;
  for (std::uint32_t pu = 0; pu < CPU_SETSIZE; ++pu) {
    if (CPU_ISSET(pu, &set)) all.push_back(pu);
  }
  return all;
}

proto::CpuSet together(const std::vector<proto::CpuSet>& sets) {
  proto::CpuSet all;
  for (const proto::CpuSet& set : sets) all.insert(all.end(), set.begin(), set.end());
  std::sort(all.begin(), all.end());
  return all;
}

/// Sets a variable for as long as it lives.
class Variable {
public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  const char* name_;
};

}  // namespace

TEST_CASE("each unit of this machine holds all PUs that we may use, each once", "[cpus]") {
  const auto cpus = load_cpus();
  REQUIRE(cpus.ok());
  CHECK(cpus->bindable);
  for (const CpuUnit unit : {CpuUnit::socket, CpuUnit::numa, CpuUnit::core, CpuUnit::pu})
    CHECK(together(cpus->of(unit)) == allowed());
  CHECK(cpus->topology().pus == allowed().size());
}

TEST_CASE("what we are bound off does not count", "[cpus]") {
  const proto::CpuSet before = allowed();
  cpu_set_t one, all;
  CPU_ZERO(&one);
  CPU_SET(before.back(), &one);
  ::sched_getaffinity(0, sizeof all, &all);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const auto cpus = load_cpus();
  REQUIRE(::sched_setaffinity(0, sizeof all, &all) == 0);
  REQUIRE(cpus.ok());
  CHECK(cpus->topology() == Topology{1, 1, 1});
  CHECK(cpus->pus == std::vector<proto::CpuSet>{{before.back()}});
}

TEST_CASE("hwloc's description of another machine is taken, but not for binding", "[cpus]") {
  const Variable synthetic{"HWLOC_SYNTHETIC", "pack:2 core:4 pu:2"};
  const auto cpus = load_cpus();
  REQUIRE(cpus.ok());
  CHECK(cpus->topology() == Topology{2, 8, 16});
  CHECK_FALSE(cpus->bindable);
  CHECK(cpus->cores[1].size() == 2);
}

TEST_CASE("counting processors loads no plugin and leaves the environment as it was", "[cpus]") {
  const Variable mine{"CHARMTREE_TEST", "x"};
  char** before = environ;
  REQUIRE(load_cpus().ok());
  CHECK(environ == before);
  CHECK(::getenv("HWLOC_PLUGINS_PATH") == nullptr);
  std::ifstream file("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>{file}, {}};
  for (const char* library : {"hwloc_", "libX11", "OpenCL", "libpciaccess"})
    CHECK(maps.find(library) == std::string::npos);
}

TEST_CASE("a process cannot be bound to what is not there", "[cpus]") {
  SpawnRequest request;
  request.program = "/bin/true";
  request.arguments = {"true"};
  request.cpus = {4000};
  const auto pid = spawn(request);
  REQUIRE_FALSE(pid.ok());
  CHECK(pid.error().code == Errc::spawn_failed);
  CHECK(pid.error().what.find("cannot bind /bin/true to 4000") != std::string::npos);
}

}  // namespace charmtree::cpus_test
