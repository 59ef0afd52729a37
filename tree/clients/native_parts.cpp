// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_parts.hpp"

#include <utility>

namespace charmtree::proto {

namespace native = wire::native;

std::string NativeParts::on(const NativeSpeaker& by, native::FenceEnter& enter, Instant, ClientOutputs& out) {
  if (!by.has_registered) return "entered a fence out of turn";
  if (!bears_fences_) {
    const native::FenceOver failed{enter.id, "lost processes are started again one by one"};
    out.push_back(ToClient{by.client, native::to_frame(failed)});
    return {};
  }
  if (enter.gives != native::FenceEnter::Gives::ring)
    return exchange_.enter(by.client, by.process, std::move(enter), out);
  rings_.enter(by.client, by.process, std::move(enter), out);
  return {};
}

std::string NativeParts::on(const NativeSpeaker& by, native::AttributePut& put, Instant, ClientOutputs& out) {
  if (!by.has_registered || attributes_.is_waiting(by.client)) return "put an attribute out of turn";
  attributes_.put(by.client, std::move(put), out);
  return {};
}

std::string NativeParts::on(const NativeSpeaker& by, native::AttributeWanted& wanted, Instant,
                            ClientOutputs& out) {
  if (!by.has_registered || attributes_.is_waiting(by.client)) return "asked for an attribute out of turn";
  attributes_.want(by.client, std::move(wanted), out);
  return {};
}

/// Before it registers: what it tells the others then is, most likely, this port.
std::string NativeParts::on(const NativeSpeaker& by, native::PortWanted& wanted, Instant,
                            ClientOutputs& out) {
  std::bitset<wire::kPortKinds>& asked = asked_ports_[by.client];
  const std::size_t place = wire::place_of(wanted.kind);
  if (asked.test(place)) return "asked for a port out of turn";
  asked.set(place);
  const PassedPort port{wanted.kind, local_.rank_of(by.process), local_.size(),
                        native::to_frame(native::Port{wanted.kind, false})};
  out.push_back(ToClient{by.client, native::to_frame(native::Port{wanted.kind}), {}, {}, port});
  return {};
}

std::string NativeParts::on(const NativeSpeaker& by, native::Offer& offer, Instant, ClientOutputs& out) {
  return offers_.offer(by.process, std::move(offer), out);
}

std::string NativeParts::on(const NativeSpeaker& by, native::Ask& ask, Instant now, ClientOutputs& out) {
  return offers_.ask(by.client, by.process, std::move(ask), now, out);
}

std::string NativeParts::on(const NativeSpeaker& by, native::Listen& listen, Instant, ClientOutputs& out) {
  return offers_.listen(by.client, by.process, std::move(listen), out);
}

std::string NativeParts::on(const NativeSpeaker& by, native::Answer& answer, Instant, ClientOutputs& out) {
  offers_.answer(by.process, answer, out);
  return {};
}

std::string NativeParts::on(const NativeSpeaker& by, native::TopologyWanted&, Instant, ClientOutputs& out) {
  topology_.want(by.client, out);
  return {};
}

void NativeParts::lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) {
  exchange_.lost(processes, out);
  rings_.lost(processes, out);
  offers_.lost(processes, out);
  if (local_.count_among(processes) > 0) attributes_.give_up(out);
}

void NativeParts::forget(ClientId client, ClientOutputs& out) {
  exchange_.forget(client);
  rings_.forget(client);
  attributes_.forget(client);
  offers_.forget(client, out);
  topology_.forget(client);
  asked_ports_.erase(client);
}

}  // namespace charmtree::proto
