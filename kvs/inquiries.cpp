// SPDX-License-Identifier: Apache-2.0
#include "kvs/inquiries.hpp"

#include <fmt/format.h>

#include <utility>

namespace charmtree::proto {

void Inquiries::on(const wire::Inquiry& inquiry, Orders& orders) {
  orders.emplace_back(inquiry.about, wire::Inquired{inquiry.about, inquiry.process, inquiry.id});
}

void Inquiries::on(const wire::InquiryReply& reply, Orders& orders) {
  orders.emplace_back(reply.asker,
                      wire::Answered{reply.asker, reply.process, reply.id, reply.failure, reply.bytes});
}

void Inquiries::on(const wire::NameInquiry& inquiry, Orders& orders) {
  orders.emplace_back(inquiry.process, answer(inquiry));
}

wire::Answered Inquiries::answer(const wire::NameInquiry& inquiry) {
  using Deed = wire::NameInquiry::Deed;
  wire::Answered answer{inquiry.process, wire::kNoProcess, inquiry.id, {}, {}};
  const auto fails = [&](std::string why) {
    answer.failure = std::move(why);
    return answer;
  };
  const Key key{inquiry.id.service, inquiry.name};
  const auto found = names_.find(key);
  if (inquiry.deed == Deed::publish) {
    if (found != names_.end()) {
      const Published& before = found->second;
      const bool is_same = before.by == inquiry.process && before.number == inquiry.id.number;
      return is_same ? answer : fails(fmt::format("process {} has published it", before.by));
    }
    if (names_.size() >= kMostNames) return fails(fmt::format("the job has {} names already", kMostNames));
    names_.emplace(key, Published{inquiry.process, inquiry.id.number, inquiry.value});
    return answer;
  }
  if (found == names_.end()) return fails("nobody has published it");
  if (inquiry.deed == Deed::look_up)
    answer.bytes = found->second.value;
  else
    names_.erase(found);
  return answer;
}

}  // namespace charmtree::proto
