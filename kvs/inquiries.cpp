// SPDX-License-Identifier: Apache-2.0
#include "kvs/inquiries.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace charmtree::proto {

void Inquiries::on(const wire::Inquiry& inquiry, Orders& orders) {
  orders.emplace_back(inquiry.about, wire::Inquired{inquiry.about, inquiry.process, inquiry.id, inquiry.key});
}

void Inquiries::on(const wire::InquiryReply& reply, Orders& orders) {
  orders.emplace_back(reply.asker,
                      wire::Answered{reply.asker, reply.process, reply.id, reply.failure, reply.bytes});
}

void Inquiries::answer(const Asker& asker, std::string failure, std::string bytes, Orders& orders) {
  orders.emplace_back(asker.first, wire::Answered{asker.first, wire::kNoProcess, asker.second,
                                                  std::move(failure), std::move(bytes)});
}

void Inquiries::on(const wire::NameInquiry& inquiry, std::uint32_t host, Orders& orders) {
  using Deed = wire::NameInquiry::Deed;
  const Asker asker{inquiry.process, inquiry.id};
  const Key key{inquiry.id.service, inquiry.name};
  if (inquiry.deed == Deed::publish || inquiry.deed == Deed::publish_once)
    return answer(asker, publish(inquiry, host, orders), {}, orders);
  const auto found = names_.find(key);
  const bool is_known = found != names_.end() && (!found->second.is_read() || found->second.reader == asker);
  if (inquiry.deed == Deed::unpublish) {
    if (!is_known) return answer(asker, "nobody has published it", {}, orders);
    const std::uint32_t publisher = found->second.by.first;
    if (publisher != inquiry.process)
      return answer(asker, fmt::format("process {} has published it", publisher), {}, orders);
    unpublish(found);
    return answer(asker, {}, {}, orders);
  }
  if (is_known) return read(found->second, asker, orders);
  const std::string failure =
      inquiry.deed == Deed::look_up ? "nobody has published it" : wait(key, asker, host);
  if (!failure.empty()) answer(asker, failure, {}, orders);
}

/// It may have been asked again.
std::string Inquiries::wait(const Key& key, const Asker& asker, std::uint32_t host) {
  const auto known = waiting_.find(key);
  if (known != waiting_.end() && known->second.known.contains(asker)) return {};
  if (waits_ >= kMostNames) return "nobody has published it";
  if (std::string failure = take(host, key.second.size() + kEntry); !failure.empty()) return failure;
  ++waits_;
  Waiting& waiting = waiting_[key];
  waiting.in_order.emplace_back(asker, host);
  waiting.known.insert(asker);
  return {};
}

std::string Inquiries::take(std::uint32_t host, std::size_t bytes) {
  std::size_t& used = of_host_[host];
  if (used + bytes > kMostOfHost)
    return fmt::format("names that this host has published, and awaits, take {} MiB already",
                       kMostOfHost >> 20U);
  if (bytes_ + bytes > kMostBytes)
    return fmt::format("names of this job take {} MiB already", kMostBytes >> 20U);
  used += bytes;
  bytes_ += bytes;
  return {};
}

void Inquiries::release(std::uint32_t host, std::size_t bytes) {
  bytes_ -= bytes;
  const auto used = of_host_.find(host);
  used->second -= bytes;
  if (used->second == 0) of_host_.erase(used);
}

void Inquiries::unpublish(std::map<Key, Published>::iterator name) {
  const Published& published = name->second;
  release(published.host, name->first.second.size() + published.value.size() + kEntry);
  read_ -= published.is_read() ? 1 : 0;
  names_.erase(name);
}

void Inquiries::drop_read() {
  if (read_ == 0) return;
  for (auto each = names_.begin(); each != names_.end();) {
    const auto next = std::next(each);
    if (each->second.is_read()) unpublish(each);
    each = next;
  }
}

void Inquiries::read(Published& name, const Asker& reader, Orders& orders) {
  read_ += name.once && !name.reader ? 1 : 0;
  name.reader = reader;
  answer(reader, {}, name.value, orders);
}

std::string Inquiries::publish(const wire::NameInquiry& inquiry, std::uint32_t host, Orders& orders) {
  const Asker asker{inquiry.process, inquiry.id};
  const Key key{inquiry.id.service, inquiry.name};
  const auto found = names_.find(key);
  if (found != names_.end() && found->second.by == asker) return {};  // it was only asked again
  if (found != names_.end() && !found->second.is_read())
    return fmt::format("process {} has published it", found->second.by.first);
  if (found != names_.end()) unpublish(found);
  if (names_.size() >= kMostNames) drop_read();
  if (names_.size() >= kMostNames) return fmt::format("the job has {} names already", kMostNames);
  const std::size_t bytes = inquiry.name.size() + inquiry.value.size() + kEntry;
  std::string failure = take(host, bytes);
  if (!failure.empty() && read_ > 0) {
    drop_read();
    failure = take(host, bytes);
  }
  if (!failure.empty()) return failure;
  const bool once = inquiry.deed == wire::NameInquiry::Deed::publish_once;
  const auto name = names_.emplace(key, Published{asker, inquiry.value, host, once}).first;
  answer_waiting(key, name->second, orders);
  return {};
}

/// It goes to all who wait for it, or to the first of them. Where these are many and the value is long, the
/// others are forgotten, and get it when they ask again.
void Inquiries::answer_waiting(const Key& key, Published& name, Orders& orders) {
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  const std::size_t room = name.once ? 1 : 1 + kMostAtOnce / (name.value.size() + 1);
  auto& in_order = waiting->second.in_order;
  const std::size_t gone = name.once ? 1 : in_order.size();
  for (std::size_t i = 0; i < gone; ++i) {
    const auto& [asker, host] = in_order[i];
    if (i < room) read(name, asker, orders);
    release(host, key.second.size() + kEntry);
    waiting->second.known.erase(asker);
  }
  waits_ -= gone;
  in_order.erase(in_order.begin(), in_order.begin() + static_cast<std::ptrdiff_t>(gone));
  if (in_order.empty()) waiting_.erase(waiting);
}

}  // namespace charmtree::proto
