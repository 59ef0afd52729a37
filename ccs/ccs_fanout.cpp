// SPDX-License-Identifier: Apache-2.0
#include "ccs/ccs_fanout.hpp"

#include <fmt/format.h>

#include <utility>

namespace charmtree::proto {

namespace {

using Ranges = std::vector<wire::ProcessSet::Range>;

/// What is coded beside the bytes of one process's reply, at most.
constexpr std::size_t kPartOverhead = 16;

}  // namespace

void CcsFanout::begin(const wire::CcsSpread& piece, const Subtree& subtree, const LocalProcesses& local) {
  const Ranges everybody{{0, UINT32_MAX}};
  current_ = {piece.token,
              {piece.everybody ? subtree.links_with_processes() : subtree.split(piece.processes),
               local.among(piece.everybody ? everybody : piece.processes)},
              {}};
  const auto [request, is_fresh] = unanswered_.try_emplace(piece.token);
  if (is_fresh) in_order_.emplace(request->second.place = ++last_place_, piece.token);
  auto& missing = request->second.missing;
  for (const auto& [link, ranges] : current_.targets.below) missing[{link}];
  for (const std::uint32_t process : current_.targets.own) missing[{kParentLink, process}];
}

const CcsFanout::Targets& CcsFanout::spread(const wire::CcsSpread& piece, const Subtree& subtree,
                                            const LocalProcesses& local, std::optional<Answer>& failed) {
  const std::uint32_t speaker = local.size() > 0 ? local.at(0) : subtree.lowest_process();
  if (piece.first) {
    begin(piece, subtree, local);
    if (unanswered_.at(piece.token).missing.empty()) {
      failed = fail(piece.token, speaker, "there are no such processes");
    } else if (unanswered_.size() > kMaxUnanswered) {
      failed =
          fail(in_order_.begin()->second, speaker, "too many requests for several processes are unanswered");
    }
  } else if (piece.token != current_.token) {
    current_ = {};
  }
  if (!current_.targets.own.empty()) current_.payload += piece.bytes;
  return current_.targets;
}

std::optional<CcsFanout::Answer> CcsFanout::fail(std::uint32_t token, std::uint32_t process,
                                                 std::string why) {
  erase(token);
  return Answer{token, process, {}, std::move(why)};
}

void CcsFanout::erase(std::uint32_t token) {
  const auto found = unanswered_.find(token);
  bytes_ -= found->second.bytes;
  in_order_.erase(found->second.place);
  unanswered_.erase(found);
}

std::optional<CcsFanout::Answer> CcsFanout::answered(Source source, const wire::CcsAnswer& piece,
                                                     const Subtree& subtree) {
  const auto found = unanswered_.find(piece.token);
  if (found == unanswered_.end()) return {};
  Unanswered& request = found->second;
  const auto part = request.missing.find(source);
  if (part == request.missing.end()) return {};
  if (!piece.failure.empty()) return fail(piece.token, piece.process, piece.failure);
  const std::size_t processes = source.link == kParentLink ? 1 : subtree.most_processes_of(source.link);
  const std::size_t most = wire::CcsReplies::kMaxBytes + kPartOverhead * (processes + 1);
  if (piece.length > most || part->second.size() + piece.bytes.size() > piece.length)
    return fail(piece.token, piece.process, "the reply is longer than it may be");
  part->second += piece.bytes;
  request.bytes += piece.bytes.size();
  bytes_ += piece.bytes.size();
  if (bytes_ > kMaxWaiting)
    return fail(piece.token, piece.process, "too many bytes of replies wait for others");
  if (part->second.size() < piece.length) return {};
  std::string bytes = std::move(part->second);
  request.missing.erase(part);
  const std::size_t size = bytes.size();
  wire::CcsReplies more{piece.merge, {}};
  std::string wrong;
  if (source.link == kParentLink) {
    more.parts.push_back({source.process, std::move(bytes)});
  } else if (auto theirs = wire::decode_ccs_replies(bytes, processes); theirs) {
    more = std::move(*theirs);
    wrong = foreign(source.link, more, subtree);
  } else {
    wrong = theirs.error().what;
  }
  if (wrong.empty()) wrong = join(request, std::move(more), size);
  if (!wrong.empty()) return fail(piece.token, piece.process, std::move(wrong));
  if (!request.missing.empty()) return {};
  Answer answer{piece.token, piece.process, std::move(request.replies)};
  erase(piece.token);
  return answer;
}

/// What is wrong with whom they are said to come from.
std::string CcsFanout::foreign(LinkId link, const wire::CcsReplies& replies, const Subtree& subtree) {
  for (const wire::CcsReplies::Part& part : replies.parts) {
    if (!subtree.owns_process(link, part.process))
      return fmt::format("a launcher answered for process {}, which is not below it", part.process);
  }
  return {};
}

/// Adds an answer that is complete, of so many bytes. What is wrong with it.
std::string CcsFanout::join(Unanswered& request, wire::CcsReplies more, std::size_t size) {
  const bool first = request.replies.parts.empty();
  if (!first && more.merge.operation() != wire::CcsMerge::concat) {  // nothing of it is kept
    request.bytes -= size;
    bytes_ -= size;
  }
  return request.replies.add(std::move(more));
}

std::vector<CcsFanout::Answer> CcsFanout::lost(LinkId link, std::uint32_t process, const std::string& why) {
  std::vector<std::uint32_t> tokens;
  for (const auto& [token, request] : unanswered_) {
    if (request.missing.contains({link})) tokens.push_back(token);
  }
  std::vector<Answer> answers;
  answers.reserve(tokens.size());
  for (const std::uint32_t token : tokens) answers.push_back(*fail(token, process, why));
  return answers;
}

}  // namespace charmtree::proto
