// SPDX-License-Identifier: Apache-2.0
// The root's half of inquiries (PMI, PMIx). It sends them on to the host of whom they are about, and back
// what that has answered, and keeps nothing of them: who asks says it again if nobody answers. Names it
// keeps, for the whole job and as long as that; a root that takes its place knows none of them. Names, and
// look-ups that wait for one, have a limit in bytes, and each host has a share of it: no host can take the
// room of all.
//
// Its messages: Inquiry, InquiryReply, NameInquiry; Inquired, Answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Inquiries {
public:
  /// With the process to whose launcher each goes.
  using Orders = std::vector<std::pair<std::uint32_t, wire::Message>>;
  /// Names that a job may have, and look-ups that may wait for others.
  static constexpr std::size_t kMostNames = 10'000;
  /// Bytes of both together, and of those that one host has brought; each counts kEntry besides its texts.
  static constexpr std::size_t kMostBytes = 16U << 20, kMostOfHost = 4U << 20, kEntry = 256;
  /// Bytes of a value that go to those who have waited for it, when it is published.
  static constexpr std::size_t kMostAtOnce = 4U << 20;

  static void on(const wire::Inquiry& inquiry, Orders& orders);
  static void on(const wire::InquiryReply& reply, Orders& orders);
  /// `host`: of the process that asks.
  void on(const wire::NameInquiry& inquiry, std::uint32_t host, Orders& orders);
  /// Returns what names and waiting look-ups take, in bytes.
  std::size_t bytes() const { return bytes_; }

private:
  using Key = std::pair<std::uint8_t, std::string>;  // the service, and the name
  using Asker = std::pair<std::uint32_t, wire::InquiryId>;
  struct Published {
    Asker by;
    std::string value;
    std::uint32_t host = 0;  // of the publisher
    bool once = false;
    std::optional<Asker> reader = {};  // of what was to be read once: it may ask again, nobody else
    bool is_read() const { return once && reader.has_value(); }
  };
  /// Look-ups of one name, which is not published yet.
  struct Waiting {
    std::vector<std::pair<Asker, std::uint32_t>> in_order = {};  // with their hosts
    std::set<Asker> known = {};
  };
  /// Empty, or why not.
  std::string publish(const wire::NameInquiry& inquiry, std::uint32_t host, Orders& orders);
  void unpublish(std::map<Key, Published>::iterator name);
  std::string wait(const Key& key, const Asker& asker, std::uint32_t host);
  void answer_waiting(const Key& key, Published& name, Orders& orders);
  void drop_read();
  static void answer(const Asker& asker, std::string failure, std::string bytes, Orders& orders);
  void read(Published& name, const Asker& reader, Orders& orders);
  /// Empty: so many bytes more are taken now; or why there is no room for them.
  std::string take(std::uint32_t host, std::size_t bytes);
  void release(std::uint32_t host, std::size_t bytes);

  std::map<Key, Published> names_;
  std::map<Key, Waiting> waiting_;
  std::size_t waits_ = 0;  // in waiting_
  std::size_t read_ = 0;   // names that were to be read once, and have been
  std::size_t bytes_ = 0;
  std::map<std::uint32_t, std::size_t> of_host_;  // bytes
};

}  // namespace charmtree::proto
