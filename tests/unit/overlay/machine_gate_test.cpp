// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/machine_gate.hpp"

#include <catch2/catch.hpp>

namespace charmtree::machine_gate_test {

using namespace charmtree::proto;

namespace {
constexpr Instant kNow{-5s};
}

TEST_CASE("a machine gets four logins at a time", "[gate]") {
  MachineGate gate;
  for (int i = 0; i < 4; ++i) {
    CHECK(gate.admits(7, kNow));
    gate.begun(7);
  }
  CHECK_FALSE(gate.admits(7, kNow));
  CHECK(gate.admits(8, kNow));
  gate.failed(7, Errc::refused, kNow);
  CHECK(gate.admits(7, kNow));
}

TEST_CASE("after a drop one at a time, until one succeeds", "[gate]") {
  MachineGate gate;
  for (int i = 0; i < 4; ++i) gate.begun(7);
  gate.failed(7, Errc::busy, kNow);
  CHECK_FALSE(gate.admits(7, kNow));
  gate.failed(7, Errc::busy, kNow);
  gate.failed(7, Errc::busy, kNow);
  gate.failed(7, Errc::busy, kNow);
  CHECK(gate.admits(7, kNow));
  gate.begun(7);
  CHECK_FALSE(gate.admits(7, kNow));
  gate.succeeded(7);
  for (int i = 0; i < 4; ++i) {
    CHECK(gate.admits(7, kNow));
    gate.begun(7);
  }
}

TEST_CASE("a login that is cancelled makes room for another", "[gate]") {
  MachineGate gate;
  for (int i = 0; i < 4; ++i) gate.begun(7);
  gate.cancelled(7);
  CHECK(gate.admits(7, kNow));
  gate.cancelled(8);
}

TEST_CASE("a penalty is waited out", "[gate]") {
  MachineGate gate;
  gate.begun(7);
  gate.failed(7, Errc::penalised, kNow);
  CHECK_FALSE(gate.admits(7, kNow + 14s));
  CHECK(gate.opens(7) == kNow + 15s);
  CHECK(gate.admits(7, kNow + 15s));
}

TEST_CASE("what is not known to share a machine is not held up", "[gate]") {
  MachineGate gate;
  for (int i = 0; i < 100; ++i) gate.begun(0);
  CHECK(gate.admits(0, kNow));
  gate.failed(0, Errc::penalised, kNow);
  CHECK(gate.admits(0, kNow));
}

}  // namespace charmtree::machine_gate_test
