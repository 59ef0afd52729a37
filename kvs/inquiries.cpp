// SPDX-License-Identifier: Apache-2.0
#include "kvs/inquiries.hpp"

#include <fmt/format.h>

#include <algorithm>
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

void Inquiries::on(const wire::NameInquiry& inquiry, Orders& orders) {
  using Deed = wire::NameInquiry::Deed;
  const Asker asker{inquiry.process, inquiry.id};
  const Key key{inquiry.id.service, inquiry.name};
  if (inquiry.deed == Deed::publish || inquiry.deed == Deed::publish_once)
    return answer(asker, publish(inquiry, orders), {}, orders);
  const auto found = names_.find(key);
  const bool is_known = found != names_.end() && (!found->second.is_read() || found->second.reader == asker);
  if (inquiry.deed == Deed::unpublish) {
    if (is_known) names_.erase(found);
    return answer(asker, is_known ? "" : "nobody has published it", {}, orders);
  }
  if (is_known) return read(found->second, asker, orders);
  if (inquiry.deed == Deed::look_up || waiting_.size() >= kMostNames)
    return answer(asker, "nobody has published it", {}, orders);
  const auto [begin, end] = waiting_.equal_range(key);
  if (std::none_of(begin, end, [&](const auto& each) { return each.second == asker; }))
    waiting_.emplace(key, asker);
}

void Inquiries::read(Published& name, const Asker& reader, Orders& orders) {
  name.reader = reader;
  answer(reader, {}, name.value, orders);
}

/// It goes to all who wait for it, or to the first of them.
std::string Inquiries::publish(const wire::NameInquiry& inquiry, Orders& orders) {
  const Asker asker{inquiry.process, inquiry.id};
  const Key key{inquiry.id.service, inquiry.name};
  const auto found = names_.find(key);
  if (found != names_.end() && found->second.by == asker) return {};  // it was only asked again
  if (found != names_.end() && !found->second.is_read())
    return fmt::format("process {} has published it", found->second.by.first);
  if (names_.size() >= kMostNames)
    std::erase_if(names_, [](const auto& each) { return each.second.is_read(); });
  if (names_.size() >= kMostNames) return fmt::format("the job has {} names already", kMostNames);
  const bool once = inquiry.deed == wire::NameInquiry::Deed::publish_once;
  Published& name = names_.insert_or_assign(key, Published{asker, inquiry.value, once}).first->second;
  while (!name.is_read()) {
    const auto next = waiting_.find(key);
    if (next == waiting_.end()) break;
    read(name, next->second, orders);
    waiting_.erase(next);
  }
  return {};
}

}  // namespace charmtree::proto
