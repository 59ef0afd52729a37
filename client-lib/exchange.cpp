// SPDX-License-Identifier: Apache-2.0
#include "client-lib/exchange.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "client-lib/charmtree.h"

namespace charmtree::client {

namespace native = wire::native;

static_assert(CT_MAX_KEY == wire::kMostKeyBytes);
static_assert(CT_MAX_GIVEN < wire::kMostGiven);
static_assert(CT_MAX_RING == wire::kMostRingValue);
static_assert(CT_MAX_FENCES <= wire::kMostFencesAtOnce);

bool Exchange::put(std::string_view key, std::string_view value) {
  const std::string pair = wire::pair_of(key, value);
  if (put_.size() + pair.size() > CT_MAX_GIVEN) return false;
  put_ += pair;
  return true;
}

std::optional<std::string_view> Exchange::get(std::string_view key) const {
  for (auto content = pile_.rbegin(); content != pile_.rend(); ++content) {
    if (const auto value = content->values->find(key)) return value;
  }
  return {};
}

std::size_t Exchange::open(Kind kind) const {
  const auto found = std::count_if(requests_.begin(), requests_.end(), [&](const auto& each) {
    return each.second.kind == kind && each.second.state == State::open;
  });
  return static_cast<std::size_t>(found);
}

std::size_t Exchange::under_way() const {
  std::size_t bytes = 0;
  for (const auto& [number, request] : requests_) bytes += request.state == State::open ? request.given : 0;
  return bytes;
}

int Exchange::begin(std::vector<wire::ProcessSet::Range> processes, Gives gives, std::string_view value,
                    native::FenceEnter& enter) {
  const bool is_put = gives == Gives::pairs;
  const std::size_t size = is_put ? put_.size() : value.size();
  constexpr std::size_t kMostUnderWay = 4 * std::size_t{CT_MAX_GIVEN};
  if (open(Kind::fence) >= CT_MAX_FENCES || requests_.size() >= CT_MAX_REQUESTS ||
      under_way() + size > kMostUnderWay)
    return -1;
  requests_[next_number()] = Request{Kind::fence, State::open, gives, size};
  enter = {static_cast<std::uint32_t>(last_), gives, std::move(processes),
           is_put ? std::exchange(put_, {}) : std::string{value}};
  return last_;
}

int Exchange::next_number() {
  do {
    last_ = last_ == INT_MAX ? 0 : last_ + 1;
  } while (requests_.contains(last_));
  return last_;
}

int Exchange::begin_ask(std::uint32_t process) {
  if (open(Kind::ask) >= CT_MAX_ASKS || requests_.size() >= CT_MAX_REQUESTS) return -1;
  requests_[next_number()] = Request{Kind::ask, State::open, {}, 0, process};
  return last_;
}

int Exchange::reserve() {
  if (requests_.size() >= CT_MAX_REQUESTS) return -1;
  requests_[next_number()] = {};
  return last_;
}

void Exchange::settle(int request) {
  requests_.at(request).state = State::failed;
}

void Exchange::settle(int request, Mapping values, std::size_t each) {
  Request& settled = requests_.at(request);
  settled.state = State::over;
  settled.content = {std::move(values), {}, {}, each};
}

void Exchange::settle(int request, std::string values, std::size_t each) {
  Request& settled = requests_.at(request);
  settled.state = State::over;
  settled.content = {{}, std::make_shared<const std::string>(std::move(values)), {}, each};
}

void Exchange::abandon(int request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  found->second.is_abandoned = true;
  if (found->second.state != State::open) requests_.erase(found);
}

void Exchange::take_back(native::FenceEnter enter) {
  requests_.erase(static_cast<int>(enter.id));
  if (enter.gives == Gives::pairs) put_ = std::move(enter.given);
}

bool Exchange::any_to_wait_for() const {
  return std::any_of(requests_.begin(), requests_.end(), [](const auto& each) {
    return each.second.state == State::open && each.second.kind != Kind::ask;
  });
}

Exchange::State Exchange::state(int request) const {
  const auto found = requests_.find(request);
  return found == requests_.end() ? State::none : found->second.state;
}

std::optional<std::string_view> Exchange::value_of(int request, std::uint32_t process) const {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return {};
  const Content& content = found->second.content;
  if (content.values) return content.values->find(wire::key_of(process));
  if (content.each == 0 || process >= content.bytes().size() / content.each) return {};
  return content.bytes().substr(process * content.each, content.each);
}

std::optional<Exchange::Content> Exchange::content_of(int fd) {
  Content content{Mapping::of_sealed(fd), {}, {}, 0};
  content.values = wire::SharedValues::in(content.mapping.bytes());
  if (!content.values) return {};
  return content;
}

Exchange::Content Exchange::own_content(const std::string& pairs) {
  auto own = std::make_shared<const std::string>(wire::shared_pairs(pairs).value());
  const auto values = wire::SharedValues::in(*own);
  return {{}, std::move(own), values, 0};
}

void Exchange::pass(const native::FenceEnter& enter) {
  Request& request = requests_[static_cast<int>(enter.id)];
  request.state = State::over;
  if (enter.gives != Gives::pairs)
    request.content = own_content(wire::pair_of(wire::key_of(0), enter.given));
  else if (!enter.given.empty()) {
    passed_ = wire::latest_pairs(passed_ + enter.given);
    laid_.clear();
    laid_.push_back({0, own_content(passed_)});
  }
}

Exchange::Requests::iterator Exchange::find_open(std::uint32_t id, Kind kind) {
  const auto found = requests_.find(static_cast<int>(id));
  const bool is_it =
      found != requests_.end() && found->second.state == State::open && found->second.kind == kind;
  return is_it ? found : requests_.end();
}

void Exchange::end(Requests::iterator request, State state) {
  request->second.state = state;
  if (request->second.is_abandoned) requests_.erase(request);
}

bool Exchange::heard(const native::Values& values, int fd) {
  auto content = content_of(fd);
  if (!content || values.below > (laid_.empty() ? pile_.size() : laid_.back().below + 1)) return false;
  laid_.push_back({values.below, std::move(*content)});
  return true;
}

bool Exchange::comes_with_values(const native::FenceOver& over) const {
  const auto found = requests_.find(static_cast<int>(over.id));
  return over.failure.empty() && found != requests_.end() && found->second.kind == Kind::fence &&
         found->second.gives == Gives::value;
}

bool Exchange::heard(const native::FenceOver& over, int fd) {
  const auto found = find_open(over.id, Kind::fence);
  if (found == requests_.end() || (found->second.gives == Gives::ring && over.failure.empty())) return false;
  if (comes_with_values(over)) {
    auto content = content_of(fd);
    if (!content) return false;
    found->second.content = std::move(*content);
  }
  end(found, over.failure.empty() ? State::over : State::failed);
  return true;
}

bool Exchange::heard(const native::RingOver& over, const native::Welcome& self) {
  const auto found = find_open(over.id, Kind::fence);
  if (found == requests_.end() || found->second.gives != Gives::ring) return false;
  const std::uint32_t left = (self.process + self.total - 1) % self.total;
  const std::uint32_t right = (self.process + 1) % self.total;
  found->second.content = own_content(wire::pair_of(wire::key_of(left), over.left) +
                                      wire::pair_of(wire::key_of(right), over.right));
  end(found, State::over);
  return true;
}

bool Exchange::heard(const native::Told& told) {
  const auto found = find_open(told.id, Kind::ask);
  if (found == requests_.end()) return false;
  if (told.failure.empty())
    found->second.content = own_content(wire::pair_of(wire::key_of(found->second.asked), told.value));
  end(found, told.failure.empty() ? State::over : State::failed);
  return true;
}

void Exchange::take_note() {
  for (Laid& laid : std::exchange(laid_, {})) {
    pile_.erase(pile_.begin() + static_cast<std::ptrdiff_t>(laid.below), pile_.end());
    pile_.push_back(std::move(laid.content));
  }
}

}  // namespace charmtree::client
