// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmix/pmix_message.hpp"

#include <utility>

#include "tree/wire/message_members.hpp"

namespace charmtree::wire {

CT_MEMBERS(pmix::Node, s.name, s.ranks)
CT_MEMBERS(pmix::Describe, s.name_space, s.first, s.size, s.nodes, s.host, s.host_name, s.programs,
           s.shares_machine, s.universe, s.parent)
CT_MEMBERS(pmix::Over, s.call, s.failure, s.given, s.id)
CT_MEMBERS(pmix::Named, s.call, s.failure, s.value)
CT_MEMBERS(pmix::Wanted, s.call, s.process)
CT_MEMBERS(pmix::Born, s.call, s.failure, s.first)
CT_MEMBERS(pmix::Taken, s.call)
CT_MEMBERS(pmix::Lost, s.processes)
CT_MEMBERS(pmix::Exited, s.process)
CT_MEMBERS(pmix::Serving, s.first, s.variables)
CT_MEMBERS(pmix::Failed, s.why, s.fix)
CT_MEMBERS(pmix::Connected, s.process)
CT_MEMBERS(pmix::Finalized, s.process)
CT_MEMBERS(pmix::Aborting, s.process, s.status, s.text)
CT_MEMBERS(pmix::Entered, s.call, s.processes, s.given, s.name)
CT_MEMBERS(pmix::Inquiring, s.call, s.about)
CT_MEMBERS(pmix::Naming, s.call, s.process, s.deed, s.name, s.value)
CT_MEMBERS(pmix::Bearing, s.call, s.process, s.programs)
CT_MEMBERS(pmix::Given, s.call, s.failure, s.bytes)
CT_MEMBERS(pmix::Logged, s.call, s.process, s.text)
CT_MEMBERS(pmix::Heard, s.process)

}  // namespace charmtree::wire

namespace charmtree::pmix {

namespace {

Error bad_peer() {
  return {Errc::bad_peer, Phase::run, "what came from the PMIx helper is no message", {}};
}

bool is_of_launcher(const Message& message) {
  return message.index() < Message{Serving{}}.index();
}

}  // namespace

std::vector<std::uint32_t> Describe::here() const {
  std::vector<std::uint32_t> all;
  for (const Node& node : nodes) {
    if (node.name == host_name) node.for_each_rank([&](std::uint32_t rank) { all.push_back(rank); });
  }
  return all;
}

std::string encode(const Message& message) {
  wire::FrameWriter out;
  std::visit([&](const auto& m) { wire::put(out, m); }, message);
  if (out.payload_size() > kMostFrame) return {};
  return out.take_frame(static_cast<std::uint8_t>(message.index()));
}

Result<std::optional<Message>> Decoder::next() {
  if (broken_) return bad_peer();
  const auto frame = decoder_.next();
  if (!frame) return frame.error();
  if (!frame->has_value()) return std::optional<Message>{};
  auto message = wire::decode_alternative<Message>((**frame).type, (**frame).payload);
  broken_ = !message || is_of_launcher(*message) != (from_ == From::launcher);
  if (broken_) return bad_peer();
  return std::optional<Message>{std::move(*message)};
}

}  // namespace charmtree::pmix
