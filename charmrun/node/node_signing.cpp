// SPDX-License-Identifier: Apache-2.0
// Signatures of the root for logins that other launchers make (++forward-agent). A request goes up from link
// to link, each launcher passing only what is about hosts that it gave to that child; the root judges it, has
// it signed and sends the answer down to the launcher that asked. Every request gets one answer, so that no
// login waits for longer than the root takes.
#include <fmt/format.h>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

namespace {
constexpr std::uint32_t kRefusalsTold =
    20;  // lines; a launcher that goes on asking gets no more of the screen
}

/// A login of this launcher's own.
void Node::handle(const SignatureWanted& event) {
  const Child* child = launch_ ? launch_->find(event.link) : nullptr;
  if (child == nullptr || child->state != Child::State::logging_in) return;
  if (desk_ || parent_gone_) {
    out_->push_back(Signed{event.link, {}});
    return;
  }
  up(wire::SignRequest{self_.index, event.link, child->host.index, event.data});
}

void Node::sign_request(const wire::SignRequest& request) {
  if (!desk_) return up(request);
  const Host& host = desk_->hosts()[request.host];
  const std::string& launcher = desk_->hosts()[request.launcher].name;
  const auto key = sign_gate_->admit(host, request.data, ending_ != Ending::no);
  if (!key) {
    if (refused_++ < kRefusalsTold)
      out_->push_back(Say{Tone::info, fmt::format("{}: refused to sign a login for the launcher on {}: {}",
                                                  host.name, launcher, key.error().what)});
    sign_reply({request.launcher, request.login, {}});
    return;
  }
  out_->push_back(Say{Tone::verbose, fmt::format("{}: signing the login with {} for the launcher on {}",
                                                 host.name, desk_->key_name(*key), launcher)});
  out_->push_back(Sign{request.launcher, request.login, *key, request.data});
}

/// Root: who is up, or given up, gets no more signatures.
void Node::tell_gate(const wire::Facts& facts) {
  for (const std::uint32_t host : facts.hosts_up) sign_gate_->answered(host);
  for (const wire::HostFailure& failure : facts.hosts_failed) sign_gate_->failed(failure);
}

/// Root: whose launcher was lost is logged in to again.
void Node::tell_gate(const wire::LinkLost& lost) {
  if (lost.lives) return;
  sign_gate_->lost(lost.host);
  for (const std::uint32_t host : lost.hosts) sign_gate_->lost(host);
}

void Node::handle(const SignatureMade& event) {
  sign_reply({event.launcher, event.login, event.signature});
}

void Node::sign_reply(const wire::SignReply& reply) {
  if (!desk_ && reply.launcher == self_.index) {
    const Child* child = launch_->find(reply.login);
    if (child != nullptr && child->state == Child::State::logging_in)
      out_->push_back(Signed{reply.login, reply.signature});
    return;
  }
  const Subtree::Entry* entry = launch_->subtree().find(reply.launcher);
  if (entry != nullptr && launch_->find_up(entry->link) != nullptr) out_->push_back(Send{entry->link, reply});
}

}  // namespace charmtree
