// SPDX-License-Identifier: Apache-2.0
// The members of the messages in control/shown.hpp, for those who encode them.
#pragma once

#include "charmrun/control/shown.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::wire {

CT_MEMBERS(control::Line, s.tone, s.text)
CT_MEMBERS(control::Printed, s.output, s.host, s.processes, s.raw)

}  // namespace charmtree::wire
