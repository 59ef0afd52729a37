// SPDX-License-Identifier: Apache-2.0
// Values that programs in child processes exchange by the client library; and alone.
#include <sys/mman.h>

#include <catch2/catch.hpp>

#include "client-lib/charmtree.h"
#include "tests/unit/client_lib_harness.hpp"

namespace charmtree::client_lib_exchange_test {

using namespace charmtree::test;
namespace native = charmtree::wire::native;

namespace {

std::string value_of(ct_job* job, const std::string& key) {
  const void* value = nullptr;
  std::size_t size = 0;
  const int error = ct_get(job, key.c_str(), &value, &size);
  return error == CT_OK ? std::string(static_cast<const char*>(value), size) : ct_strerror(error);
}

std::string gathered(ct_job* job, int request, int rank) {
  const void* value = nullptr;
  std::size_t size = 0;
  const int error = ct_gathered(job, request, rank, &value, &size);
  return error == CT_OK ? std::string(static_cast<const char*>(value), size) : ct_strerror(error);
}

const std::string kNoKey = ct_strerror(CT_ENOKEY), kInvalid = ct_strerror(CT_EINVAL);

int put(ct_job* job, const std::string& key, const std::string& value) {
  return ct_put(job, key.c_str(), value.data(), value.size());
}

/// The second round has another value for each key, and a key more.
int exchange_twice() {
  ct_job* job = nullptr;
  EXPECT(ct_init(&job) == CT_OK);
  const int rank = ct_rank(job), size = ct_size(job);
  for (int round = 0; round < 3; ++round) {
    const std::string own = std::to_string(rank), value = own + "/" + std::to_string(round);
    EXPECT(put(job, own, value) == CT_OK && put(job, value, own) == CT_OK);
    EXPECT(value_of(job, value) == kNoKey);
    EXPECT(ct_fence(job) == CT_OK);
    for (int other = 0; other < size; ++other) {
      const std::string its = std::to_string(other), last = its + "/" + std::to_string(round);
      EXPECT(value_of(job, its) == last && value_of(job, last) == its);
      EXPECT(value_of(job, its + "/0") == its);
    }
  }
  return ct_finalize(job, 0) == CT_OK ? 0 : 9;
}

int gather_many() {
  ct_job* job = nullptr;
  EXPECT(ct_init(&job) == CT_OK);
  const int rank = ct_rank(job);
  const int others[] = {2, 0};
  const int first = ct_allgather_start(job, nullptr, 0, &rank, sizeof rank);
  const int group = rank == 1 ? -1 : ct_allgather_start(job, others, 2, "x", 1);
  const int fence = ct_fence_start(job, nullptr, 0);
  EXPECT(first >= 0 && fence >= 0 && (group >= 0) == (rank != 1));
  EXPECT(ct_wait(job, fence) == CT_OK);
  EXPECT(ct_wait(job, first) == CT_OK && ct_test(job, first) == 1);
  for (int other = 0; other < 3; ++other)
    EXPECT(gathered(job, first, other) == std::string(reinterpret_cast<const char*>(&other), sizeof other));
  if (group >= 0) {
    EXPECT(ct_wait(job, group) == CT_OK);
    EXPECT(gathered(job, group, 0) == "x" && gathered(job, group, 1) == kInvalid);
    EXPECT(ct_release(job, group) == CT_OK);
  }
  EXPECT(gathered(job, fence, 0) == kInvalid && gathered(job, first, 3) == kInvalid);
  EXPECT(ct_release(job, first) == CT_OK && ct_release(job, first) == CT_EINVAL);
  EXPECT(ct_test(job, first) == CT_EINVAL && ct_wait(job, 99) == CT_EINVAL);
  return ct_finalize(job, 0) == CT_OK ? 0 : 9;
}

/// Twice at once.
int pass_on() {
  ct_job* job = nullptr;
  EXPECT(ct_init(&job) == CT_OK);
  const int rank = ct_rank(job), left = (rank + 2) % 3, right = (rank + 1) % 3;
  const std::string own = std::to_string(rank), other = own + "'";
  const int first = ct_ring_start(job, own.data(), own.size());
  const int second = ct_ring_start(job, other.data(), other.size());
  EXPECT(first >= 0 && second >= 0 && gathered(job, first, left) == kInvalid);
  EXPECT(ct_wait(job, second) == CT_OK && ct_test(job, first) == 1);
  EXPECT(gathered(job, first, left) == std::to_string(left));
  EXPECT(gathered(job, second, right) == std::to_string(right) + "'");
  EXPECT(gathered(job, first, rank) == kInvalid);
  EXPECT(ct_release(job, first) == CT_OK && gathered(job, first, left) == kInvalid);
  return ct_finalize(job, 0) == CT_OK ? 0 : 9;
}

}  // namespace

TEST_CASE("what each has put all get behind the fence", "[client]") {
  test::Launcher launcher{3};
  launcher.start(exchange_twice);
  CHECK(launcher.serve() == std::vector<int>{0, 0, 0});
}

TEST_CASE("gathers of all and of a group are under way together", "[client]") {
  test::Launcher launcher{3};
  launcher.start(gather_many);
  CHECK(launcher.serve() == std::vector<int>{0, 0, 0});
}

TEST_CASE("in a ring each gets what its neighbours have given", "[client]") {
  test::Launcher launcher{3};
  launcher.start(pass_on);
  CHECK(launcher.serve() == std::vector<int>{0, 0, 0});
}

TEST_CASE("alone, a process gets what it has put", "[client]") {
  clear_environment();
  ct_job* job = nullptr;
  REQUIRE(ct_init(&job) == CT_OK);
  CHECK(put(job, "key", "value") == CT_OK);
  CHECK(value_of(job, "key") == kNoKey);
  CHECK(ct_fence(job) == CT_OK);
  CHECK(value_of(job, "key") == "value");
  CHECK((put(job, "key", "") == CT_OK && put(job, "2", "two") == CT_OK));
  const int fence = ct_fence_start(job, nullptr, 0);
  CHECK(value_of(job, "key") == "value");
  CHECK(ct_test(job, fence) == 1);
  CHECK((value_of(job, "key").empty() && value_of(job, "2") == "two"));
  const int self = 0;
  const int gather = ct_allgather_start(job, &self, 1, "own", 3);
  CHECK((ct_wait(job, gather) == CT_OK && gathered(job, gather, 0) == "own"));
  const int ring = ct_ring_start(job, "own", 3);
  CHECK((ct_wait(job, ring) == CT_OK && gathered(job, ring, 0) == "own"));
  CHECK(ct_finalize(job, 0) == CT_OK);
}

TEST_CASE("what is out of its range is not given", "[client]") {
  clear_environment();
  ct_job* job = nullptr;
  REQUIRE(ct_init(&job) == CT_OK);
  CHECK(put(job, "", "value") == CT_EINVAL);
  CHECK(put(job, std::string(CT_MAX_KEY + 1, 'k'), "value") == CT_EINVAL);
  CHECK(put(job, std::string(CT_MAX_KEY, 'k'), "value") == CT_OK);
  CHECK(put(job, "much", std::string(CT_MAX_GIVEN, 'v')) == CT_EINVAL);  // with its key
  CHECK(ct_put(job, "key", nullptr, 1) == CT_EINVAL);
  CHECK(ct_get(job, "key", nullptr, nullptr) == CT_EINVAL);
  const int twice[] = {0, 0}, another = 1, negative = -1;
  CHECK(ct_fence_start(job, twice, 2) == CT_EINVAL);
  CHECK(ct_fence_start(job, &another, 1) == CT_EINVAL);
  CHECK(ct_fence_start(job, &negative, 1) == CT_EINVAL);
  CHECK(ct_fence_start(job, nullptr, 1) == CT_EINVAL);
  CHECK(ct_fence_start(nullptr, nullptr, 0) == CT_EINVAL);
  CHECK(ct_allgather_start(job, nullptr, 0, std::string(CT_MAX_GIVEN + 1, 'x').data(), CT_MAX_GIVEN + 1) ==
        CT_EINVAL);
  CHECK(ct_ring_start(job, std::string(CT_MAX_RING + 1, 'x').data(), CT_MAX_RING + 1) == CT_EINVAL);
  CHECK(ct_ring_start(job, nullptr, 1) == CT_EINVAL);
  CHECK(ct_finalize(job, 0) == CT_OK);
}

namespace {

/// Enters a fence that nobody ends, and what it may do there.
int stay_inside() {
  ct_job* job = nullptr;
  EXPECT(ct_init(&job) == CT_OK && ct_set_timeout(job, 0) == CT_OK);
  EXPECT(put(job, "key", "value") == CT_OK);
  EXPECT(ct_fence(job) == CT_ETIMEDOUT && ct_fence(job) == CT_ETIMEDOUT);
  std::vector<int> requests;
  int request = 0;
  while ((request = ct_fence_start(job, nullptr, 0)) >= 0) requests.push_back(request);
  EXPECT(request == CT_EORDER && requests.size() == CT_MAX_FENCES - 1);
  EXPECT(ct_test(job, requests[0]) == 0 && ct_release(job, requests[0]) == CT_EORDER);
  EXPECT(ct_finalize(job, 0) == CT_EORDER);
  ct_set_timeout(job, CT_FOREVER);
  EXPECT(ct_fence(job) == CT_EFAILED);
  EXPECT(value_of(job, "key") == kNoKey);
  EXPECT(ct_wait(job, requests[0]) == CT_EPROTO);
  return 7;
}

}  // namespace

TEST_CASE("a process that is in fences cannot finalize, and hears how they end", "[client]") {
  const Listener listener;
  test::Child child{listener, 0, stay_inside};
  Ear ear{welcome(listener)};
  const auto first = ear.hears<native::FenceEnter>();
  CHECK((first.given == wire::pair_of("key", "value") && first.processes.empty()));
  for (int i = 1; i < CT_MAX_FENCES; ++i) CHECK(ear.hears<native::FenceEnter>().given.empty());
  ::poll(nullptr, 0, 50);
  send_to(ear.fd, native::FenceOver{first.id, "process 1 is lost"});
  send_to(ear.fd, native::FenceOver{first.id, {}});  // once more: nonsense
  CHECK(child.wait() == 7);
  ::close(ear.fd);
}

namespace {
/// What a process in a fence says to values that come with this descriptor; it has none yet.
int told_of(int file, std::uint32_t below = 0) {
  const Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      return -ct_fence(job);
                    }};
  Ear ear{welcome(listener)};
  ear.hears<native::FenceEnter>();
  const std::string frame = native::to_frame(native::Values{below});
  CHECK(io::send_with(ear.fd, frame.data(), frame.size(), file, MSG_NOSIGNAL) > 0);
  const int status = child.wait();
  ::close(ear.fd);
  return status;
}
}  // namespace

