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
#include <optional>
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
  using Asker = std::pair<std::uint32_t, wire::InquiryId>;
  struct Published {
    Asker by;
    std::string value;
    bool once = false;
    std::optional<Asker> reader = {};  // of what was to be read once: it may ask again, nobody else
    bool is_read() const { return once && reader.has_value(); }
  };
  /// Empty, or why not.
  std::string publish(const wire::NameInquiry& inquiry, Orders& orders);
  static void answer(const Asker& asker, std::string failure, std::string bytes, Orders& orders);
  static void read(Published& name, const Asker& reader, Orders& orders);

  std::map<Key, Published> names_;
  std::multimap<Key, Asker> waiting_;  // for names that nobody has published
};

}  // namespace charmtree::proto
