// SPDX-License-Identifier: Apache-2.0
// What stands behind the C functions' handle, for them and for client-lib/pmi.
#pragma once

#include "client-lib/asks.hpp"
#include "client-lib/attributes.hpp"
#include "client-lib/charmtree.h"
#include "client-lib/fences.hpp"
#include "client-lib/job.hpp"
#include "client-lib/peers.hpp"
#include "client-lib/strategies.hpp"

struct ct_job {
  charmtree::client::Job job;
  charmtree::client::Fences fences{job};
  charmtree::client::Attributes attributes{job};
  charmtree::client::Peers peers;
  charmtree::client::Asks asks{job, fences, peers};
  charmtree::client::Strategies strategies{job, fences, asks};
};

namespace charmtree::client {

/// Calls `call(Job&)`. The one exception that can come out of it is want of memory (handlers throw none), and
/// it may have cost us half a message.
template <class Call>
int guarded(ct_job* handle, Call call) noexcept {
  if (handle == nullptr) return CT_EINVAL;
  if (handle->job.is_foreign()) return CT_EFORK;
  try {
    return call(handle->job);
  } catch (...) {
    handle->job.fail(CT_ENOMEM);
    return CT_ENOMEM;
  }
}

}  // namespace charmtree::client
