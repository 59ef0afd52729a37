// SPDX-License-Identifier: Apache-2.0
// The part that gets logins of other launchers signed by the root (++forward-agent). A request goes up from
// link to link, each launcher passing only what is about hosts that it gave to that child; the root's half
// judges it (SignGate), has it signed and sends the answer down to the launcher that asked. Every request
// gets one answer, so that no login waits for longer than the root takes.
//
// Its messages: SignRequest, SignReply.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tree/overlay/sign_gate.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class SigningPart {
public:
  /// Of a launcher that asks.
  SigningPart() = default;
  /// The root's; `key_names`: what to call a key that is forwarded. `job` must outlive the object.
  SigningPart(const wire::JobSpec& job, std::map<std::string, std::string> key_names);
  /// Root: of a tree that another one had.
  void take_over(const std::vector<Host>& hosts) { gate_->take_over(hosts); }
  /// Root: another run of the program begins.
  void begin_run() { gate_->begin_run(); }

  /// A login of this launcher's own waits for it.
  void on(const SignatureWanted& event, Turn& turn);
  void on(const SignatureMade& event, Turn& turn);
  void up(const wire::SignRequest& request, Turn& turn);
  void down(const wire::SignReply& reply, Turn& turn);

  /// Root: who is up, or given up, gets no more signatures; whose launcher was lost is logged in to again.
  void heard(const wire::Facts& facts);
  void heard(const wire::LinkLost& lost);

private:
  std::optional<SignGate> gate_;  // root: of all runs
  std::map<std::string, std::string> key_names_;
  std::uint32_t refused_ = 0;
};

}  // namespace charmtree::proto
