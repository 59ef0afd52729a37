// SPDX-License-Identifier: Apache-2.0
#include "staging/messages.hpp"

#include "staging/members.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::staging {

using namespace wire::rows;

CT_MESSAGE_TYPE(StagedPiece, down());
CT_MESSAGE_TYPE(PieceRefused, down());
// StagingComponent checks the file and the range.
CT_MESSAGE_TYPE(PieceWanted, up(nobody).uncounted());

}  // namespace charmtree::staging
