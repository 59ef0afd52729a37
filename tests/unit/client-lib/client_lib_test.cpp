// SPDX-License-Identifier: Apache-2.0
// The real client library in child processes, against a real NativeServer over a real socket
// (client_lib_harness.hpp). Where it is to meet a launcher that misbehaves, the test itself is the launcher.
#include "client-lib/charmtree.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>

#include "tests/unit/client_lib_harness.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree::client_lib_test {

using namespace charmtree::test;
namespace native = charmtree::wire::native;

namespace {

std::string text_of(const ct_peer& peer) {
  return {static_cast<const char*>(peer.tuple), peer.size};
}

}  // namespace

TEST_CASE("without a launcher a program is a job of one", "[client]") {
  clear_environment();
  ct_job* job = nullptr;
  REQUIRE(ct_init(&job) == CT_OK);
  CHECK(ct_rank(job) == 0);
  CHECK(ct_size(job) == 1);
  CHECK(ct_local_rank(job) == 0);
  CHECK(ct_local_size(job) == 1);
  CHECK(ct_register(job, "me", 2) == CT_OK);
  CHECK(ct_register(job, "me", 2) == CT_EORDER);
  ct_peer peer{};
  CHECK(ct_lookup(job, 0, &peer) == CT_OK);
  CHECK(text_of(peer) == "me");
  CHECK(std::string_view{peer.address} == "127.0.0.1");
  CHECK(ct_lookup(job, 1, &peer) == CT_EINVAL);
  CHECK(ct_barrier(job) == CT_OK);
  CHECK(ct_table(job) == CT_OK);
  CHECK(ct_print(job, CT_STDOUT, "") == CT_OK);
  CHECK(ct_finalize(job, 0) == CT_OK);
}

TEST_CASE("wrong arguments are refused", "[client]") {
  clear_environment();
  CHECK(ct_init(nullptr) == CT_EINVAL);
  CHECK(ct_rank(nullptr) == CT_EINVAL);
  CHECK(ct_barrier(nullptr) == CT_EINVAL);
  CHECK(ct_finalize(nullptr, 0) == CT_EINVAL);
  ct_job* job = nullptr;
  REQUIRE(ct_init(&job) == CT_OK);
  ct_peer peer{};
  CHECK(ct_lookup(job, -1, &peer) == CT_EINVAL);
  CHECK(ct_lookup(job, 0, nullptr) == CT_EINVAL);
  CHECK(ct_register(job, nullptr, 1) == CT_EINVAL);
  CHECK(ct_register(job, std::string(CT_MAX_TUPLE + 1, 'x').data(), CT_MAX_TUPLE + 1) == CT_EINVAL);
  CHECK(ct_print(job, 3, "text") == CT_EINVAL);
  CHECK(ct_print(job, CT_STDOUT, nullptr) == CT_EINVAL);
  CHECK(ct_print(job, CT_STDOUT, std::string(CT_MAX_PRINT + 1, 'x').c_str()) == CT_EINVAL);
  CHECK(ct_abort(job, 0, "text") == CT_EINVAL);
  CHECK(ct_abort(job, 256, "text") == CT_EINVAL);
  CHECK(ct_set_timeout(job, -2) == CT_EINVAL);
  CHECK(ct_abort(job, 1, nullptr) == CT_OK);
  CHECK(ct_barrier(job) == CT_EENDED);
  CHECK(ct_finalize(job, 0) == CT_EENDED);
}

TEST_CASE("every error value has a text", "[client]") {
  std::set<std::string> texts;
  for (int error = 0; error >= CT_EVERBS; --error) texts.insert(ct_strerror(error));
  CHECK(texts.size() == 1 - CT_EVERBS);
  CHECK(texts.count("unknown error") == 0);
  CHECK(ct_strerror(CT_EVERBS - 1) == std::string{"unknown error"});
  CHECK(ct_version() == std::string{CHARMTREE_VERSION});
}

