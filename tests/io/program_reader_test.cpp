// SPDX-License-Identifier: Apache-2.0
// What programs are, read from files that are made here: an ELF header, its segments and nothing else.
#include "tree/io/host/program_reader.hpp"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/elf_file.hpp"

namespace charmtree::program_reader_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

struct Content {
  std::string text;
  std::uint32_t flags = PF_R;  // of the segment with the text
  std::vector<std::string> needed = {};
  std::string run_path = {};
  std::string symbols = {};  // each with a NUL behind it
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// One segment with all of the file, at another address than its offset, and the dynamic section in it.
std::string elf(const Content& content) {
  constexpr std::uint64_t kAddress = 0x400000;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  const std::uint64_t start = sizeof header + 2 * sizeof(Elf64_Phdr);
  std::string names(1, '\0');
  std::string dynamic;
  const auto add = [&](Elf64_Sxword tag, std::uint64_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    dynamic += bytes_of(entry);
  };
  const auto add_name = [&](Elf64_Sxword tag, const std::string& name) {
    add(tag, names.size());
    names += name + '\0';
  };
  for (const std::string& name : content.needed) add_name(DT_NEEDED, name);
  if (!content.run_path.empty()) add_name(DT_RUNPATH, content.run_path);
  names += content.symbols;
  add(DT_STRSZ, names.size());
  add(DT_STRTAB, kAddress + start + content.text.size());
  add(DT_NULL, 0);
  const std::string body = content.text + names + dynamic;
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_flags = content.flags;
  load.p_vaddr = kAddress;
  load.p_filesz = start + body.size();
  Elf64_Phdr dynamics{};
  dynamics.p_type = PT_DYNAMIC;
  dynamics.p_offset = start + content.text.size() + names.size();
  dynamics.p_filesz = dynamic.size();
  return bytes_of(header) + bytes_of(load) + bytes_of(dynamics) + body;
}

/// The same with sections: `constants` at the file's end, in one of this name.
std::string with_section(std::string file, const std::string& constants, const std::string& name) {
  const std::string names = '\0' + name + '\0';
  Elf64_Shdr section{}, texts{};
  section.sh_name = 1;
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = SHF_ALLOC;
  section.sh_offset = file.size();
  section.sh_size = constants.size();
  texts.sh_offset = file.size() + constants.size();
  texts.sh_size = names.size();
  Elf64_Ehdr header{};
  std::memcpy(&header, file.data(), sizeof header);
  header.e_shoff = texts.sh_offset + names.size();
  header.e_shentsize = sizeof section;
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  std::memcpy(file.data(), &header, sizeof header);
  return file + constants + names + bytes_of(section) + bytes_of(texts);
}

constexpr const char* kNetlrts = "xx Error parsing NETSTART";

}  // namespace

