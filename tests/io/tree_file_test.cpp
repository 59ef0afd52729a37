// SPDX-License-Identifier: Apache-2.0
// The file by which another root takes over: what is in it, who may read it, and what is no such file.
#include "charmrun/plan/tree_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "charmrun/control/leaving.hpp"
#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"

namespace charmtree::tree_file_test {

using namespace charmtree::io::test;

namespace {

KeptTree sample() {
  KeptTree tree{"1.0", "here", {"charmrun", "+p3", "++label", "./a b"}, 1'700'000'000'123, "there", {}};
  tree.plan.job.id = "0123456789abcdef";
  tree.plan.job.secret = std::string(32, '\xff');
  tree.plan.job.loss.keep_alive = 60s;
  tree.plan.job.hosts = 3;
  tree.plan.job.processes = 3;
  tree.plan.job.profiles.resize(1);
  tree.plan.int_ends = false;
  tree.plan.bad_exit = proto::BadExit::ends;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Host& host = tree.plan.hosts.emplace_back();
    host.index = host.first_process = i;
    host.name = "h" + std::to_string(i);
    host.processes = 1;
  }
  tree.plan.takes_over.emplace();
  tree.plan.takes_over->started_by = {{0, wire::kRootIndex}, {1, 0}, {2, 0}};
  tree.plan.takes_over->lost.add(1);
  return tree;
}

}  // namespace

TEST_CASE("what is kept of a tree comes back", "[keep-alive]") {
  const KeptTree kept = sample();
  const auto read = decode_tree(encode(kept));
  REQUIRE(read);
  CHECK(read->version == kept.version);
  CHECK(read->machine == kept.machine);
  CHECK(read->words == kept.words);
  CHECK(read->limit_at == kept.limit_at);
  CHECK(read->root_at == kept.root_at);
  CHECK(read->plan.job == kept.plan.job);
  CHECK(read->plan.hosts == kept.plan.hosts);
  CHECK_FALSE(read->plan.int_ends);
  CHECK(read->plan.bad_exit == proto::BadExit::ends);
  REQUIRE(read->plan.takes_over);
  CHECK(read->plan.takes_over->started_by == kept.plan.takes_over->started_by);
  CHECK(read->plan.takes_over->lost.print() == "1");
}

TEST_CASE("what is cut short or something else is no such file", "[keep-alive]") {
  const std::string whole = encode(sample());
  CHECK_FALSE(decode_tree(""));
  CHECK_FALSE(decode_tree("something else"));
  const std::size_t lists = whole.rfind("h2");
  for (std::size_t size = 0; size < lists; ++size) CHECK_FALSE(decode_tree(whole.substr(0, size)));
}

TEST_CASE("more words than a file may have are none", "[keep-alive]") {
  const std::string whole = encode(sample()), machine{"\4here"};
  const std::size_t words = whole.find(machine) + machine.size();
  REQUIRE(whole.at(words) == '\4');
  const auto with_count = [&](std::string count) {
    return whole.substr(0, words) + std::move(count) + whole.substr(words + 1) + std::string(4U << 20, '\0');
  };
  CHECK(decode_tree(with_count("\xFF\xFF\xFF\xFF\x0F")).error().what == "it cannot be read");
  CHECK(decode_tree(with_count("\x81\x80\x40")).error().what == "it cannot be read");  // 2^20 + 1
}

TEST_CASE("only its user can read it, and it goes with the job", "[keep-alive]") {
  const TempDir home;
  const std::string folder = home.path("state/charmtree");
  TreeFile file{folder, sample()};
  CHECK_FALSE(file.is_kept());
  file.remove();
  const proto::KeepTree now{*sample().plan.takes_over, sample().plan.hosts, 4};
  REQUIRE(file.keep(now));
  REQUIRE(file.keep(now));
  CHECK(file.is_kept());
  struct stat info {};
  REQUIRE(::stat((folder + "/0123456789abcdef.tree").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(kept_trees(folder) == std::vector<std::string>{"0123456789abcdef"});
  const auto read = read_tree(folder, "0123456789abcdef");
  REQUIRE(read);
  CHECK(read->plan.job.processes == 3);
  CHECK(read->plan.job.pes_per_process == 4);
  file.remove();
  CHECK(kept_trees(folder).empty());
  CHECK_FALSE(read_tree(folder, "0123456789abcdef"));
}

TEST_CASE("a file says when its root was there, once that has kept it", "[keep-alive]") {
  const TempDir home;
  const std::string folder = home.path("state"), id = "0123456789abcdef";
  CHECK(last_seen(folder, id) == 0);
  TreeFile file{folder, sample()}, next{folder, sample(), true};
  CHECK(file.own_path().empty());
  const std::int64_t before = io::wall_ms();
  REQUIRE(file.keep({*sample().plan.takes_over, sample().plan.hosts, 1}));
  CHECK(last_seen(folder, id) >= before);
  CHECK(file.own_path() == folder + "/" + id + ".tree");
  CHECK(next.own_path().empty());  // it has not taken over yet
  REQUIRE(::truncate(file.own_path().c_str(), 0) == 0);
  touch_tree(file.own_path());
  CHECK(last_seen(folder, id) <= io::wall_ms());
  remove_tree(folder, id);
  CHECK(kept_trees(folder).empty());
  touch_tree(file.own_path());  // makes none
  CHECK(kept_trees(folder).empty());
}

TEST_CASE("a root that leaves keeps its job's file, and only one that is kept can be left", "[keep-alive]") {
  const TempDir home;
  io::asio::io_context io{1};
  control::Leaving never{io, nullptr};
  CHECK(never.by_order("1").error().what == "job 1 ends with its charmrun");
  TreeFile file{home.path("state"), sample()};
  control::Leaving leaving{io, &file};
  CHECK(leaving.by_order("1").error().what == "job 1 is not kept alive yet");
  REQUIRE(file.keep({*sample().plan.takes_over, sample().plan.hosts, 1}));
  REQUIRE(leaving.by_order("1"));
  CHECK((leaving.has_left() && io.stopped()));
  CHECK(control::Leaving::finish().signal == SIGHUP);
  file.remove();
  CHECK(kept_trees(home.path("state")).size() == 1);
}

TEST_CASE("without a home nothing is kept, and that is said", "[keep-alive]") {
  TreeFile file{"", sample()};
  CHECK_FALSE(file.keep({*sample().plan.takes_over, sample().plan.hosts, 1}));
  CHECK(kept_trees("").empty());
}

TEST_CASE("a job that is kept is named by the beginning of its number", "[keep-alive]") {
  const std::vector<std::string> ids{"12ab", "12cd", "9"};
  CHECK(*choose_tree(ids, "12c") == "12cd");
  CHECK(*choose_tree({"12ab"}, "") == "12ab");
  CHECK_FALSE(choose_tree(ids, "12"));
  CHECK_FALSE(choose_tree(ids, ""));
  CHECK_FALSE(choose_tree(ids, "f"));
  CHECK_FALSE(choose_tree({}, ""));
}

}  // namespace charmtree::tree_file_test