TEST_CASE("an environment that leads nowhere is named", "[client]") {
  const auto [socket, process, expected] = GENERATE(table<std::string, std::string, int>({
      {"/tmp/ct-no-such-socket", "0", CT_ECONNECT},
      {"/tmp/ct-no-such-socket", "", CT_EENV},
      {"", "0", CT_EENV},
      {"/tmp/ct-no-such-socket", "-1", CT_EENV},
      {"/tmp/ct-no-such-socket", "1x", CT_EENV},
      {"/tmp/ct-no-such-socket", "4294967296", CT_EENV},
      {"/tmp/" + std::string(120, 'x'), "0", CT_EENV},
  }));
  ::setenv("CHARMTREE_SOCKET", socket.c_str(), 1);
  ::setenv("CHARMTREE_PROCESS", process.c_str(), 1);
  int dummy = 0;
  auto* job = reinterpret_cast<ct_job*>(&dummy);
  CHECK(ct_init(&job) == expected);
  CHECK(job == nullptr);
  clear_environment();
}

TEST_CASE("four processes find each other, meet in barriers and end together", "[client]") {
  Launcher launcher{4};
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_size(job) == 4 && ct_local_size(job) == 4 && ct_local_rank(job) == ct_rank(job));
    const std::string tuple = "tuple of " + std::to_string(ct_rank(job));
    EXPECT(ct_register(job, tuple.data(), tuple.size()) == CT_OK);
    for (int rank = 0; rank < 4; ++rank) {
      ct_peer peer{};
      EXPECT(ct_lookup(job, rank, &peer) == CT_OK);
      EXPECT(peer.rank == rank && peer.host == 3 && std::string_view{peer.address} == "127.0.0.1");
      EXPECT(text_of(peer) == "tuple of " + std::to_string(rank));
    }
    EXPECT(ct_epoch(job) == 1);
    for (int i = 0; i < 100; ++i) EXPECT(ct_barrier(job) == CT_OK);
    EXPECT(ct_print(job, CT_STDERR, (tuple + "\n").c_str()) == CT_OK);
    const int rank = ct_rank(job);
    EXPECT(ct_finalize(job, rank) == CT_OK);
    return rank;
  });

  CHECK(launcher.serve() == std::vector<int>{0, 1, 2, 3});
  CHECK(launcher.ended.size() == 4);
  CHECK(launcher.printed.size() == 4);
  for (const Printed& print : launcher.printed) {
    CHECK(print.stream == proto::Stream::err);
    CHECK(print.text == "tuple of " + std::to_string(print.process) + "\n");
  }
  for (const Ended& ended : launcher.ended) CHECK(ended.code == static_cast<int>(ended.process));
  CHECK(launcher.lost.empty());
}

TEST_CASE("a process that never registers counts with an empty tuple", "[client]") {
  Launcher launcher{3};
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    if (ct_rank(job) == 0) EXPECT(ct_barrier(job) == CT_OK);
    if (ct_rank(job) == 1) {
      ct_peer peer{};
      EXPECT(ct_lookup(job, 0, &peer) == CT_OK && peer.size == 0);
      EXPECT(ct_register(job, "late", 4) == CT_EORDER);
    }
    if (ct_rank(job) != 0) EXPECT(ct_barrier(job) == CT_OK);
    EXPECT(ct_finalize(job, 0) == CT_OK);
    return 0;
  });
  CHECK(launcher.serve() == std::vector<int>{0, 0, 0});
}

TEST_CASE("an abort reaches the launcher with status and text; the others learn that the job has ended",
          "[client]") {
  Launcher launcher{2};
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_barrier(job) == CT_OK);  // nobody aborts before everybody is here
    if (ct_rank(job) == 0) {
      EXPECT(ct_barrier(job) == CT_EENDED);
      EXPECT(ct_print(job, CT_STDOUT, "too late") == CT_EENDED);
      EXPECT(ct_finalize(job, 0) == CT_EENDED);
      return 9;
    }
    EXPECT(ct_abort(job, 42, "cannot go on\n") == CT_OK);
    return 42;
  });
  REQUIRE(launcher.serve_until([&] { return launcher.aborted.size() == 1; }));
  CHECK(launcher.statuses() == std::vector<int>{9, 42});
  CHECK(launcher.aborted[0].process == 1);
  CHECK(launcher.aborted[0].code == 42);
  CHECK(launcher.aborted[0].text == "cannot go on\n");
  CHECK(launcher.lost.empty());
}

TEST_CASE("a process that leaves without ct_finalize is lost", "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_table(job) == CT_OK);
    return 0;
  });
  CHECK(launcher.serve() == std::vector<int>{0});
  REQUIRE(launcher.lost.size() == 1);
  CHECK(launcher.lost[0].process == 0);
}

