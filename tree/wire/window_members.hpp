// SPDX-License-Identifier: Apache-2.0
// The members of WindowSize, which the job's description and a message have.
#pragma once

#include "tree/wire/describe.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree::wire {

CT_MEMBERS(WindowSize, s.rows, s.columns)

}  // namespace charmtree::wire
