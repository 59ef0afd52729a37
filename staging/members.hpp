// SPDX-License-Identifier: Apache-2.0
// The members of the messages in staging/messages.hpp, in the order in which they travel. A change is another
// protocol (kProtocol in tree/wire/greeting.cpp).
#pragma once

#include "staging/messages.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/error_members.hpp"

namespace charmtree::wire {

CT_MEMBERS(staging::StagedPiece, s.file, s.offset, s.bytes)
CT_MEMBERS(staging::PieceRefused, s.file, s.why)
CT_MEMBERS(staging::PieceWanted, s.file, s.offset, s.until, s.anew)

}  // namespace charmtree::wire