TEST_CASE("a process joins once", "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    ct_job* job = nullptr;
    ct_job* again = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_init(&again) == CT_EREFUSED && again == nullptr);
    EXPECT(ct_finalize(job, 0) == CT_OK);
    return 0;
  });
  CHECK(launcher.serve() == std::vector<int>{0});
}

TEST_CASE("a barrier that timed out can be waited for again", "[client]") {
  Launcher launcher{1};
  launcher.hold_barriers = true;
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_table(job) == CT_OK);
    EXPECT(ct_set_timeout(job, 0) == CT_OK);
    EXPECT(ct_barrier(job) == CT_ETIMEDOUT);
    EXPECT(ct_set_timeout(job, 20) == CT_OK);
    EXPECT(ct_barrier(job) == CT_ETIMEDOUT);
    EXPECT(ct_finalize(job, 0) == CT_EORDER);
    EXPECT(ct_print(job, CT_STDOUT, "release me") == CT_OK);
    EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
    EXPECT(ct_barrier(job) == CT_OK);
    EXPECT(ct_finalize(job, 0) == CT_OK);
    return 0;
  });
  REQUIRE(launcher.serve_until([&] { return !launcher.printed.empty(); }));
  CHECK(launcher.waiting == 1);
  launcher.release_barrier();
  CHECK(launcher.serve() == std::vector<int>{0});
}

TEST_CASE("a newer table comes into use by ct_table only", "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_table(job) == CT_OK && ct_epoch(job) == 1);
    EXPECT(ct_barrier(job) == CT_OK);  // the newer table comes before the release
    ct_peer peer{};
    EXPECT(ct_lookup(job, 0, &peer) == CT_OK && ct_epoch(job) == 1);
    EXPECT(ct_table(job) == CT_OK && ct_epoch(job) == 2);
    EXPECT(ct_finalize(job, 0) == CT_OK);
    return 0;
  });
  launcher.hold_barriers = true;
  REQUIRE(launcher.serve_until([&] { return launcher.waiting == 1; }));
  launcher.hand_out_table(2);
  REQUIRE(launcher.serve_until([&] { return launcher.waiting == 2; }));  // it enters again, of the new epoch
  launcher.release_barrier();
  CHECK(launcher.serve() == std::vector<int>{0});
}

TEST_CASE("in a child of fork the job cannot be used, and the parent does not notice", "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const bool right =
          ct_rank(job) == CT_EFORK && ct_barrier(job) == CT_EFORK && ct_finalize(job, 0) == CT_EFORK;
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT(::waitpid(pid, &status, 0) == pid && status == 0);
    EXPECT(ct_barrier(job) == CT_OK);
    EXPECT(ct_finalize(job, 0) == CT_OK);
    return 0;
  });
  CHECK(launcher.serve() == std::vector<int>{0});
}

TEST_CASE("the one descriptor is closed on exec and by ct_finalize", "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    const auto next_fd = [] {
      const int fd = ::dup(0);
      ::close(fd);
      return fd;
    };
    const int fd = next_fd();
    ct_job* job = nullptr;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(next_fd() == fd + 1);
    EXPECT(::fcntl(fd, F_GETFD) == FD_CLOEXEC);
    EXPECT(ct_finalize(job, 0) == CT_OK);
    EXPECT(next_fd() == fd);
    return 0;
  });
  CHECK(launcher.serve() == std::vector<int>{0});
}

TEST_CASE("a launcher that dies is an error, not a signal", "[client]") {
  Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_table(job) == CT_ELOST);
                      EXPECT(ct_print(job, CT_STDOUT, "anybody?") == CT_ELOST);
                      EXPECT(ct_abort(job, 1, "nobody") == CT_ELOST);
                      EXPECT(ct_finalize(job, 0) == CT_ELOST);
                      return 7;
                    }};
  ::close(welcome(listener));
  CHECK(child.wait() == 7);
}

TEST_CASE("the first to notice a dead launcher may be a print", "[client]") {
  Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      int error = CT_OK;
                      while (error == CT_OK) error = ct_print(job, CT_STDOUT, "text");
                      EXPECT(error == CT_EENDED);  // its last word was Finished
                      EXPECT(ct_finalize(job, 0) == CT_EENDED);
                      return 7;
                    }};
  const int fd = welcome(listener);
  send_to(fd, native::Finished{});
  ::close(fd);
  CHECK(child.wait() == 7);
}

