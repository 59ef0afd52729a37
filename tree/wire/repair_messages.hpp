// SPDX-License-Identifier: Apache-2.0
// Messages between launchers of a job whose tree is repaired when one of them is lost (DESIGN D21).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/message.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::wire {

// ---- down: parent to child

/// Of a job that repairs itself: the root has the output of these processes up to these numbers.
struct OutputTaken {
  CT_MESSAGE(down, 29);
  struct Taken {
    std::uint32_t process = 0;
    std::uint64_t number = 0;
    friend bool operator==(const Taken&, const Taken&) = default;
  };
  std::vector<Taken> processes;
};
/// Send once more what the root is not known to have: a launcher above us may have died with it.
struct Resend {
  CT_MESSAGE(down, 30);
  bool by_new_root = false;  // which has no input for anybody
};

// Adoption (DESIGN D21): who has lost a child logs in again, to its host or to those of whom it had started.
// The new launcher there only connects the two: to it goes Adopt, through it the rest.

/// Instead of Welcome: hand on whatever comes between us and the launcher of `host` in job `id`, which waits
/// at this socket. If nobody does, do as with Sweep.
struct Adopt {
  CT_MESSAGE(down, 31);
  std::string id;
  std::uint32_t host = 0;
  std::string socket;
};
/// Before all else, to who waits: the connection that carries the link, as in SSH_CONNECTION.
struct Relayed {
  CT_MESSAGE(down, 32);
  std::string connection;
};
/// Answer to Waiting: I am your parent from now on. `proof` is a hash of both nonces, by the job's secret.
/// The rest is what may have been lost on its way: all of the kind so far.
struct Claim {
  CT_MESSAGE(down, 33);
  std::string nonce, proof;
  std::uint32_t level = 0;  // of the parent
  std::uint32_t epoch = 0;
  std::vector<ProcessSet::Range> lost;
  std::array<std::uint32_t, 3> releases{};  // by BarrierKind
  bool suspended = false;
  bool by_new_root = false;  // as in Resend
};

// ---- up: child to parent

/// To a launcher that may adopt us.
struct Waiting {
  CT_MESSAGE(up, 71);
  std::uint32_t host = 0;
  std::string nonce;
};
/// Answer to Claim: you are. `proof` as there, but not the same.
struct Claimed {
  CT_MESSAGE(up, 72);
  std::string proof;
  // For a root that has taken over: the same as in a Claim, of this launcher.
  std::uint32_t epoch = 0;
  std::vector<ProcessSet::Range> lost;
  std::array<std::uint32_t, 3> releases{};
  bool has_table = false;
};
/// To a parent, or one who would be: I have been adopted by another, nearer to the root, so you have been
/// given up. `proof` as in Claimed, where there was a Claim.
struct Taken {
  CT_MESSAGE(up, 73);
  std::string proof;
};
/// That of this host, with all below it, has been adopted: what was on its way to or from these may be lost.
struct Reached {
  CT_MESSAGE(to_root, 74);
  std::uint32_t host = 0;
  std::vector<ProcessSet::Range> processes;
};

}  // namespace charmtree::wire
