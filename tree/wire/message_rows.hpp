// SPDX-License-Identifier: Apache-2.0
// What holds for every message between launchers: one row for each, in the order of AnyMessage. A message
// without a row does not compile, nor does one from below of which nobody has said for whom it speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tree/wire/message_limits.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::wire {

/// Of the payload: base + so much for each host and each process that its sender may speak for.
struct Limit {
  std::size_t base = kMaxSaid, host = 0, process = 0;
};

/// What of its parent's a child must have: a host, a process, or a process that it has or once had.
enum class Owned : std::uint8_t { host, process, process_once };

/// A member of a message names what its sender must own: a number, a list of these, or a list of ranges.
template <Owned kWhat, class M, class T>
struct Names {
  T M::*member;
};
/// A message that names no host and no process, or as many as it likes.
struct Nobody {};
/// The launcher that receives it looks at more than these: proto::Trust.
struct Judged {};

/// `Says...`: Names, Nobody, Judged.
template <class M, class... Says>
struct MessageRow {
  using Message = M;
  static constexpr bool kIsJudged = (std::is_same_v<Says, Judged> || ...);
  bool goes_down;
  std::tuple<Says...> says;
  Limit limit{};
  bool is_counted = true;     // among those of which a child has only so many; else a limit of its own counts
  bool goes_to_root = false;  // every launcher on its way hands it on
  bool is_asked_again = false;  // if no answer comes (proto::OpenInquiries), so it may be lost on its way
  constexpr MessageRow most(Limit most) const {
    MessageRow row = *this;
    row.limit = most;
    return row;
  }
  constexpr MessageRow uncounted() const {
    MessageRow row = *this;
    row.is_counted = false;
    return row;
  }
  constexpr MessageRow to_root() const {
    MessageRow row = *this;
    row.goes_to_root = true;
    return row;
  }
  constexpr MessageRow asked_again() const {
    MessageRow row = *this;
    row.is_asked_again = true;
    return row;
  }
};