TEST_CASE("a launcher that talks nonsense is an error for good", "[client]") {
  const std::string nonsense =
      GENERATE(std::string(6, '\xFF'), native::to_frame(native::FromClient{native::BarrierEnter{}}),
               native::to_frame(native::FromLauncher{native::BarrierRelease{}}),
               native::to_frame(native::FromLauncher{native::Refused{"late"}}),
               native::to_frame(native::FromLauncher{native::Welcome{0, 2, 0, 2, 0, 0, 0, 1, {{0, 1}}, {}}}),
               native::to_frame(native::FromLauncher{native::Table{}}));  // without its descriptor
  Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_table(job) == CT_EPROTO);
                      EXPECT(ct_barrier(job) == CT_EPROTO);
                      EXPECT(ct_finalize(job, 0) == CT_EPROTO);
                      return 7;
                    }};
  const int fd = welcome(listener);
  CHECK(::send(fd, nonsense.data(), nonsense.size(), MSG_NOSIGNAL) > 0);
  CHECK(child.wait() == 7);
  ::close(fd);
}

namespace {

int expect_nonsense() {
  ct_job* job = nullptr;
  EXPECT(ct_init(&job) == CT_OK);
  EXPECT(ct_table(job) == CT_EPROTO);
  EXPECT(ct_finalize(job, 0) == CT_EPROTO);
  return 7;
}

const wire::NodeTable kOfTwo{1, 1, {{0, 0, 1, {{0, "a"}, {0, "b"}}}}};

}  // namespace

TEST_CASE("a table of another size, or what is none, is nonsense", "[client]") {
  const std::string content =
      GENERATE(std::string{}, std::string(4096, 'x'), wire::shared_form(kOfTwo).substr(0, 60),
               wire::shared_form({1, 1, {{0, 0, 1, {{}, {}, {}}}}}));
  Listener listener;
  test::Child child{listener, 0, expect_nonsense};
  const int fd = welcome(listener);
  send_with_file(fd, io::sealed_file("table", content).get());
  CHECK(child.wait() == 7);
  ::close(fd);
}

TEST_CASE("a table that somebody could still change is not taken", "[client]") {
  const std::string content = wire::shared_form(kOfTwo);
  Listener listener;
  test::Child child{listener, 0, expect_nonsense};
  const int fd = welcome(listener);
  const io::UniqueFd open{::memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  CHECK(::write(open.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  send_with_file(fd, open.get());
  CHECK(child.wait() == 7);
  ::close(fd);
}

TEST_CASE("who has the table cannot write it", "[client]") {
  const io::UniqueFd file = io::sealed_file("table", wire::shared_form(kOfTwo));
  CHECK(::write(file.get(), "x", 1) < 0);
  CHECK(::ftruncate(file.get(), 0) != 0);
  CHECK(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) == MAP_FAILED);
  const std::string again = "/proc/self/fd/" + std::to_string(file.get());
  const io::UniqueFd writable{::open(again.c_str(), O_RDWR)};
  CHECK((!writable || ::write(writable.get(), "x", 1) < 0));
  void* at = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(at != MAP_FAILED);
  CHECK(::mprotect(at, 1, PROT_READ | PROT_WRITE) != 0);
  ::munmap(at, 1);
}

TEST_CASE("ct_init tries again when a flooded launcher dropped it unanswered", "[client]") {
  Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_size(job) == 2);
                      return 7;
                    }};
  for (int i = 0; i < 3; ++i) ::close(listener.accept());
  const int fd = welcome(listener);
  CHECK(child.wait() == 7);
  ::close(fd);
}

