// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_offers.hpp"

#include <set>
#include <utility>

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
  const Asker asker{client, ask.id};
  Key key{ask.process, std::move(ask.key)};
  if (const auto known = answer_of(key))
    tell(asker, *known, out);
  else if (local_.contains(key.first))
    waiting_.emplace(std::move(key), asker);
  else
    asked_.ask(wire::Inquiry{process, key.first, {kService, 0}, std::move(key.second)}, asker, now, out);
  return {};
}

/// One that is asked again waits once. A key that nobody can offer comes from a host that lies.
void NativeOffers::inquired(const wire::Inquired& inquiry, ClientOutputs& out) {
  if (inquiry.id.service != kService || !local_.contains(inquiry.process)) return;
  if (inquiry.key.empty() || inquiry.key.size() > wire::kMostKeyBytes) return;
  Inquirer inquirer{{inquiry.process, inquiry.key}, inquiry.asker, inquiry.id};
  if (const auto known = answer_of(inquirer.key)) return reply(inquirer, *known, out);
  if (inquired_.size() < kMostWaiting) inquired_.insert(std::move(inquirer));
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

std::optional<NativeOffers::Answer> NativeOffers::answer_of(const Key& key) const {
  const auto offers = offers_.find(key.first);
  if (offers != offers_.end()) {
    const auto value = offers->second.values.find(key.second);
    if (value != offers->second.values.end()) return Answer{{}, value->second};
    if (offers->second.is_ended) return Answer{"that process has ended, and did not offer it", {}};
  }
  if (lost_.contains(key.first)) return Answer{"that process is lost", {}};
  return {};
}

void NativeOffers::reply(const Inquirer& inquirer, const Answer& answer, ClientOutputs& out) {
  out.emplace_back(
      wire::InquiryReply{inquirer.key.first, inquirer.process, inquirer.id, answer.failure, answer.value});
}

void NativeOffers::tell(const Asker& asker, const Answer& answer, ClientOutputs& out) {
  const auto asks = asks_.find(asker.client);
  if (asks == asks_.end()) return;
  --asks->second;
  out.push_back(
      ToClient{asker.client, native::to_frame(native::Told{asker.id, answer.failure, answer.value})});
}

void NativeOffers::settle(const Key& key, ClientOutputs& out) {
  const auto answer = answer_of(key);
  if (!answer) return;
  for (auto [each, last] = waiting_.equal_range(key); each != last; each = waiting_.erase(each))
    tell(each->second, *answer, out);
  for (auto each = inquired_.lower_bound({key, 0, {}}); each != inquired_.end() && each->key == key;
       each = inquired_.erase(each))
    reply(*each, *answer, out);
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
}

void NativeOffers::forget(ClientId client) {
  asks_.erase(client);
  asked_.drop_if([&](const Asker& asker) { return asker.client == client; });
  std::erase_if(waiting_, [&](const auto& each) { return each.second.client == client; });
}

void NativeOffers::vacate(std::uint32_t process) {
  offers_.erase(process);
}

}  // namespace charmtree::proto
