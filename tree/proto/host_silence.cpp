// SPDX-License-Identifier: Apache-2.0
// The part of HostProcesses for those that say nothing: it has them looked at, tells the root, and kills them
// if the user wants that. One that is stopped is never killed: somebody may want to look at it.
#include <fmt/format.h>

#include "tree/base/signals.hpp"
#include "tree/proto/host_processes.hpp"
#include "tree/proto/process_end.hpp"

namespace charmtree::proto {

void HostProcesses::on(const ClientSeen& event, Instant now, Actions& out, Upward& up) {
  if (ending_) return;
  ask_each([&](ClientServer& each,
               ClientOutputs& outputs) { each.seen(event.process, event.sight, now, outputs); },
           now, out, up);
}

void HostProcesses::apply(const wire::Silence& silence, Actions& out, Upward& up) {
  up.messages.emplace_back(silence);
  if (silence.state != wire::Silence::State::hung || !job_->silence.kills) return;
  at(silence.process).hung = silence.lasted;
  out.push_back(Signal{name_of(silence.process), signals::kKill});
}

void HostProcesses::explain_kill(const Process& process, wire::ProcessExit& exit) {
  if (process.hung == Duration{0}) return;
  exit.hung = true;
  exit.text = fmt::format("it had not served its socket for {}", words_for(process.hung));
}

}  // namespace charmtree::proto
