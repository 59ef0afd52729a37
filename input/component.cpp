// SPDX-License-Identifier: Apache-2.0
#include "input/component.hpp"

#include "tree/job/host_processes.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/overlay/trust.hpp"

namespace charmtree::input {

using proto::HostProcesses;
using proto::Seat;
using Taker = InputSpread::Taker;

namespace {

/// Calls `here` if the input process is on this host, or sends `order` to its launcher.
template <class F>
void to_reader(const wire::Message& order, proto::Turn& turn, F here) {
  const Seat seat = turn.seat();
  const std::uint32_t reader = seat.job.input.process;
  if (seat.processes != nullptr && seat.processes->contains(reader))
    here(*seat.processes, reader);
  else
    turn.hand_down(reader, order);
}

bool leads_to_reader(proto::LinkId link, const Seat& seat) {
  return seat.launch.subtree().owns_process(link, seat.job.input.process);
}

void refuse(proto::LinkId link, proto::Turn& turn) {
  turn.give_up(link, proto::Trust::lie());
}

}  // namespace

void InputComponent::down(const Input& input, Turn& turn) {
  if (turn.seat().job.input.to_all) return copy(input, turn);
  to_reader(input, turn, [&](HostProcesses& processes, std::uint32_t reader) {
    processes.write_input(reader, input.bytes, input.end, turn.out());
  });
}

void InputComponent::down(const RecallInput& order, Turn& turn) {
  const Seat seat = turn.seat();
  const bool here = seat.processes != nullptr && seat.processes->contains(seat.job.input.process);
  if (seat.job.input.to_all) end_copies(turn);
  if (seat.job.input.to_all && !here) return;  // all children have got the order
  to_reader(order, turn, [&](HostProcesses& processes, std::uint32_t reader) {
    turn.act(RecallPipe{processes.name_of(reader)});
  });
}

void InputComponent::down(const Resize& order, Turn& turn) {
  to_reader(order, turn, [&](HostProcesses& processes, std::uint32_t reader) {
    turn.act(ResizeTerminal{processes.name_of(reader), order.size});
  });
}

void InputComponent::up(LinkId link, const InputTaken& taken, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.job.input.to_all) return leads_to_reader(link, seat) ? turn.tell_up(taken) : refuse(link, turn);
  spread_.taken({Taker::Kind::link, link}, taken.bytes);
  report_taken(turn);
}

void InputComponent::up(LinkId link, const InputReturned& returned, Turn& turn) {
  leads_to_reader(link, turn.seat()) ? turn.tell_up(returned) : refuse(link, turn);
}

void InputComponent::on(const InputWritten& event, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.job.input.to_all) return turn.tell_up(InputTaken{event.bytes});
  std::uint32_t process = event.process;
  if (seat.processes == nullptr || !seat.processes->translate(process)) return;
  spread_.taken({Taker::Kind::process, process}, event.bytes);
  report_taken(turn);
}

void InputComponent::on(const InputRecalled& event, Turn& turn) {
  turn.tell_up(InputReturned{event.bytes});
}

void InputComponent::on(const WindowResized& event, Turn& turn) {
  const wire::JobSpec& job = turn.seat().job;
  if (job.terminal) turn.hand_down(job.input.process, Resize{event.size});
}

void InputComponent::on(const proto::ProcessGone& gone, Turn& turn) {
  spread_.gone({Taker::Kind::process, gone.process});
  report_taken(turn);
}

void InputComponent::on(const proto::InputReaderGone&, Turn& turn) {
  turn.tell_up(InputReturned{});
}

void InputComponent::child_lost(const proto::Child&, LinkId link, Turn& turn) {
  spread_.gone({Taker::Kind::link, link});
  report_taken(turn);
}

void InputComponent::copy(const Input& input, Turn& turn) {
  const Seat seat = turn.seat();
  turn.hand_down_all(input);
  std::vector<Taker> takers;
  for (const auto& [link, child] : seat.launch.children()) {
    if (child.serves()) takers.push_back({Taker::Kind::link, link});
  }
  if (seat.processes != nullptr) {
    for (const std::uint32_t process : seat.processes->living()) {
      takers.push_back({Taker::Kind::process, process});
      seat.processes->write_input(process, input.bytes, input.end, turn.out());
    }
  }
  spread_.sent(takers, static_cast<std::uint32_t>(input.bytes.size()));
  report_taken(turn);
}

void InputComponent::end_copies(Turn& turn) {
  const Seat seat = turn.seat();
  turn.hand_down_all(RecallInput{});
  if (seat.processes == nullptr) return;
  for (const std::uint32_t process : seat.processes->living()) {
    if (process != seat.job.input.process)
      turn.act(proto::WriteInput{seat.processes->name_of(process), {}, true});
  }
}

void InputComponent::report_taken(Turn& turn) {
  const std::uint32_t bytes = spread_.take_progress();
  if (bytes > 0) turn.tell_up(InputTaken{bytes});
}

}  // namespace charmtree::input
