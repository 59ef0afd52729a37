// SPDX-License-Identifier: Apache-2.0
#include "input/messages.hpp"

#include "input/members.hpp"
#include "tree/wire/message_type.hpp"

namespace charmtree::input {

using namespace wire::rows;

CT_MESSAGE_TYPE(Input, down());
CT_MESSAGE_TYPE(RecallInput, down());
CT_MESSAGE_TYPE(Resize, down());
// InputComponent checks for whom these speak.
CT_MESSAGE_TYPE(InputTaken, up(nobody).uncounted());
CT_MESSAGE_TYPE(InputReturned, up(nobody).most({wire::kMaxPiece}));

}  // namespace charmtree::input