TEST_CASE("a launcher that does not read makes prints time out, and none is lost or torn", "[client]") {
  constexpr int kPrints = 200;
  Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_set_timeout(job, 5) == CT_OK);
                      int timeouts = 0;
                      for (int i = 0; i < kPrints; ++i) {
                        const std::string text(5000, static_cast<char>('a' + i % 26));
                        int error = CT_ETIMEDOUT;
                        for (; (error = ct_print(job, CT_STDOUT, text.c_str())) == CT_ETIMEDOUT;) ++timeouts;
                        EXPECT(error == CT_OK);
                      }
                      EXPECT(timeouts > 0);
                      EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
                      EXPECT(ct_finalize(job, 5) == CT_OK);
                      return 7;
                    }};
  const int fd = welcome(listener);
  ::poll(nullptr, 0, 100);  // long enough for the socket to be full and some prints to time out

  wire::FrameDecoder decoder{wire::kMaxClientFrame};
  int prints = 0;
  bool finalized = false;
  for (char buffer[4096]; !finalized;) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    REQUIRE(n > 0);
    decoder.append({buffer, static_cast<std::size_t>(n)});
    for (auto frame = decoder.next();; frame = decoder.next()) {
      REQUIRE(frame);
      if (!frame->has_value()) break;
      const auto message = native::decode_from_client(**frame);
      REQUIRE(message);
      if (const auto* print = get_if<native::Print>(&*message)) {
        CHECK(print->text == std::string(5000, static_cast<char>('a' + prints % 26)));
        ++prints;
      }
      finalized = holds_alternative<native::Finalize>(*message);
      if (finalized) break;
    }
  }
  CHECK(prints == kPrints);
  send_to(fd, native::Finished{});
  CHECK(child.wait() == 7);
  ::close(fd);
}

// ---- CCS

namespace {

/// Replies with what it was asked, and its rank in front; the argument counts.
void tell(ct_job* job, const ct_ccs_request* request, void* argument) {
  ++*static_cast<int*>(argument);
  std::string text = std::to_string(ct_rank(job)) + request->handler + " ";
  text.append(static_cast<const char*>(request->data), request->size);
  ct_ccs_reply(job, request->id, text.data(), text.size());
}

}  // namespace

TEST_CASE("requests are handled by ct_ccs_serve, and replies of any size come back whole", "[client]") {
  constexpr std::size_t kLarge = 3U << 20;
  Launcher launcher{2};
  launcher.start([] {
    ct_job* job = nullptr;
    int served = 0;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_ccs_register(job, "tell", CT_CCS_CONCAT, tell, &served) == CT_OK);
    EXPECT(ct_descriptor(job) >= 0);
    EXPECT(ct_table(job) == CT_OK);
    EXPECT(served == 0 && ct_poll_events(job) == POLLIN);
    while (served < 2) EXPECT(ct_ccs_serve(job) > 0);
    EXPECT(ct_ccs_reply(job, 1, "", 0) == CT_EINVAL);
    return ct_finalize(job, 0) == CT_OK ? 0 : 9;
  });
  REQUIRE(launcher.serve_until([&] { return launcher.has_table; }));
  const std::string large(kLarge, 'x');
  for (std::uint32_t process = 0; process < 2; ++process) {
    launcher.ask(process, wire::make_ccs_forward({0, "tell", {}, large}, {1, 2, 10 + process}));
    launcher.ask(process, wire::make_ccs_forward({0, "tell", {}, "small"}, {1, 2, 20 + process}));
  }
  CHECK(launcher.serve() == std::vector<int>{0, 0});
  REQUIRE(launcher.answers.size() == 4);
  for (const RequestAnswered& answer : launcher.answers) {
    const std::string data = answer.token < 20 ? large : "small";
    CHECK(answer.bytes == std::to_string(answer.process) + "tell " + data);
  }
}

TEST_CASE("a handler replies later, once, and serves nobody from within", "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    ct_job* job = nullptr;
    struct Seen {
      std::uint32_t id = 0;
      int nested = 0, ended = 0;
    } seen;
    EXPECT(ct_init(&job) == CT_OK);
    const auto keep = [](ct_job* j, const ct_ccs_request* request, void* argument) {
      *static_cast<Seen*>(argument) = {request->id, ct_ccs_serve(j), ct_finalize(j, 0)};
    };
    EXPECT(ct_ccs_register(job, "keep", CT_CCS_MAX | CT_CCS_INT64, keep, &seen) == CT_OK);
    EXPECT(ct_table(job) == CT_OK);
    EXPECT(ct_ccs_serve(job) == 1);
    EXPECT(seen.nested == CT_EORDER && seen.ended == CT_EORDER);
    EXPECT(ct_ccs_reply(job, seen.id + 1, "no", 2) == CT_EINVAL);
    EXPECT(ct_ccs_reply(job, seen.id, "later", 5) == CT_OK);
    EXPECT(ct_ccs_reply(job, seen.id, "again", 5) == CT_EINVAL);
    return ct_finalize(job, 0) == CT_OK ? 0 : 9;
  });
  REQUIRE(launcher.serve_until([&] { return launcher.has_table; }));
  launcher.ask(0, wire::make_ccs_forward({0, "keep", {}, {}}, {1, 2, 7}));
  CHECK(launcher.serve() == std::vector<int>{0});
  REQUIRE(launcher.answers.size() == 1);
  CHECK(launcher.answers[0].bytes == "later");
  CHECK(launcher.answers[0].merge == wire::CcsMerge{wire::CcsMerge::max, wire::CcsMerge::int64});
}