TEST_CASE("contents that do not lie on what a process has are nonsense", "[client]") {
  const io::UniqueFd file = io::sealed_file("values", wire::shared_pairs("").value());
  CHECK(told_of(file.get(), 1) == -CT_EPROTO);
}

TEST_CASE("what could be changed behind a process's back, or is no content, is nonsense", "[client]") {
  const std::string content = wire::shared_pairs("").value();
  const io::UniqueFd open{::memfd_create("open", MFD_CLOEXEC)};
  REQUIRE(::write(open.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  CHECK(told_of(open.get()) == -CT_EPROTO);
  CHECK(told_of(io::sealed_file("garbage", std::string(100, '\xFF')).get()) == -CT_EPROTO);
  CHECK(told_of(io::sealed_file("short", content.substr(0, content.size() - 1)).get()) == -CT_EPROTO);
  CHECK(told_of(io::sealed_file("empty", "").get()) == -CT_EPROTO);
  CHECK(told_of(bound_socket(wire::PortKind::tcp).get()) == -CT_EPROTO);
}

TEST_CASE("an ask is over by an answer, not as a fence is; the end gives up those that are open",
          "[client]") {
  const Listener listener;
  const bool is_fence = GENERATE(true, false);
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK && ct_set_timeout(job, 200) == CT_OK);
                      const void* value = nullptr;
                      std::size_t size = 0;
                      const int asked = ct_ask(job, 1, "name", &value, &size);
                      EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
                      return asked == CT_ETIMEDOUT ? -ct_finalize(job, 0) : -asked;
                    }};
  Ear ear{welcome(listener)};
  const auto asked = ear.hears<native::Ask>();
  if (is_fence) {
    send_to(ear.fd, native::FenceOver{asked.id, {}});
    CHECK(child.wait() == -CT_EPROTO);
    ::close(ear.fd);
    return;
  }
  CHECK(let_go(ear, child) == 0);
}

}  // namespace charmtree::client_lib_exchange_test
