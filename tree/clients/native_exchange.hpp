// SPDX-License-Identifier: Apache-2.0
// The fences of native clients on this host, and what was given for them. What the host's processes share of
// that is a pile of contents (tree/wire/shared_values.hpp), the newest on top. Each fence lays one on it,
// together with those below that are not larger by far: so there are few, and each pair is laid anew a few
// times. A process gets those that it has not, in front of the end of a fence that it is in: it may see what
// was given for others, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tree/clients/fence_entries.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeExchange {
public:
  /// What a process may have given for all fences that it is in.
  static constexpr std::size_t kMostGivenAtOnce = 4 * wire::kMostGiven;

  /// What a fence brings at most. Contents that are larger together lie one on the other.
  static constexpr std::size_t kMostTogether = 1U << 30;

  /// `local`: of the job; must outlive the object.
  explicit NativeExchange(const LocalProcesses& local) : local_(local) {}

  /// Empty, or what is wrong with it.
  std::string enter(ClientId client, std::uint32_t process, wire::native::FenceEnter enter,
                    ClientOutputs& out);
  void fenced(const FenceDone& fence, ClientOutputs& out);
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out);
  /// It is in one that is not over.
  bool is_inside(std::uint32_t process) const { return fences_.entered(process) > 0; }
  void forget(ClientId client) { piles_.erase(client); }

private:
  struct Entry {
    std::uint32_t process = 0;
    ClientId client = 0;
    std::uint32_t id = 0;
    std::string given = {};
  };
  using Fences = FenceEntries<Entry>;
  struct Laid {
    std::uint64_t number = 0;
    wire::Blob pairs;
  };
  auto is_of_host() const {
    return [this](const wire::Fence& fence) {
      return local_.count_among(fence.processes) == wire::size_of(fence.processes);
    };
  }
  void act(const std::vector<Fences::Step>& steps, const FenceDone* fence, ClientOutputs& out);
  static FenceEntered up(const Fences::Step& step);
  void over(const Fences::Step& step, const wire::Blob& given, ClientOutputs& out);
  void lay(const wire::Blob& given);
  void hand_out(ClientId client, ClientOutputs& out);

  const LocalProcesses& local_;
  Fences fences_;
  std::map<std::uint32_t, std::size_t> given_;  // by process, for all that it is in
  wire::ProcessSet lost_;
  std::vector<Laid> pile_;
  std::uint64_t last_ = 0;
  std::map<ClientId, std::vector<std::uint64_t>> piles_;  // the numbers of what they have
};

}  // namespace charmtree::proto
