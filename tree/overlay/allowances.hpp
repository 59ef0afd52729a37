// SPDX-License-Identifier: Apache-2.0
// What each child may say beyond facts and output, which have limits of their own: a launcher that has been
// taken over must not fill its parent's memory or its user's screen. Each kind has an allowance that grows
// with what the child may speak for, is used up by what comes, and comes back with time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tree/turn/events.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::proto {

class Allowances {
public:
  /// Messages: a launch takes some for each host (its times, a key, signatures, bindings), a restart some for
  /// each process. And for each of both kMessagesPerSecond: a process that is started again in place takes 12
  /// ms, a short run of a session 20 ms.
  static constexpr std::int64_t kMessages = 256, kMessagesOfHost = 16, kMessagesOfProcess = 4,
                                kMessagesPerSecond = 100;
  /// Bytes of lines for the user, of each line kLine besides its text: a screen full of each host at once,
  /// and two short lines a second.
  static constexpr std::int64_t kLines = 64 << 10, kLinesOfHost = 2 << 10, kLinesPerSecond = 256, kLine = 64;
  /// Bytes of texts that are kept (why hosts and processes failed); of each one kText in any case.
  static constexpr std::int64_t kTexts = 1 << 20, kTextsPerSecond = 1 << 10, kText = 160;
  /// Lines that were left out are counted for so long before that is said.
  static constexpr Duration kTold = 1s;

  /// Begins anew with each link; `remit` is its present one.
  void set(LinkId link, const wire::Remit& remit) { accounts_[link].remit = remit; }
  /// False: it has said more than there can be to say.
  bool message(LinkId link, Instant now);
  /// False: the line is to be left out, and is counted.
  bool line(LinkId link, std::size_t bytes, Instant now);
  /// Cuts the text if too much is kept of that child already.
  void cut(LinkId link, std::string& text, Instant now);

  /// So many lines have been left out of what this child said.
  struct LeftOut {
    LinkId link;
    std::uint64_t lines;
  };
  /// What is to be said now; with `all`, also what could wait.
  std::vector<LeftOut> take_left_out(Instant now, bool all = false);
  Instant next_deadline() const { return tell_at_; }

private:
  /// An amount that was used, and of which some comes back each second.
  class Used {
  public:
    /// False: then more than `most` would be used, and nothing is.
    bool take(std::int64_t cost, std::int64_t most, std::int64_t per_second, Instant now);

  private:
    std::int64_t used_ = 0;
    Instant at_ = kNever;  // when some came back last
  };
  struct Account {
    wire::Remit remit;
    Used messages, lines, texts;
    std::uint64_t left_out = 0;
  };

  std::map<LinkId, Account> accounts_;
  Instant tell_at_ = kNever;
};

}  // namespace charmtree::proto
