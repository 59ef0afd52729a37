// SPDX-License-Identifier: Apache-2.0
// What the processes of a host have asked of others (wire::Inquiry, wire::NameInquiry, wire::WorldWanted),
// and await. An answer may be lost with the launcher or the root that carries it: whoever has none is asked
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tree/clients/client_server.hpp"

namespace charmtree::proto {

/// `Asker`: what the server has to know once there is an answer.
template <class Asker>
class OpenInquiries {
public:
  using Inquiry = std::variant<wire::Inquiry, wire::NameInquiry, wire::WorldWanted>;
  static constexpr Duration kAgain = 5s;

  /// `last`: their numbers are behind it. Those of launchers that may ask for one process, one after the
  /// other, must not meet: an answer may be late.
  explicit OpenInquiries(std::uint64_t last = 0) : last_(last) {}

  /// Gives it its number, and asks.
  void ask(Inquiry inquiry, Asker asker, Instant now, ClientOutputs& out) {
    const std::uint64_t number = ++last_;
    std::visit([&](auto& one) { one.id.number = number; }, inquiry);
    say(inquiry, out);
    open_.emplace(number, Open{std::move(inquiry), std::move(asker)});
    again_at_ = earlier(again_at_, now + kAgain);
  }
  /// Whose it was; nothing: nobody waits for it, or it was not this one that was asked.
  std::optional<Asker> take(const wire::Answered& answer) {
    const auto found = open_.find(answer.id.number);
    if (found == open_.end()) return {};
    if (about(found->second.inquiry) != answer.about) return {};
    Asker asker = std::move(found->second.asker);
    open_.erase(found);
    if (open_.empty()) again_at_ = kNever;
    return asker;
  }
  /// Those about these processes, which nobody answers any more.
  std::vector<Asker> take_about(const wire::ProcessSet& lost) {
    std::vector<Asker> taken;
    for (auto each = open_.begin(); each != open_.end();) {
      const bool is = lost.contains(about(each->second.inquiry));
      if (is) taken.push_back(std::move(each->second.asker));
      each = is ? open_.erase(each) : std::next(each);
    }
    return taken;
  }
  /// Those whose asker has gone.
  template <class IsGone>
  void drop_if(IsGone is_gone) {
    std::erase_if(open_, [&](const auto& each) { return is_gone(each.second.asker); });
    if (open_.empty()) again_at_ = kNever;
  }
  void clear() {
    open_.clear();
    again_at_ = kNever;
  }
  std::size_t size() const { return open_.size(); }
  void tick(Instant now, ClientOutputs& out) {
    if (now < again_at_) return;
    again_at_ = open_.empty() ? kNever : now + kAgain;
    for (const auto& [number, open] : open_) say(open.inquiry, out);
  }
  Instant next_deadline() const { return again_at_; }

private:
  struct Open {
    Inquiry inquiry;
    Asker asker;
  };
  static std::uint32_t about(const Inquiry& inquiry) {
    return std::visit(
        []<class I>(const I& one) {
          if constexpr (std::is_same_v<I, wire::Inquiry>)
            return one.about;
          else
            return wire::kNoProcess;
        },
        inquiry);
  }
  static void say(const Inquiry& inquiry, ClientOutputs& out) {
    std::visit([&](const auto& one) { out.push_back(one); }, inquiry);
  }

  std::map<std::uint64_t, Open> open_;
  std::uint64_t last_;
  Instant again_at_ = kNever;
};

}  // namespace charmtree::proto
