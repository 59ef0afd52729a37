// SPDX-License-Identifier: Apache-2.0
// CCS requests for several processes, as one launcher sees them: it hands each to those processes on its own
// host that are meant and to the children below which there are others, and merges what they answer into one
// answer. For programs that do not spread requests themselves. A request fails as a whole with the first
// answer that does. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tree/overlay/subtree.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class CcsFanout {
public:
  /// Requests that have not been answered; of more the oldest are given up.
  static constexpr std::size_t kMaxUnanswered = 4096;
  /// Bytes of answers that wait for others; a request whose answers have more is given up.
  static constexpr std::size_t kMaxWaiting = 256U << 20;

  /// Whom a request concerns: children, each with its part, and own processes.
  struct Targets {
    std::map<LinkId, std::vector<wire::ProcessSet::Range>> below;
    std::vector<std::uint32_t> own;
  };
  /// An answer has this for a source: a child, or (kParentLink) an own process.
  struct Source {
    LinkId link = kParentLink;
    std::uint32_t process = 0;
    friend auto operator<=>(const Source&, const Source&) = default;
  };
  struct Answer {
    std::uint32_t token = 0;
    std::uint32_t process = 0;  // one of those that answered
    wire::CcsReplies replies = {};
    std::string failure = {};  // then there are none
  };

  /// Takes the next piece of a request. Whom it is for; with the first piece, of the processes `local` and of
  /// the subtree. `failed`: a request that is given up for it, or is for nobody.
  const Targets& spread(const wire::CcsSpread& piece, const Subtree& subtree, const LocalProcesses& local,
                        std::optional<Answer>& failed);
  /// The payload, after its last piece.
  std::string take_payload() { return std::move(current_.payload); }

  bool awaits(std::uint32_t token) const { return unanswered_.contains(token); }
  /// Takes a piece of an answer to a request that it awaits. The answer to be passed on, once it is complete.
  /// A child answers for those alone that are below it in the subtree.
  std::optional<Answer> answered(Source source, const wire::CcsAnswer& piece, const Subtree& subtree);
  /// The child's answers will not come; `process` is one of those below it.
  std::vector<Answer> lost(LinkId link, std::uint32_t process, const std::string& why);

private:
  struct Unanswered {
    std::map<Source, std::string> missing;  // and what has come of their answers
    wire::CcsReplies replies;
    std::size_t bytes = 0;    // of both, about
    std::uint64_t place = 0;  // in order of arrival
  };
  struct Current {
    std::uint32_t token = 0;
    Targets targets;
    std::string payload;
  };

  void begin(const wire::CcsSpread& piece, const Subtree& subtree, const LocalProcesses& local);
  static std::string foreign(LinkId link, const wire::CcsReplies& replies, const Subtree& subtree);
  std::string join(Unanswered& request, wire::CcsReplies more, std::size_t size);
  std::optional<Answer> fail(std::uint32_t token, std::uint32_t process, std::string why);
  void erase(std::uint32_t token);

  Current current_;                                  // the request whose pieces come
  std::map<std::uint32_t, Unanswered> unanswered_;   // by token
  std::map<std::uint64_t, std::uint32_t> in_order_;  // their tokens, by place
  std::uint64_t last_place_ = 0;
  std::size_t bytes_ = 0;  // of all
};

}  // namespace charmtree::proto
