// SPDX-License-Identifier: Apache-2.0
// What is said of a program and its host without running it. The programs are copies of `true` with other
// bytes, the loaders that they name are scripts.
#include "tree/io/checkup.hpp"

#include <elf.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tree/io/clock.hpp"
#include "tree/io/executable.hpp"

using namespace charmtree;
using namespace charmtree::io;
namespace fs = std::filesystem;

namespace {

std::string true_program() {
  std::ifstream file("/bin/true", std::ios::binary);
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// A folder with a short name, removed at the end.
struct Folder {
  std::string path = "/tmp/ct-XXXXXX";
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { fs::remove_all(path); }

  std::string put(const std::string& name, const std::string& content, mode_t mode = 0755) const {
    const std::string full = path + "/" + name;
    std::ofstream(full, std::ios::binary) << content;
    ::chmod(full.c_str(), mode);
    return full;
  }
  /// `true`, which names the script `loader` as its loader.
  std::string put_program(const std::string& loader) const {
    std::string bytes = true_program();
    const std::string usual = loader_of("/bin/true"), other = path + "/ld";
    const std::size_t at = bytes.find(usual + '\0');
    REQUIRE(other.size() <= usual.size());
    REQUIRE(at != std::string::npos);
    bytes.replace(at, other.size() + 1, other + '\0');
    if (!loader.empty()) put("ld", "#!/bin/sh\n" + loader);
    return put("program", bytes);
  }
};

wire::Checkup examine(const std::string& program, const std::string& script = {}) {
  wire::JobSpec job;
  job.timeout = 300ms;
  job.runscript = script;
  job.private_network = true;
  job.profiles.resize(1);
  job.profiles[0].program = program;
  job.profiles[0].directory = "/";
  Host self;
  self.index = 7;
  asio::io_context io{1};
  ChildWatch watch{io};
  Examination examination{io, watch};
  std::optional<wire::Checkup> found;
  examination.run(job, self, {"PATH=/usr/bin:/bin"}, [&](wire::Checkup checkup) {
    found = std::move(checkup);
    io.stop();
  });
  if (!found) io.run_for(10s);
  REQUIRE(found);
  return *found;
}

Error only_error(const wire::Checkup& checkup) {
  REQUIRE(checkup.errors.size() == 1);
  return checkup.errors[0];
}

}  // namespace

TEST_CASE("files that would not run, and why", "[checkup]") {
  const Folder folder;
  CHECK(execution_error(folder.path + "/none") == ENOENT);
  CHECK(execution_error(folder.path) == EACCES);
  CHECK(execution_error(folder.put("plain", "#!/bin/sh\n", 0644)) == EACCES);
  CHECK(execution_error(folder.put("script", "#! /bin/sh -e\n")) == 0);
  CHECK(execution_error(folder.put("text", "echo\n")) == 0);
  CHECK(execution_error(folder.put("empty", "")) == 0);
  CHECK(execution_error(folder.put("orphan", "#!/no/such/perl\n")) == ENOENT);
  CHECK(execution_error("/bin/true") == 0);
  std::string alien = true_program();
  alien[offsetof(Elf64_Ehdr, e_machine)] ^= 0x55;
  CHECK(execution_error(folder.put("alien", alien)) == ENOEXEC);
  CHECK(execution_error(folder.put("cut", alien.substr(0, 18))) == ENOEXEC);
  CHECK(execution_error(folder.put_program("")) == ENOENT);  // no loader of that name
}

TEST_CASE("the loader is that of an ELF file of this machine", "[checkup]") {
  const Folder folder;
  CHECK(fs::exists(loader_of("/bin/true")));
  CHECK(loader_of(folder.put("script", "#!/bin/sh\n")).empty());
  CHECK(loader_of(folder.path + "/none").empty());
  CHECK(loader_of(folder.put_program("exit 0")) == folder.path + "/ld");
}

TEST_CASE("a host without faults", "[checkup]") {
  const wire::Checkup found = examine("true");
  CHECK(found.host == 7);
  CHECK(found.errors.empty());
  CHECK((found.clock <= now() && now() - found.clock < 60s));
  CHECK(std::abs(found.wall_ms - wall_ms()) < 60'000);
  CHECK((found.open_files > 0 && found.open_files <= found.most_open_files));
  CHECK((found.processes_now > 0 && found.processes_now < 100'000));
  CHECK_FALSE(found.machine.empty());
  CHECK(found.address == 0x7F000001);
  CHECK(examine("").errors.empty());
}

TEST_CASE("a program that is missing, and one whose libraries are", "[checkup]") {
  const Folder folder;
  CHECK(only_error(examine(folder.path + "/none")).code == Errc::no_program);
  CHECK(only_error(examine("no-such-program")).what == "no-such-program: not found in PATH");
  CHECK(only_error(examine(folder.put("plain", "x", 0644))).code == Errc::not_executable);
  const std::string program = folder.put_program(
      "[ \"$1\" = --list ] && printf '\\tlibx.so => not found\\n\\tliby.so => not found\\n'");
  const Error error = only_error(examine(program));
  CHECK(error.code == Errc::library_missing);
  CHECK(error.what == program + ": libx.so, liby.so not found");
  CHECK(examine(folder.path + "/none", folder.path + "/script").errors.size() == 2);
}

TEST_CASE("a loader that fails without a word, and one that hangs", "[checkup]") {
  const Folder folder;
  CHECK(only_error(examine(folder.put_program("exit 1"))).what ==
        folder.path + "/program: its loader cannot load it");
  const Error late = only_error(examine(folder.put_program("exec sleep 98765")));
  CHECK(late.code == Errc::timed_out);
  CHECK(late.what == folder.path + "/program: its libraries were not found within 0.3 s");
}

TEST_CASE("an examination that is given up says nothing more", "[checkup]") {
  const Folder folder;
  wire::JobSpec job;
  job.profiles.resize(1);
  job.profiles[0].program = folder.put_program("exec sleep 98765");
  asio::io_context io{1};
  ChildWatch watch{io};
  bool told = false;
  {
    Examination examination{io, watch};
    examination.run(job, {}, {}, [&](const wire::Checkup&) { told = true; });
    REQUIRE(watch.pids().size() == 1);
  }
  for (int i = 0; i < 100 && !watch.pids().empty(); ++i) io.run_for(50ms);
  CHECK(watch.pids().empty());  // killed
  CHECK_FALSE(told);
}
