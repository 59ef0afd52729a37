// SPDX-License-Identifier: Apache-2.0
// Finished fences that may have to be answered again after a repair: the last one of each group and name. A
// program may use any number of names, so fences are kept in shares, by where their processes are, and a
// share keeps its latest fences only. That suffices: its processes wait in no more at a time
// (wire::kMostFencesAtOnce each), and a link delivers in order, so a process that has not left an older fence
// has not left the later ones either. If one process makes all fences of a share while another one is cut
// off, an older fence may be missing; it is then entered again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "tree/wire/fence.hpp"

namespace charmtree::kvs {

/// Orders fences so that those of one group and name follow each other, by their number.
struct ByGroup {
  bool operator()(const wire::Fence& a, const wire::Fence& b) const {
    return std::tie(a.protocol, a.processes, a.name, a.number) <
           std::tie(b.protocol, b.processes, b.name, b.number);
  }
};

/// What one share may keep.
struct KeptLimit {
  std::size_t fences = 0, bytes = 0;
};

template <class M>
class KeptFences {
public:
  /// Keeps `one`, whose size is `bytes`, in the place of the last one of its group and name, and drops the
  /// oldest ones of its share that are beyond `limit`. The latest is always kept.
  void keep(const wire::Fence& fence, M one, std::uint64_t share, std::size_t bytes, KeptLimit limit) {
    drop(fences_.find(fence.first()));
    const std::uint64_t place = ++last_;
    Share& of = shares_[share];
    fences_.emplace(fence.first(), Kept{std::move(one), fence.number, share, place, bytes});
    of.in_order.emplace(place, fence.first());
    of.bytes += bytes;
    while (of.in_order.size() > 1 && (of.in_order.size() > limit.fences || of.bytes > limit.bytes))
      drop(fences_.find(of.in_order.begin()->second));
  }
  /// Returns the one that is kept of this group and name, if it is that fence or a later one; else null.
  const M* find(const wire::Fence& fence) const {
    const auto found = fences_.find(fence.first());
    return found == fences_.end() || found->second.number < fence.number ? nullptr : &found->second.one;
  }
  template <class F>
  void for_each(F&& act) const {
    for (const auto& [fence, kept] : fences_) act(kept.one);
  }
  std::size_t size() const { return fences_.size(); }

private:
  struct Kept {
    M one;
    std::uint32_t number;
    std::uint64_t share, place;
    std::size_t bytes;
  };
  struct Share {
    std::map<std::uint64_t, wire::Fence> in_order = {};  // by place: the oldest first
    std::size_t bytes = 0;
  };
  using Fences = std::map<wire::Fence, Kept, ByGroup>;  // by the first one of each group and name

  void drop(typename Fences::iterator one) {
    if (one == fences_.end()) return;
    Share& of = shares_[one->second.share];
    of.in_order.erase(one->second.place);
    of.bytes -= one->second.bytes;
    fences_.erase(one);
  }

  Fences fences_;
  std::map<std::uint64_t, Share> shares_;
  std::uint64_t last_ = 0;
};

}  // namespace charmtree::kvs
