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
  std::size_t& given = given_[process];
  given += entry.given.size();
  if (given > kMostGivenAtOnce) return "gave too much for fences that are not over";
  std::string wrong = fences_.enter(fence, std::move(entry));
  if (wrong.empty()) settle(nullptr, out);
  return wrong;
}

void NativeExchange::fenced(const wire::FenceDown& fence, ClientOutputs& out) {
  if (fence.fence.service != kNativeService || !fences_.over(fence, local_)) return;
  settle(&fence, out);
}

void NativeExchange::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  lost_.add_all(processes);
  settle(nullptr, out);
}

/// `fence`: the one that is over, if that is why.
void NativeExchange::settle(const wire::FenceDown* fence, ClientOutputs& out) {
  const auto is_of_host = [](const wire::Fence&) { return false; };
  for (const Fences::Step& step : fences_.settle(local_, lost_, is_of_host)) {
    const bool is_it = fence != nullptr && step.fence == fence->fence;
    if (step.is_over)
      over(step, is_it ? fence->given : nullptr, out);
    else
      out.push_back(up(step));
  }
}

wire::FenceUp NativeExchange::up(const Fences::Step& step) {
  wire::FenceUp up;
  up.fence = step.fence;
  up.processes = static_cast<std::uint32_t>(step.entries.size());
  up.requests = step.entries.size();
  for (const Entry& entry : step.entries) up.given += entry.given;
  return up;
}

void NativeExchange::over(const Fences::Step& step, const wire::Blob& given, ClientOutputs& out) {
  const bool is_good = step.failure.empty() && given;
  const bool of_values = gives_values(step.fence);
  if (is_good && !of_values) lay(given);
  for (const Entry& entry : step.entries) {
    given_[entry.process] -= std::min(given_[entry.process], entry.given.size());
    if (is_good && !of_values) hand_out(entry.client, out);
    ToClient end{entry.client, native::to_frame(native::FenceOver{entry.id, step.failure})};
    if (is_good && of_values) end.shared = {given, SharedContent::Form::values};
    out.push_back(std::move(end));
  }
}

/// What is below and not much larger becomes a part of it.
void NativeExchange::lay(const wire::Blob& given) {
  if (given->empty()) return;
  wire::Blob top = given;
  while (!pile_.empty() && pile_.back()->size() <= 2 * top->size()) {
    top = std::make_shared<const std::string>(*pile_.back() + *top);
    pile_.pop_back();
  }
  pile_.push_back(std::move(top));
}

/// From the first on that is another.
void NativeExchange::hand_out(ClientId client, ClientOutputs& out) {
  std::vector<wire::Blob>& has = piles_[client];
  const auto [other, _] = std::mismatch(pile_.begin(), pile_.end(), has.begin(), has.end());
  for (auto each = other; each != pile_.end(); ++each) {
    const auto below = static_cast<std::uint32_t>(each - pile_.begin());
    out.push_back(
        ToClient{client, native::to_frame(native::Values{below}), {}, {*each, SharedContent::Form::values}});
  }
  has = pile_;
}

}  // namespace charmtree::proto