TEST_CASE("the constants of a program say what it is, beside its code, too, but not what it writes",
          "[program_reader]") {
  const TempDir folder;
  const auto traits = [&](const Content& content) { return read_traits(folder.write("app", elf(content))); };
  CHECK(traits({kNetlrts}).netstart);
  CHECK(traits({kNetlrts, PF_R | PF_X}).netstart);
  CHECK_FALSE(traits({kNetlrts, PF_R | PF_W}).netstart);
  CHECK(traits({"Running in SMP mode"}).smp);
  CHECK(traits({std::string(300'000, 'x') + kNetlrts}).netstart);
  CHECK(traits({"nothing"}) == wire::ProgramTraits{true});
}

TEST_CASE("where sections say which are the constants, only those are read", "[program_reader]") {
  const TempDir folder;
  const auto traits = [&](const std::string& file) { return read_traits(folder.write("app", file)); };
  const std::string program = elf({"Running in SMP mode"});
  for (const char* name : {".rodata", ".rodata.str1.8", ".lrodata"}) {
    const wire::ProgramTraits found = traits(with_section(program, kNetlrts, name));
    CHECK(found.netstart);
    CHECK_FALSE(found.smp);
  }
  const wire::ProgramTraits found = traits(with_section(program, kNetlrts, ".comment"));
  CHECK_FALSE(found.netstart);
  CHECK(found.smp);
}

TEST_CASE("libraries are looked into, also those of libraries", "[program_reader]") {
  const TempDir folder;
  folder.write("libdeep.so", elf({kNetlrts}));
  folder.write("libck.so.1", elf({"Running in SMP mode", PF_R, {"libnone.so", "libck.so.1"}}));
  folder.write("libouter.so", elf({"-", PF_R, {"libdeep.so"}, "/no/such:$ORIGIN"}));
  const auto traits = [&](const Content& content) { return read_traits(folder.write("app", elf(content))); };
  CHECK(traits({"-", PF_R, {"libc.so.6", "libck.so.1"}, folder.path("")}).smp);
  CHECK(traits({"-", PF_R, {"libouter.so"}, "${ORIGIN}/."}).netstart);
  CHECK(traits({"-", PF_R, {folder.path("libck.so.1")}}).smp);
  CHECK_FALSE(traits({"-", PF_R, {"libck.so.1"}}).smp);                        // not in any of its folders
  CHECK_FALSE(traits({"non-SMP mode", PF_R, {"libck.so.1"}, "$ORIGIN"}).smp);  // it says all itself
  ::setenv("LD_LIBRARY_PATH", folder.path("").c_str(), 1);
  const bool found = traits({"-", PF_R, {"libck.so.1"}}).smp;
  ::unsetenv("LD_LIBRARY_PATH");
  CHECK(found);
}

TEST_CASE("of the libraries only Charm++'s are looked into where that is enough", "[program_reader]") {
  const TempDir folder;
  folder.write("libck.so", elf({"+restartaftercrash"}));
  folder.write("libother.so", elf({"+restartaftercrash"}));
  const auto traits = [&](const std::string& library) {
    return read_traits(folder.write("app", elf({"-", PF_R, {library}, "$ORIGIN"})), Libraries::charm);
  };
  CHECK(traits("libck.so").restarts);
  CHECK(traits(folder.path("libck.so")).restarts);
  CHECK_FALSE(traits("libother.so").restarts);
}

TEST_CASE("who needs an MPI library, also through others, is an MPI program", "[program_reader]") {
  using wire::Mpi;
  const TempDir folder;
  folder.write("libsolver.so", elf({"-", PF_R, {"libmpi.so.40"}}));
  const auto mpi = [&](const std::string& library, Libraries which) {
    return read_traits(folder.write("app", elf({"-", PF_R, {library}, "$ORIGIN"})), which).by_mpi();
  };
  for (const Libraries which : {Libraries::all, Libraries::charm}) {
    CHECK(mpi("libmpi.so.12", which) == Mpi::mpich);  // which is not here: only its name counts
    CHECK(mpi("/opt/mpi/lib/libmpich.so.12", which) == Mpi::mpich);
    CHECK(mpi("libsolver.so", which) == Mpi::open_mpi);
    CHECK(mpi("libmpfr.so.6", which) == Mpi::none);
  }
  const auto script = [&](const char* name, const char* text) {
    return read_traits(folder.write(name, text)).mpi;
  };
  CHECK(script("a.py", "from mpi4py import MPI\n"));
  CHECK(script("tool", "#!/usr/bin/env python3\nimport mpi4py\n"));
  CHECK_FALSE(script("a.sh", "#!/bin/sh\nimport mpi4py\n"));
}

TEST_CASE("who starts others shows by the names that it, or a library of its own, calls",
          "[program_reader]") {
  const TempDir folder;
  const std::string spawn{"MPI_Comm_spawn\0", 15}, init{"MPI_Init\0", 9};
  const auto app = [&](const std::vector<std::string>& needed, const std::string& symbols) {
    return read_traits(folder.write("app", elf({"-", PF_R, needed, "$ORIGIN", symbols}))).spawns;
  };
  folder.write("libpool.so", elf({"-", PF_R, {"libmpi.so.12"}, {}, spawn}));
  folder.write("libmpi.so.12", elf({"-", PF_R, {}, {}, spawn}));
  CHECK(app({"libmpi.so.12"}, init + spawn));
  CHECK(app({"libpool.so"}, init));
  CHECK_FALSE(app({"libmpi.so.12"}, init));
  CHECK_FALSE(app({"libx.so"}, spawn));  // no MPI program
  CHECK(read_traits(folder.write("a.py", "from mpi4py import MPI\nMPI.COMM_SELF.Spawn('b')\n")).spawns);
  CHECK_FALSE(read_traits(folder.write("b.py", "import os\nx.Spawn('b')\n")).spawns);
}

TEST_CASE("of a script only charm4py is read; of what is no file nothing", "[program_reader]") {
  const TempDir folder;
  CHECK(read_traits(folder.write("a.py", "from charm4py import charm\n# non-SMP mode\n")).charm4py);
  CHECK(read_traits(folder.write("a.sh", "#!/bin/sh\necho Running in SMP mode\n")) == wire::ProgramTraits{});
  for (const std::string& path :
       {folder.path("none"), folder.path(""), std::string{"/dev/zero"}, std::string{}})
    CHECK(read_traits(path) == wire::ProgramTraits{});
}

TEST_CASE("files that are cut off or lie about themselves are read as far as they go", "[program_reader]") {
  const TempDir folder;
  const std::string whole = with_section(elf({kNetlrts, PF_R, {"libx.so"}, "$ORIGIN"}), kNetlrts, ".rodata");
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(read_traits(folder.write("cut", whole.substr(0, size))).elf == (size >= EI_NIDENT));
  for (std::size_t at = EI_NIDENT; at < whole.size(); ++at) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(0xFF);
    CHECK(read_traits(folder.write("wrong", wrong)).elf);
  }
}

TEST_CASE("a real program names its loader and its libraries", "[program_reader]") {
  const auto file = ElfFile::open("/proc/self/exe");
  REQUIRE(file);
  CHECK(file->loader().starts_with("/lib"));
  const auto names = file->libraries().names;
  CHECK(std::find(names.begin(), names.end(), "libc.so.6") != names.end());
  CHECK_FALSE(ElfFile::open("/etc/passwd"));
  CHECK_FALSE(ElfFile::open("/no/such/file"));
}

}  // namespace charmtree::program_reader_test
