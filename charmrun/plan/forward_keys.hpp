// SPDX-License-Identifier: Apache-2.0
// ++forward-agent, before the launch: which keys the launchers may offer in the root's name.
#pragma once

#include "charmrun/plan/job.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/ssh/signer.hpp"

namespace charmtree {

/// Names the public keys in every profile that libssh2 logs in with. Runs `io` until the agent has said what
/// it holds (3 s at most). Remarks if there is no key.
void forward_keys(io::asio::io_context& io, io::Signer& signer, Job& job);

}  // namespace charmtree
