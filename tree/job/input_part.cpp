// SPDX-License-Identifier: Apache-2.0
#include "tree/job/input_part.hpp"

#include "tree/job/host_processes.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::proto {

using Taker = InputSpread::Taker;

namespace {

/// Gives `order` to the process that has the input, or to its launcher. `here`: what its own does.
template <class F>
void to_reader(const wire::Message& order, Turn& turn, F here) {
  const Seat seat = turn.seat();
  const std::uint32_t reader = seat.job.input.process;
  if (seat.processes != nullptr && seat.processes->contains(reader))
    here(*seat.processes, reader);
  else
    turn.hand_down(reader, order);
}

}  // namespace

void InputPart::down(const wire::Input& input, Turn& turn) {
  if (turn.seat().job.input.to_all) return copy(input, turn);
  to_reader(input, turn, [&](HostProcesses& processes, std::uint32_t reader) {
    processes.write_input(reader, input.bytes, input.end, turn.out());
  });
}

void InputPart::down(const wire::RecallInput& order, Turn& turn) {
  const Seat seat = turn.seat();
  const bool here = seat.processes != nullptr && seat.processes->contains(seat.job.input.process);
  if (seat.job.input.to_all) end_copies(turn);
  if (seat.job.input.to_all && !here) return;  // all have been told
  to_reader(order, turn, [&](HostProcesses& processes, std::uint32_t reader) {
    turn.act(RecallPipe{processes.name_of(reader)});
  });
}

void InputPart::down(const wire::Resize& order, Turn& turn) {
  to_reader(order, turn, [&](HostProcesses& processes, std::uint32_t reader) {
    turn.act(ResizeTerminal{processes.name_of(reader), order.size});
  });
}

void InputPart::up(LinkId link, const wire::InputTaken& taken, Turn& turn) {
  if (!turn.seat().job.input.to_all) return turn.tell_up(taken);
  spread_.taken({Taker::Kind::link, link}, taken.bytes);
  tell_taken(turn);
}

void InputPart::on(const InputWritten& event, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.job.input.to_all) return turn.tell_up(wire::InputTaken{event.bytes});
  std::uint32_t process = event.process;
  if (seat.processes == nullptr || !seat.processes->translate(process)) return;
  spread_.taken({Taker::Kind::process, process}, event.bytes);
  tell_taken(turn);
}

void InputPart::on(const InputRecalled& event, Turn& turn) {
  turn.tell_up(wire::InputReturned{event.bytes});
}

void InputPart::on(const WindowResized& event, Turn& turn) {
  const wire::JobSpec& job = turn.seat().job;
  if (job.terminal) turn.hand_down(job.input.process, wire::Resize{event.size});
}

void InputPart::gone(std::uint32_t process, Turn& turn) {
  spread_.gone({Taker::Kind::process, process});
  tell_taken(turn);
}

void InputPart::lost(LinkId child, Turn& turn) {
  spread_.gone({Taker::Kind::link, child});
  tell_taken(turn);
}

void InputPart::copy(const wire::Input& input, Turn& turn) {
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
  tell_taken(turn);
}

void InputPart::end_copies(Turn& turn) {
  const Seat seat = turn.seat();
  turn.hand_down_all(wire::RecallInput{});
  if (seat.processes == nullptr) return;
  for (const std::uint32_t process : seat.processes->living()) {
    if (process != seat.job.input.process) turn.act(WriteInput{seat.processes->name_of(process), {}, true});
  }
}

void InputPart::tell_taken(Turn& turn) {
  const std::uint32_t bytes = spread_.take_progress();
  if (bytes > 0) turn.tell_up(wire::InputTaken{bytes});
}

}  // namespace charmtree::proto