TEST_CASE("handlers are checked, and a job of one has no clients", "[client]") {
  clear_environment();
  ct_job* job = nullptr;
  REQUIRE(ct_init(&job) == CT_OK);
  const auto nothing = [](ct_job*, const ct_ccs_request*, void*) {};
  CHECK(ct_ccs_register(job, "a", CT_CCS_SUM | CT_CCS_INT32, nothing, nullptr) == CT_OK);
  CHECK(ct_ccs_register(job, "a", CT_CCS_SUM, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, "a", CT_CCS_INT32, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, "a", 256, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, "a", -1, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, "", 0, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, std::string(CT_MAX_CCS_NAME + 1, 'a').c_str(), 0, nothing, nullptr) ==
        CT_EINVAL);
  CHECK(ct_ccs_register(job, nullptr, 0, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, "a", 0, nullptr, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(nullptr, "a", 0, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_serve(job) == CT_EENV);
  CHECK(ct_set_timeout(job, 1) == CT_OK);
  CHECK(ct_ccs_serve(job) == CT_ETIMEDOUT);
  CHECK(ct_poll_events(job) == CT_EENV);
  CHECK(ct_ccs_serve(nullptr) == CT_EINVAL);
  CHECK(ct_ccs_reply(job, 0, "", 0) == CT_EINVAL);
  CHECK(ct_ccs_reply(job, 0, nullptr, 1) == CT_EINVAL);
  CHECK(ct_descriptor(job) == CT_EENV);
  CHECK(ct_descriptor(nullptr) == CT_EINVAL);
  CHECK(ct_finalize(job, 0) == CT_OK);
}

TEST_CASE("what came with other things is served without waiting, and who serves has registered",
          "[client]") {
  Launcher launcher{1};
  launcher.start([] {
    ct_job* job = nullptr;
    int served = 0;
    EXPECT(ct_init(&job) == CT_OK);
    EXPECT(ct_ccs_register(job, "tell", CT_CCS_CONCAT, tell, &served) == CT_OK);
    EXPECT(ct_ccs_serve(job) == 1);  // nothing else was called: it registers
    EXPECT(ct_barrier(job) == CT_OK);
    EXPECT(ct_set_timeout(job, 0) == CT_OK);
    EXPECT(ct_ccs_serve(job) == 2);
    EXPECT(ct_ccs_serve(job) == CT_ETIMEDOUT);
    EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
    return ct_finalize(job, 0) == CT_OK ? 0 : 9;
  });
  launcher.hold_barriers = true;
  const auto ask = [&](std::uint32_t token) {
    launcher.ask(0, wire::make_ccs_forward({0, "tell", {}, {}}, {1, 2, token}));
  };
  REQUIRE(launcher.serve_until([&] { return launcher.has_table; }));
  ask(1);
  REQUIRE(launcher.serve_until([&] { return launcher.waiting == 1; }));
  ask(2);
  ask(3);
  launcher.release_barrier();
  CHECK(launcher.serve() == std::vector<int>{0});
  CHECK(launcher.answers.size() == 3);
}

TEST_CASE("a process has a limit of handlers", "[client]") {
  clear_environment();
  ct_job* job = nullptr;
  REQUIRE(ct_init(&job) == CT_OK);
  const auto nothing = [](ct_job*, const ct_ccs_request*, void*) {};
  for (int i = 0; i < CT_MAX_CCS_HANDLERS; ++i)
    REQUIRE(ct_ccs_register(job, std::to_string(i).c_str(), 0, nothing, nullptr) == CT_OK);
  CHECK(ct_ccs_register(job, "more", 0, nothing, nullptr) == CT_EINVAL);
  CHECK(ct_ccs_register(job, "1", 0, nothing, nullptr) == CT_OK);
  CHECK(ct_finalize(job, 0) == CT_OK);
}

}  // namespace charmtree::client_lib_test
