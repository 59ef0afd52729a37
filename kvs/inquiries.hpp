// SPDX-License-Identifier: Apache-2.0
// The root's half of inquiries (PMI, PMIx). It sends them on to the host of whom they are about, and back
// what that has answered, and keeps nothing of them: who asks says it again if nobody answers. Names it
// keeps, for the whole job and as long as that; a root that takes its place knows none of them.
//
// Its messages: Inquiry, InquiryReply, NameInquiry; Inquired, Answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Inquiries {
public:
  /// With the process to whose launcher each goes.
  using Orders = std::vector<std::pair<std::uint32_t, wire::Message>>;
  /// Names that a job may have.
  static constexpr std::size_t kMostNames = 10'000;

  static void on(const wire::Inquiry& inquiry, Orders& orders);
  static void on(const wire::InquiryReply& reply, Orders& orders);
  void on(const wire::NameInquiry& inquiry, Orders& orders);

private:
  using Key = std::pair<std::uint8_t, std::string>;  // the service, and the name
  wire::Answered answer(const wire::NameInquiry& inquiry);

  struct Published {
    std::uint32_t by = 0;
    std::uint64_t number = 0;  // of its inquiry: it may come twice
    std::string value;
  };
  std::map<Key, Published> names_;
};

}  // namespace charmtree::proto
