// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_exchange.hpp"

#include <algorithm>
#include <utility>

#include "tree/wire/shared_values.hpp"

namespace charmtree::proto {

namespace native = wire::native;

namespace {

constexpr auto kNativeService = static_cast<std::uint8_t>(ClientKind::native);
/// Fences to which values are given have numbers of their own.
constexpr std::string_view kOfValues = "values";

bool gives_values(const wire::Fence& fence) {
  return fence.name == kOfValues;
}

}  // namespace

std::string NativeExchange::enter(ClientId client, std::uint32_t process, native::FenceEnter enter,
                                  ClientOutputs& out) {
  wire::Fence fence{kNativeService, std::move(enter.processes), 1, {}};
  if (enter.gives == native::FenceEnter::Gives::value) fence.name = kOfValues;
  if (fence.processes.empty()) fence.processes = {{0, local_.total - 1}};
  const std::vector<std::uint32_t> here = local_.among(fence.processes);
  if (fence.processes.back().last >= local_.total || !std::binary_search(here.begin(), here.end(), process))
    return "entered a fence that it is not in";
  Entry entry{process, client, enter.id, std::move(enter.given)};
  if (gives_values(fence)) entry.given = wire::pair_of(wire::key_of(process), entry.given);
  const std::size_t size = entry.given.size();
  if ((given_[process] += size) > kMostGivenAtOnce) return "gave too much for fences that are not over";
  piles_.try_emplace(client);
  const std::string wrong = fences_.enter(fence, std::move(entry));
  if (wrong.empty()) {
    act(fences_.settle(fence, local_, lost_, is_of_host()), nullptr, out);
  } else {  // others of this host have made it so
    given_[process] -= size;
    out.push_back(ToClient{client, native::to_frame(native::FenceOver{enter.id, wrong})});
  }
  return {};
}

void NativeExchange::fenced(const FenceDone& fence, ClientOutputs& out) {
  if (fence.fence.protocol != kNativeService || !fences_.over(fence, local_)) return;
  act(fences_.settle(fence.fence, local_, lost_, is_of_host()), &fence, out);
}

void NativeExchange::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  lost_.add_all(processes);
  act(fences_.settle(local_, lost_, is_of_host()), nullptr, out);
}

/// `fence`: the one that is over, if that is why.
void NativeExchange::act(const std::vector<Fences::Step>& steps, const FenceDone* fence, ClientOutputs& out) {
  for (const Fences::Step& step : steps) {
    if (!step.is_over)
      out.push_back(up(step));
    else if (is_of_host()(step.fence))
      over(step, std::make_shared<const std::string>(up(step).given), out);
    else
      over(step, fence != nullptr && step.fence == fence->fence ? fence->given : nullptr, out);
  }
}

FenceEntered NativeExchange::up(const Fences::Step& step) {
  FenceEntered up;
  up.fence = step.fence;
  up.processes = static_cast<std::uint32_t>(step.entries.size());
  up.requests = step.entries.size();
  for (const Entry& entry : step.entries) up.given += entry.given;
  return up;
}

void NativeExchange::over(const Fences::Step& step, const wire::Blob& given, ClientOutputs& out) {
  const bool is_too_much = given && given->size() > kMostTogether;
  const std::string failure = is_too_much ? "all have given more than 1 GiB" : step.failure;
  const bool is_good = failure.empty() && given;
  const bool of_values = gives_values(step.fence);
  if (is_good && !of_values) lay(given);
  for (const Entry& entry : step.entries) {
    given_[entry.process] -= std::min(given_[entry.process], entry.given.size());
    if (!piles_.contains(entry.client)) continue;  // it is gone
    if (is_good && !of_values) hand_out(entry.client, out);
    ToClient end{entry.client, native::to_frame(native::FenceOver{entry.id, failure})};
    if (is_good && of_values) end.shared = {given, SharedContent::Form::values};
    out.push_back(std::move(end));
  }
}

/// What is below and not much larger becomes a part of it.
void NativeExchange::lay(const wire::Blob& given) {
  if (given->empty()) return;
  wire::Blob top = given;
  while (!pile_.empty()) {
    const std::string& below = *pile_.back().pairs;
    if (below.size() > 2 * top->size() || below.size() + top->size() > kMostTogether) break;
    top = std::make_shared<const std::string>(wire::latest_pairs(below + *top));
    pile_.pop_back();
  }
  pile_.push_back({++last_, std::move(top)});
}

/// From the first on that is another.
void NativeExchange::hand_out(ClientId client, ClientOutputs& out) {
  std::vector<std::uint64_t>& has = piles_[client];
  std::size_t same = 0;
  while (same < has.size() && same < pile_.size() && has[same] == pile_[same].number) ++same;
  has.resize(same);
  for (; same < pile_.size(); ++same) {
    const native::Values values{static_cast<std::uint32_t>(same)};
    out.push_back(
        ToClient{client, native::to_frame(values), {}, {pile_[same].pairs, SharedContent::Form::values}});
    has.push_back(pile_[same].number);
  }
}

}  // namespace charmtree::proto
