// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_window.hpp"

#include <catch2/catch.hpp>

namespace charmtree::login_window_test {

using namespace charmtree::proto;

TEST_CASE("the window grows by one for each login that keeps its latency", "[window]") {
  LoginWindow window{{.first = 64}};
  for (int i = 0; i < 36; ++i) window.succeeded(250ms);
  CHECK(window.size() == 100);
  CHECK(window.admits(99));
  CHECK_FALSE(window.admits(100));
  for (int i = 0; i < 100; ++i) window.succeeded(1s);  // they queue somewhere: more would not help
  CHECK(window.size() < 104);
}

TEST_CASE("the window is halved once for all that began before, then grows by one a round", "[window]") {
  LoginWindow window{{.first = 64}};
  const Instant begun{1s};
  window.failed(Errc::busy, begun, begun + 10ms);
  CHECK(window.size() == 32);
  for (int i = 0; i < 30; ++i) window.failed(Errc::busy, begun, begun + 20ms);
  CHECK(window.size() == 32);
  for (int i = 0; i < 33; ++i) window.succeeded(250ms);
  CHECK(window.size() == 33);
  for (int i = 1; i < 20; ++i) window.failed(Errc::dropped, begun + 1s * i, begun + 1s * i);
  CHECK(window.size() == LoginWindow::kLeast);
}

TEST_CASE("hosts without sshd do not halve the window, unless most are", "[window]") {
  LoginWindow window{{.first = 64}};
  for (int i = 0; i < 100; ++i) {
    window.succeeded(250ms);
    window.failed(Errc::refused, Instant{1s * i}, Instant{1s * i});
    window.failed(Errc::timed_out, Instant{1s * i}, Instant{1s * i});
  }
  CHECK(window.size() > 64);
  for (int i = 100; i < 120; ++i) window.failed(Errc::refused, Instant{1s * i}, Instant{1s * i});
  CHECK(window.size() < 64);
}

TEST_CASE("++batch fixes the window and ++maxssh limits it", "[window]") {
  LoginWindow fixed{{.first = 64, .fixed = 9}};
  LoginWindow limited{{.first = 64, .most = 3}};
  CHECK(limited.size() == 3);
  for (int i = 0; i < 50; ++i) {
    fixed.succeeded(1ms);
    limited.succeeded(1ms);
  }
  CHECK(fixed.size() == 9);
  CHECK(limited.size() == 3);
  fixed.failed(Errc::busy, Instant{1s}, Instant{1s});
  limited.failed(Errc::busy, Instant{1s}, Instant{1s});
  CHECK(fixed.size() == 9);
  CHECK(limited.size() == 3);
}

TEST_CASE("patience is four times what nine of ten logins took, at least 2 s", "[window]") {
  Patience patience{Duration{0}};
  CHECK(patience.get() == 2s);
  for (int i = 1; i <= 9; ++i) patience.succeeded(1s);
  patience.succeeded(100s);
  CHECK(patience.get() == 4s);
  Patience fixed{5s};
  fixed.succeeded(100s);
  CHECK(fixed.get() == 5s);
}

}  // namespace charmtree::login_window_test
