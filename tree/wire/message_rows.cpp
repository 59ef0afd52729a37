// SPDX-License-Identifier: Apache-2.0
// The types of the messages between launchers: one row for each.
#include "tree/wire/message_members.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::wire {

using namespace rows;

namespace {
constexpr Limit kPiece{kMaxPiece}, kKey{kMaxKey}, kList{kMaxList};
constexpr Limit kTuples{kMaxList, 0, kMaxTuple + 8};  // all of a host go together
}  // namespace

CT_MESSAGE_TYPE(Welcome, down());
CT_MESSAGE_TYPE(Assign, down());
CT_MESSAGE_TYPE(TableDown, down());
CT_MESSAGE_TYPE(Release, down());
CT_MESSAGE_TYPE(Receipt, down());
CT_MESSAGE_TYPE(ScanReply, down());
CT_MESSAGE_TYPE(End, down());
CT_MESSAGE_TYPE(Sweep, down());
CT_MESSAGE_TYPE(Numbers, down());
CT_MESSAGE_TYPE(SignReply, down());
CT_MESSAGE_TYPE(Restart, down());
CT_MESSAGE_TYPE(Recover, down());
CT_MESSAGE_TYPE(Admit, down());
CT_MESSAGE_TYPE(CcsForward, down());
CT_MESSAGE_TYPE(Regroup, down());
CT_MESSAGE_TYPE(Reshape, down());
CT_MESSAGE_TYPE(QueuePairsDown, down());
CT_MESSAGE_TYPE(ForwardSignal, down());
CT_MESSAGE_TYPE(Suspend, down());
CT_MESSAGE_TYPE(OutputCredit, down());
CT_MESSAGE_TYPE(CcsSpread, down());
CT_MESSAGE_TYPE(Lost, down());
CT_MESSAGE_TYPE(Beat, down());
CT_MESSAGE_TYPE(Punctual, down());
CT_MESSAGE_TYPE(Renewed, down());
CT_MESSAGE_TYPE(Readmit, down());
CT_MESSAGE_TYPE(OutputTaken, down());
CT_MESSAGE_TYPE(Resend, down());
CT_MESSAGE_TYPE(Adopt, down());
CT_MESSAGE_TYPE(Relayed, down());
CT_MESSAGE_TYPE(Claim, down());
CT_MESSAGE_TYPE(Relaunch, down());
CT_MESSAGE_TYPE(Moved, down());
CT_MESSAGE_TYPE(Inquired, down().asked_again());
CT_MESSAGE_TYPE(Answered, down().asked_again());
CT_MESSAGE_TYPE(WorldBegun, down());
CT_MESSAGE_TYPE(Hello, up(nobody));
CT_MESSAGE_TYPE(Facts, up(judged).most(kTuples).uncounted());
CT_MESSAGE_TYPE(Output, up(process_once<&Output::process>, judged).most(kPiece).uncounted());
CT_MESSAGE_TYPE(ScanUp, up(process_once<&ScanUp::process>).uncounted());
CT_MESSAGE_TYPE(AbortUp, up(process<&AbortUp::process>).most(kPiece));
CT_MESSAGE_TYPE(HandBack, up(judged).most(kList));
CT_MESSAGE_TYPE(NewHostKey, up(judged).most(kKey));
CT_MESSAGE_TYPE(Note, up(host<&Note::host>).uncounted());
CT_MESSAGE_TYPE(Stamps, up(host<&Stamps::host>, judged));
CT_MESSAGE_TYPE(
    LinkLost,
    up(host<&LinkLost::host>, process_once<&LinkLost::processes>, host<&LinkLost::hosts>).most(kNumbers));
CT_MESSAGE_TYPE(Done, up(host<&Done::unconfirmed>).most(kNumbers));
CT_MESSAGE_TYPE(Swept, up(judged));
CT_MESSAGE_TYPE(Ask, up(nobody));
CT_MESSAGE_TYPE(SignRequest, up(host<&SignRequest::launcher>, judged).most(kKey));
CT_MESSAGE_TYPE(Checkup, up(host<&Checkup::host>, judged));
CT_MESSAGE_TYPE(Rejoined, up(process<&Rejoined::process>));
CT_MESSAGE_TYPE(CcsAnswer, up(process<&CcsAnswer::process>).most(kPiece).uncounted());
CT_MESSAGE_TYPE(Bindings, up(host<&Bindings::host>, judged).most({kMaxSaid, 0, 5 * Remit::kMostPus}));
CT_MESSAGE_TYPE(PesWanted, up(process<&PesWanted::process>));
CT_MESSAGE_TYPE(Left, up(process<&Left::process>));
CT_MESSAGE_TYPE(QueuePairsUp, up(judged).most({kMaxQueuePairs}).uncounted());
CT_MESSAGE_TYPE(BeatUp, up(nobody).uncounted());
CT_MESSAGE_TYPE(WasPunctual, up(nobody).uncounted());
CT_MESSAGE_TYPE(Waiting, up(judged));
CT_MESSAGE_TYPE(Claimed, up(judged).most(kNumbers));
CT_MESSAGE_TYPE(Taken, up(judged));
CT_MESSAGE_TYPE(Reached, up(host<&Reached::host>, process<&Reached::processes>, judged).most(kNumbers));
CT_MESSAGE_TYPE(Idle, up(host<&Idle::unconfirmed>, host<&Idle::unbounded>, judged).most(kNumbers));
CT_MESSAGE_TYPE(Confirmed, up(host<&Confirmed::hosts>).most(kNumbers));
CT_MESSAGE_TYPE(Fenced, up(host<&Fenced::host>, judged));
CT_MESSAGE_TYPE(Silence, up(process_once<&Silence::process>));
CT_MESSAGE_TYPE(Inquiry, up(process<&Inquiry::process>).uncounted().asked_again());
CT_MESSAGE_TYPE(
    InquiryReply,
    up(process<&InquiryReply::process>).most({kMaxSaid + kMostAnswered}).uncounted().asked_again());
CT_MESSAGE_TYPE(NameInquiry, up(process<&NameInquiry::process>)
                                 .most({kMaxSaid + kMostName + kMostPublished})
                                 .uncounted()
                                 .asked_again());
CT_MESSAGE_TYPE(WorldWanted, up(process<&WorldWanted::process>).most({kMaxSaid + kMostWanted}));

}  // namespace charmtree::wire
