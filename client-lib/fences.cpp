// SPDX-License-Identifier: Apache-2.0
#include "client-lib/fences.hpp"

#include <algorithm>
#include <utility>

#include "client-lib/job.hpp"

namespace charmtree::client {

namespace native = wire::native;

int Fences::put(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > CT_MAX_KEY) return CT_EINVAL;
  if (const int error = job_.usable(); error != CT_OK) return error;
  return job_.exchange().put(key, value) ? CT_OK : CT_EINVAL;
}

int Fences::get(std::string_view key, std::string_view& value) {
  const auto found = job_.exchange().get(key);
  if (!found) return CT_ENOKEY;
  value = *found;
  return CT_OK;
}

/// As ranges; nothing: they are no group with this process in it.
std::optional<std::vector<wire::ProcessSet::Range>> Fences::group_of(const std::vector<int>& ranks) const {
  std::vector<wire::ProcessSet::Range> group;
  bool has_us = ranks.empty();
  for (const int rank : ranks) {
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= job_.self().total) return {};
    const auto process = static_cast<std::uint32_t>(rank);
    has_us = has_us || process == job_.self().process;
    group.push_back({process, process});
  }
  std::sort(group.begin(), group.end());
  if (std::adjacent_find(group.begin(), group.end()) != group.end()) return {};
  wire::fold(group);
  if (!has_us || group.size() > wire::kMostFenceRanges) return {};
  return group;
}

int Fences::begin(const std::vector<int>& ranks, Gives gives, std::string_view value) {
  auto group = group_of(ranks);
  if (!group || value.size() > (gives == Gives::ring ? CT_MAX_RING : CT_MAX_GIVEN)) return CT_EINVAL;
  if (const int error = job_.usable(); error != CT_OK) return error;
  return begin(std::move(*group), gives, value, Deadline{job_.timeout_ms()});
}

int Fences::begin(std::vector<wire::ProcessSet::Range> processes, Gives gives, std::string_view value,
                  const Deadline& deadline) {
  if (const int error = job_.ensure_registered(deadline); error != CT_OK) return error;
  native::FenceEnter enter;
  const int request = job_.exchange().begin(std::move(processes), gives, value, enter);
  if (request < 0) return CT_EORDER;
  if (job_.channel() == nullptr) {
    job_.exchange().pass(enter);
  } else if (const int error = job_.send(enter, deadline); error != CT_OK) {
    job_.exchange().take_back(std::move(enter));
    return error;
  }
  return request;
}

int Fences::test(int request, const Progress& progress) {
  using State = Exchange::State;
  if (!is_known(request)) return CT_EINVAL;
  if (job_.exchange().state(request) == State::open) {
    if (const int error = job_.usable(); error != CT_OK) return error;
    int error = job_.hear_all();
    if (error == CT_OK) error = progress();
    if (error != CT_OK && job_.exchange().state(request) == State::open) return error;
  }
  job_.exchange().take_note();
  const State state = job_.exchange().state(request);
  return state == State::failed ? static_cast<int>(CT_EFAILED) : state == State::over;
}

bool Fences::is_known(int request) const {
  return request != fence_ && job_.exchange().state(request) != Exchange::State::none;
}

int Fences::wait(int request, const Progress& progress) {
  return is_known(request) ? wait_for(request, progress) : static_cast<int>(CT_EINVAL);
}

int Fences::wait_for(int request, const Progress& progress) {
  using State = Exchange::State;
  if (job_.exchange().state(request) == State::open) {
    if (const int error = job_.usable(); error != CT_OK) return error;
    if (job_.telling()) return CT_EORDER;
    int wrong = CT_OK;
    const auto is_over = [&] {
      wrong = progress();
      return wrong != CT_OK || job_.exchange().state(request) != State::open;
    };
    if (const int error = job_.wait_until(is_over, Deadline{job_.timeout_ms()}); error != CT_OK) return error;
    if (wrong != CT_OK) return wrong;
  }
  job_.exchange().take_note();
  return job_.exchange().state(request) == State::failed ? CT_EFAILED : CT_OK;
}

int Fences::fence() {
  if (job_.telling()) return CT_EORDER;
  if (fence_ < 0) {
    const int request = begin({}, Gives::pairs);
    if (request < 0) return request;
    fence_ = request;
  }
  const int error = wait_for(fence_, [] { return CT_OK; });
  if (error != CT_OK && error != CT_EFAILED) return error;
  job_.exchange().release(std::exchange(fence_, -1));
  return error;
}

int Fences::gathered(int request, std::uint32_t rank, std::string_view& value) {
  if (job_.exchange().state(request) != Exchange::State::over) return CT_EINVAL;
  const auto found = job_.exchange().value_of(request, rank);
  if (!found) return CT_EINVAL;
  value = *found;
  return CT_OK;
}

int Fences::release(int request) {
  if (!is_known(request)) return CT_EINVAL;
  if (job_.exchange().state(request) == Exchange::State::open) return CT_EORDER;
  job_.exchange().release(request);
  return CT_OK;
}

}  // namespace charmtree::client
