// SPDX-License-Identifier: Apache-2.0
// How processes that make queue pairs for each other, all at once, come to know the others' numbers. What a
// telling does is what is done at each step by one process; the steps are those of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client-lib/ibverbs/device.hpp"
#include "client-lib/ibverbs/launcher.hpp"
#include "client-lib/ibverbs/numbers.hpp"
#include "client-lib/ibverbs/told.hpp"

namespace charmtree::ibverbs {

/// Of a process, one for each other.
struct Made {
  std::vector<QueuePair> queue_pairs;  // by the place of the other, their numbers rise
  Numbers numbers;                     // of them
  std::uint32_t first_psn = 0;         // psn_to
};

class Telling {
public:
  virtual ~Telling() = default;
  /// Of `most` threads, how many may make queue pairs.
  virtual unsigned threads(unsigned most) const = 0;
  /// Before this process makes its own.
  virtual Outcome begin() = 0;
  /// What this process tells all others: not nothing.
  virtual Outcome describe(const Made& made, std::string& told) = 0;
  /// It has made its own, or has failed.
  virtual Outcome pass_on() = 0;
  /// The others' queue pairs for this process, by place, of what all have told.
  virtual Outcome find(const std::vector<std::string>& told, std::vector<Peer>& peers) = 0;
};

/// The processes of a host make theirs one after the other, in the order of ct_local_rank, so that the
/// numbers of one follow each other: what it tells are ranges (numbers.hpp), and its port if no other of its
/// host has. Each is in an allgather with the next one, which the launcher of their host settles.
class Ranges final : public Telling {
public:
  /// They must outlive the object.
  Ranges(Launcher& launcher, const Device& device) : launcher_(launcher), device_(device) {}
  Ranges(const Ranges&) = delete;
  ~Ranges() override;

  unsigned threads(unsigned most) const override { return most; }
  Outcome begin() override;
  Outcome describe(const Made& made, std::string& told) override;
  Outcome pass_on() override;
  Outcome find(const std::vector<std::string>& told, std::vector<Peer>& peers) override;

private:
  Launcher& launcher_;
  const Device& device_;
  std::vector<KnownPort> known_;  // what those before have told
  int turn_ = -1;                 // the request of handing it on
};

/// Each number by itself, given and asked for: what there is to be compared with.
class OneByOne final : public Telling {
public:
  /// They must outlive the object. `prefix`: of the keys of this time, the same in all processes.
  OneByOne(Launcher& launcher, const Device& device, std::string prefix)
      : launcher_(launcher), device_(device), prefix_(std::move(prefix)) {}

  unsigned threads(unsigned) const override { return 1; }
  Outcome begin() override { return {}; }
  Outcome describe(const Made& made, std::string& told) override;
  Outcome pass_on() override { return {}; }
  Outcome find(const std::vector<std::string>& told, std::vector<Peer>& peers) override;

private:
  std::string key_for(std::uint32_t rank) const { return prefix_ + "for " + std::to_string(rank); }

  Launcher& launcher_;
  const Device& device_;
  std::string prefix_;
};

}  // namespace charmtree::ibverbs
