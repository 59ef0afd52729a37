// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_rings.hpp"

#include <utility>

namespace charmtree::proto {

namespace native = wire::native;

wire::Fence NativeRings::fence(std::uint32_t number) const {
  return {static_cast<std::uint8_t>(ClientKind::native), {{0, local_.total - 1}}, number, "ring"};
}

void NativeRings::enter(ClientId client, std::uint32_t process, native::FenceEnter enter,
                        ClientOutputs& out) {
  clients_.insert(client);
  const std::string wrong =
      entries_.enter(fence(1), Entry{process, client, enter.id, std::move(enter.given)});
  if (!wrong.empty())
    return out.push_back(ToClient{client, native::to_frame(native::FenceOver{enter.id, wrong})});
  settle({}, out);
}

void NativeRings::over(const RingDone& ring, ClientOutputs& out) {
  if (entries_.over({fence(ring.number), {}, {}}, local_)) settle(ring.ends, out);
}

void NativeRings::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  lost_.add_all(processes);
  entries_.over({fence(waiting_), loss_of(fence(1), lost_), {}}, local_);
  settle({}, out);
}

void NativeRings::settle(const std::vector<wire::RingEnds>& ends, ClientOutputs& out) {
  const bool is_of_host = local_.size() == local_.total;
  const auto is_decided_here = [&](const wire::Fence& ring) {
    return is_of_host || !loss_of(ring, lost_).empty();
  };
  for (const Entries::Step& step : entries_.settle(local_, lost_, is_decided_here)) {
    std::vector<wire::RingRun> runs;
    for (const Entry& entry : step.entries)
      runs.push_back({entry.process, entry.process, entry.value, entry.value});
    if (!step.is_over) {
      waiting_ = step.fence.number;
      out.emplace_back(RingEntered{waiting_, wire::joined(runs)});
    } else {
      const bool is_whole = is_of_host && step.failure.empty();
      tell(step, runs, is_whole ? std::vector{wire::closed(wire::joined(runs).front())} : ends, out);
    }
  }
}

void NativeRings::tell(const Entries::Step& step, const std::vector<wire::RingRun>& runs,
                       const std::vector<wire::RingEnds>& ends, ClientOutputs& out) const {
  std::string failure = step.failure;
  const auto within = wire::ends_within(runs, wire::joined(runs), ends);
  if (failure.empty() && !within) failure = "its neighbours are not known";
  for (std::size_t i = 0; i < step.entries.size(); ++i) {
    const auto& [process, client, id, value] = step.entries[i];
    if (!clients_.contains(client)) continue;
    if (failure.empty()) {
      const native::RingOver over{id, (*within)[i].left, (*within)[i].right};
      out.push_back(ToClient{client, native::to_frame(over)});
    } else {
      out.push_back(ToClient{client, native::to_frame(native::FenceOver{id, failure})});
    }
  }
}

}  // namespace charmtree::proto