namespace rows {

/// All of them; a message's is found by its type (a std::tuple of so many is slow to compile).
template <class... Row>
struct Rows : Row... {};
template <class... Row>
Rows(Row...) -> Rows<Row...>;

template <class M>
constexpr auto down() {
  return MessageRow<M>{true, {}};
}
template <class M, class... Says>
constexpr auto up(Says... says) {
  static_assert(sizeof...(Says) > 0, "for whom does it speak?");
  return MessageRow<M, Says...>{false, {says...}};
}
template <class M, class T>
constexpr auto host(T M::*member) {
  return Names<Owned::host, M, T>{member};
}
template <class M, class T>
constexpr auto process(T M::*member) {
  return Names<Owned::process, M, T>{member};
}
template <class M, class T>
constexpr auto process_once(T M::*member) {
  return Names<Owned::process_once, M, T>{member};
}
inline constexpr Nobody nobody;
inline constexpr Judged judged;

/// A number of a host or a process takes five bytes, a range two of them.
inline constexpr Limit kNumbers{kMaxSaid, 16, 16};
inline constexpr Limit kPiece{kMaxPiece}, kKey{kMaxKey}, kList{kMaxList};
inline constexpr Limit kGiven{kMaxSaid, 0, kMostGiven};
inline constexpr Limit kRing{kMaxSaid, 0, 2 * kMostRingValue + 16};
inline constexpr Limit kTuples{kMaxList, 0, kMaxTuple + 8};  // all of a host go together

/// A parent is believed: what goes down has no limit but that of every frame.
inline constexpr Rows kAll{
    down<Welcome>(),
    down<Assign>(),
    down<TableDown>(),
    down<Release>(),
    down<Receipt>(),
    down<ScanReply>(),
    down<Input>(),
    down<RecallInput>(),
    down<End>(),
    down<Sweep>(),
    down<Numbers>(),
    down<SignReply>(),
    down<Restart>(),
    down<Recover>(),
    down<Admit>(),
    down<CcsForward>(),
    down<Resize>(),
    down<Regroup>(),
    down<Reshape>(),
    down<QueuePairsDown>(),
    down<ForwardSignal>(),
    down<Suspend>(),
    down<OutputCredit>(),
    down<CcsSpread>(),
    down<Lost>(),
    down<Beat>(),
    down<Punctual>(),
    down<Renewed>(),
    down<Readmit>(),
    down<OutputTaken>(),
    down<Resend>(),
    down<Adopt>(),
    down<Relayed>(),
    down<Claim>(),
    down<Relaunch>(),
    down<Moved>(),
    down<FenceDown>(),
    down<RingDown>(),
    down<Inquired>().asked_again(),
    down<Answered>().asked_again(),
    down<WorldBegun>(),
    down<StacksWanted>(),
    down<DebugOrder>(),
    down<ToolOrder>(),
    down<StagedPiece>(),
    down<PieceRefused>(),
    up<Hello>(nobody),
    up<Facts>(judged).most(kTuples).uncounted(),
    up<Output>(process_once(&Output::process), judged).most(kPiece).uncounted(),
    up<ScanUp>(process_once(&ScanUp::process)).uncounted().to_root(),
    up<AbortUp>(process(&AbortUp::process)).most(kPiece).to_root(),
    up<HandBack>(judged).most(kList),
    up<NewHostKey>(judged).most(kKey).to_root(),
    up<Note>(host(&Note::host)).uncounted().to_root(),
    up<InputTaken>(judged).uncounted().to_root(),
    up<InputReturned>(judged).most(kPiece).to_root(),
    up<Stamps>(host(&Stamps::host), judged).to_root(),
    up<LinkLost>(host(&LinkLost::host), process_once(&LinkLost::processes), host(&LinkLost::hosts))
        .most(kNumbers)
        .to_root(),
    up<Done>(host(&Done::unconfirmed)).most(kNumbers),
    up<Swept>(judged),
    up<Ask>(nobody),
    up<SignRequest>(host(&SignRequest::launcher), judged).most(kKey),
    up<Checkup>(host(&Checkup::host), judged).to_root(),
    up<Rejoined>(process(&Rejoined::process)).to_root(),
    up<CcsAnswer>(process(&CcsAnswer::process)).most(kPiece).uncounted().to_root(),
    up<Bindings>(host(&Bindings::host), judged).most({kMaxSaid, 0, 5 * Remit::kMostPus}).to_root(),
    up<PesWanted>(process(&PesWanted::process)).to_root(),
    up<Left>(process(&Left::process)).to_root(),
    up<QueuePairsUp>(judged).most({kMaxQueuePairs}).uncounted(),
    up<BeatUp>(nobody).uncounted(),
    up<WasPunctual>(nobody).uncounted(),
    up<Waiting>(judged),
    up<Claimed>(judged).most(kNumbers),
    up<Taken>(judged),
    up<Reached>(host(&Reached::host), process(&Reached::processes), judged).most(kNumbers).to_root(),
    up<Idle>(host(&Idle::unconfirmed), host(&Idle::unbounded), judged).most(kNumbers),
    up<Confirmed>(host(&Confirmed::hosts)).most(kNumbers),
    up<Fenced>(host(&Fenced::host), judged).to_root(),
    up<Silence>(process_once(&Silence::process)).to_root(),
    up<FenceUp>(nobody).most(kGiven).uncounted(),  // proto::FencePart judges it
    up<RingUp>(nobody).most(kRing).uncounted(),    // proto::RingPart judges it
    up<Inquiry>(process(&Inquiry::process)).uncounted().to_root().asked_again(),
    up<InquiryReply>(process(&InquiryReply::process))
        .most({kMaxSaid + kMostAnswered})
        .uncounted()
        .to_root()
        .asked_again(),
    up<NameInquiry>(process(&NameInquiry::process))
        .most({kMaxSaid + kMostName + kMostPublished})
        .uncounted()
        .to_root()
        .asked_again(),
    up<WorldWanted>(process(&WorldWanted::process)).most({kMaxSaid + kMostWanted}).to_root(),
    up<StacksUp>(nobody).most({kMaxStacks}).uncounted(),  // proto::StacksPart judges it
    up<DebugUp>(nobody).most({kMaxDebug}).uncounted(),    // proto::DebugPart judges it
    up<ToolSaid>(process_once(&ToolSaid::which)).most(kNumbers).uncounted().to_root(),
    up<PieceWanted>(nobody).uncounted(),  // proto::StagingPart judges it
};

template <class... Row>
AnyOf<typename Row::Message...> messages_of(const Rows<Row...>&);
static_assert(std::is_same_v<AnyMessage, decltype(messages_of(kAll))>,
              "each message has a row, in the order of AnyMessage");

template <class M, class... Says>
constexpr MessageRow<M, Says...> row_of(const MessageRow<M, Says...>& row) {
  return row;
}

}  // namespace rows

template <class M>
inline constexpr auto kRowOf = rows::row_of<M>(rows::kAll);

/// A parent says it to its child.
template <class M>
concept FromParent = kRowOf<std::remove_cv_t<M>>
.goes_down;
/// It is for the root: every launcher on its way hands it on.
template <class M>
concept ForRoot = kRowOf<std::remove_cv_t<M>>
.goes_to_root;

}  // namespace charmtree::wire
