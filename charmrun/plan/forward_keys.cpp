// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/forward_keys.hpp"

#include "tree/io/ssh/ssh_wire.hpp"

namespace charmtree {

void forward_keys(io::asio::io_context& io, io::Signer& signer, Job& job) {
  bool by_ssh = false;
  for (Profile& profile : job.plan.job.profiles) {
    if (profile.via != Via::ssh || profile.ssh_command_only) continue;
    by_ssh = true;
    bool open = false;
    signer.open(profile, [&open] { open = true; });
    while (!open) io.run_one();
    profile.forwarded_keys = signer.keys_for(profile);
    for (const std::string& key : profile.forwarded_keys)
      job.plan.key_names.emplace(key, io::key_type(key) + " " + io::fingerprint(key));
  }
  if (!job.plan.key_names.empty()) return;
  job.remarks.emplace_back(
      by_ssh ? "++forward-agent has nothing to offer: put a key into your ssh agent (ssh-add), or make an "
               "ed25519 key without a passphrase"
             : "++forward-agent does nothing here: no host is reached by the built-in ssh");
}

}  // namespace charmtree
