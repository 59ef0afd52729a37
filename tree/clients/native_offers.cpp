// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_offers.hpp"

#include <iterator>
#include <set>
#include <utility>

#include "tree/wire/shared_values.hpp"

namespace charmtree::proto {

namespace native = wire::native;

namespace {
constexpr auto kService = static_cast<std::uint8_t>(ClientKind::native);
}  // namespace

std::string NativeOffers::offer(std::uint32_t process, native::Offer offer, ClientOutputs& out) {
  Offers& offers = offers_[process];
  const auto known = offers.values.find(offer.key);
  const std::size_t before = known == offers.values.end() ? 0 : known->first.size() + known->second.size();
  offers.bytes += offer.key.size() + offer.value.size() - before;
  if (offers.bytes > kMostBytes || (before == 0 && offers.values.size() >= kMostKeys))
    return "offered too much";
  const Key key{process, offer.key};
  offers.values.insert_or_assign(std::move(offer.key), std::move(offer.value));
  settle(key, out);
  return {};
}

std::string NativeOffers::ask(ClientId client, std::uint32_t process, native::Ask ask, Instant now,
                              ClientOutputs& out) {
  if (ask.process >= local_.total) return "asked a process that is not in the job";
  if (++asks_[client] > kMostAsks) return "asks for too much at a time";
  const Asker asker{client, process, ask.id};
  Key key{ask.process, std::move(ask.key)};
  if (const auto known = answer_of(key)) {
    tell(asker, *known, out);
  } else if (local_.contains(key.first)) {
    listeners_.asked(key.first, key.second, process, out);
    waiting_.emplace(std::move(key), asker);
  } else {
    asked_.ask(wire::Inquiry{process, key.first, {kService, 0}, std::move(key.second)}, asker, now, out);
  }
  return {};
}

std::string NativeOffers::listen(ClientId client, std::uint32_t process, native::Listen listen,
                                 ClientOutputs& out) {
  std::string wrong = listeners_.listen(client, process, std::move(listen));
  if (!wrong.empty()) return wrong;
  tell_more(process, out);
  tell_asked(process, out);
  return {};
}

void NativeOffers::answer(std::uint32_t process, const native::Answer& answer, ClientOutputs& out) {
  settle_with(
      {process, answer.key}, {{}, answer.value}, [&](std::uint32_t asker) { return asker == answer.process; },
      out);
}

/// One that is asked again waits once. A key that nobody can offer comes from a host that lies.
void NativeOffers::inquired(const wire::Inquired& inquiry, ClientOutputs& out) {
  if (inquiry.id.service != kService || !local_.contains(inquiry.process)) return;
  if (inquiry.key.empty() || inquiry.key.size() > wire::kMostKeyBytes || inquiry.asker >= local_.total)
    return;
  Inquirer inquirer{{inquiry.process, inquiry.key}, inquiry.asker, inquiry.id};
  if (const auto known = answer_of(inquirer.key)) return reply(inquirer, *known, out);
  if (inquired_.size() >= kMostWaiting) return;
  listeners_.asked(inquiry.process, inquiry.key, inquiry.asker, out);
  inquired_.insert(std::move(inquirer));
}

/// A value that is too long comes from a host that lies.
void NativeOffers::answered(const wire::Answered& answer, ClientOutputs& out) {
  if (answer.id.service != kService) return;
  const auto asker = asked_.take(answer);
  if (!asker) return;
  if (answer.bytes.size() > wire::kMostGiven)
    return tell(*asker, {"what its host says makes no sense", {}}, out);
  tell(*asker, {answer.failure.substr(0, native::kMaxWhy), answer.bytes}, out);
}

std::optional<NativeOffers::Found> NativeOffers::answer_of(const Key& key) const {
  const auto offers = offers_.find(key.first);
  if (offers != offers_.end()) {
    const auto value = offers->second.values.find(key.second);
    if (value != offers->second.values.end()) return Found{{}, value->second};
    if (offers->second.is_ended && !listeners_.wants(key.first, key.second))
      return Found{"that process has ended, and did not offer it", {}};
  }
  if (lost_.contains(key.first)) return Found{"that process is lost", {}};
  return {};
}

void NativeOffers::reply(const Inquirer& inquirer, const Found& answer, ClientOutputs& out) {
  out.emplace_back(
      wire::InquiryReply{inquirer.key.first, inquirer.process, inquirer.id, answer.failure, answer.value});
}

void NativeOffers::tell(const Asker& asker, const Found& answer, ClientOutputs& out) {
  const auto asks = asks_.find(asker.client);
  if (asks == asks_.end()) return;
  --asks->second;
  out.push_back(
      ToClient{asker.client, native::to_frame(native::Told{asker.id, answer.failure, answer.value})});
}

void NativeOffers::settle(const Key& key, ClientOutputs& out) {
  if (const auto answer = answer_of(key))
    settle_with(
        key, *answer, [](std::uint32_t) { return true; }, out);
}

template <class IsFor>
void NativeOffers::settle_with(const Key& key, const Found& answer, IsFor is_for, ClientOutputs& out) {
  const auto [process, name] = key;
  for (auto [each, last] = waiting_.equal_range(key); each != last;) {
    const bool is = is_for(each->second.process);
    if (is) listeners_.settled(process, name, each->second.process);
    if (is) tell(each->second, answer, out);
    each = is ? waiting_.erase(each) : std::next(each);
  }
  for (auto each = inquired_.lower_bound({key, 0, {}}); each != inquired_.end() && each->key == key;) {
    const bool is = is_for(each->process);
    if (is) listeners_.settled(process, name, each->process);
    if (is) reply(*each, answer, out);
    each = is ? inquired_.erase(each) : std::next(each);
  }
  tell_more(process, out);
}

void NativeOffers::tell_more(std::uint32_t process, ClientOutputs& out) {
  if (listeners_.has_room_again(process)) tell_asked(process, out);
}

void NativeOffers::tell_asked(std::uint32_t process, ClientOutputs& out) {
  for (const std::string& prefix : listeners_.prefixes(process)) {
    const Key first{process, prefix};
    const auto goes_on = [&](const Key& key) {
      return key.first == process && key.second.starts_with(prefix) && !listeners_.has_missed(process);
    };
    auto near = waiting_.lower_bound(first);
    for (; near != waiting_.end() && goes_on(near->first); ++near)
      listeners_.asked(process, near->first.second, near->second.process, out);
    auto far = inquired_.lower_bound({first, 0, {}});
    for (; far != inquired_.end() && goes_on(far->key); ++far)
      listeners_.asked(process, far->key.second, far->process, out);
  }
}

void NativeOffers::settle_all_of(std::uint32_t process, ClientOutputs& out) {
  const Key first{process, {}};
  std::set<Key> keys;
  for (auto each = waiting_.lower_bound(first); each != waiting_.end() && each->first.first == process;
       ++each)
    keys.insert(each->first);
  for (auto each = inquired_.lower_bound({first, 0, {}});
       each != inquired_.end() && each->key.first == process; ++each)
    keys.insert(each->key);
  for (const Key& key : keys) settle(key, out);
}

void NativeOffers::ended(std::uint32_t process, ClientOutputs& out) {
  offers_[process].is_ended = true;
  settle_all_of(process, out);
}

void NativeOffers::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  lost_.add_all(processes);
  for (const std::uint32_t process : local_.among(processes)) settle_all_of(process, out);
  for (const Asker& asker : asked_.take_about(lost_)) tell(asker, {"that process is lost", {}}, out);
  std::set<std::uint32_t> asked;
  std::erase_if(inquired_, [&](const Inquirer& each) {
    if (!lost_.contains(each.process)) return false;
    listeners_.settled(each.key.first, each.key.second, each.process);
    asked.insert(each.key.first);
    return true;
  });
  for (const std::uint32_t process : asked) tell_more(process, out);
}

void NativeOffers::forget(ClientId client, ClientOutputs& out) {
  asks_.erase(client);
  asked_.drop_if([&](const Asker& asker) { return asker.client == client; });
  for (const std::uint32_t process : listeners_.forget(client)) settle_all_of(process, out);
  std::set<std::uint32_t> asked;
  std::erase_if(waiting_, [&](const auto& each) {
    const auto& [key, asker] = each;
    if (asker.client != client) return false;
    listeners_.settled(key.first, key.second, asker.process);
    asked.insert(key.first);
    return true;
  });
  for (const std::uint32_t process : asked) tell_more(process, out);
}

}  // namespace charmtree::proto
