// SPDX-License-Identifier: Apache-2.0
// What is said of a program and its host without running it. The programs are copies of `true` with other
// bytes, the loaders that they name are scripts.
#include "tree/io/host/checkup.hpp"

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
#include "tree/io/spawn.hpp"

namespace charmtree::checkup_test {

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

wire::Checkup examine(const wire::JobSpec& job) {
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
  if (!found) io.run_for(60s);
  REQUIRE(found);
  return *found;
}

wire::JobSpec job_of(const std::string& program, Duration timeout) {
  wire::JobSpec job;
  job.timeout = timeout;
  job.private_network = true;
  job.profiles.resize(1);
  job.profiles[0].program = program;
  job.profiles[0].directory = "/";
  return job;
}

wire::Checkup examine(const std::string& program, const std::string& script = {}) {
  wire::JobSpec job = job_of(program, 300ms);
  job.spawn.runscript = script;
  return examine(job);
}

/// It may take a while to start.
wire::Checkup examine_python(std::vector<std::string> command) {
  wire::JobSpec job = job_of(command[0], 60s);
  job.arguments = std::move(command);
  return examine(job);
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

TEST_CASE("a Python program whose imports are missing, without running it", "[checkup]") {
  const Folder folder;
  folder.put("beside.py", "raise SystemExit('it was run')\n", 0644);
  const std::string text =
      "import os, beside\nimport no_such_a.part, no_such_b\nfrom no_such_a import thing\nfrom . import near\n"
      "try:\n  import no_such_c\nexcept ImportError:\n  pass\ndef late():\n  import no_such_d\n"
      "open('" +
      folder.path + "/ran', 'w')\n";
  const std::string script = folder.put("app.py", "#!/usr/bin/env python3\n" + text);
  const Error missing = only_error(examine_python({"python3", "-u", script, "an argument"}));
  CHECK(missing.code == Errc::library_missing);
  CHECK(missing.what == script + ": modules no_such_a, no_such_b not found");
  CHECK(missing.fix.find("-m pip install there, or set PYTHONPATH") != std::string::npos);
  CHECK(only_error(examine_python({script})).what == missing.what);
  CHECK_FALSE(fs::exists(folder.path + "/ran"));
  CHECK(examine_python({"python3", folder.put("good.py", "import os, beside\n")}).errors.empty());
  CHECK(examine_python({"python3", "-c", "import no_such_a"}).errors.empty());
  CHECK(examine_python({"python3", "-m", "json.tool"}).errors.empty());
  CHECK(only_error(examine_python({"python3", "-m", "no_such_a.part"})).what ==
        "no_such_a.part: module no_such_a not found");
  const std::string own = "import no_such_a\nimport sys; sys.path.append('lib')\nimport no_such_b\n";
  CHECK(only_error(examine_python({"python3", folder.put("own.py", own)})).what ==
        folder.path + "/own.py: module no_such_a not found");
  folder.put("setting.py", "import sys\nsys.path.append('lib')\n", 0644);
  CHECK(examine_python({"python3", folder.put("late.py", "import setting\nimport no_such_b\n")})
            .errors.empty());
  CHECK(only_error(examine_python({"python3", folder.path + "/none.py"})).what ==
        folder.path + "/none.py: python cannot read it: No such file or directory");
  CHECK(only_error(examine_python({"python3", folder.put("bad.py", "\nif:\n")})).what.find("(line 2)") !=
        std::string::npos);
}

TEST_CASE("where nothing is to be copied, a missing program has another hint", "[checkup]") {
  SpawnRequest request;
  request.program = "./nosuch";
  CHECK(file_to_execute(request).error().fix ==
        "is its name right? ++stage-program sends a program that is here");
  request.at_root = true;
  CHECK(file_to_execute(request).error().fix == "is its name right?");
}

}  // namespace charmtree::checkup_test
