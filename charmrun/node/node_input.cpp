// SPDX-License-Identifier: Apache-2.0
// The user's stdin on its way down: to one process, or a copy to each. What has been taken is told upwards,
// so that the root reads no more than fits.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

using Taker = InputSpread::Taker;

void Node::handle(const InputRead& event) {
  if (!desk_) return;
  DeskOrders orders;
  desk_->input(event, orders);
  pass_on(orders);
}

void Node::handle(const InputWritten& event) {
  if (!job_->input_to_all) return up(wire::InputTaken{event.bytes});
  std::uint32_t process = event.process;
  if (!processes_ || !processes_->translate(process)) return;
  input_spread_.taken({Taker::Kind::process, process}, event.bytes);
  tell_input_taken();
}

void Node::handle(const InputRecalled& event) {
  up(wire::InputReturned{event.bytes});
}

void Node::handle(const WindowResized& event) {
  if (job_->terminal) down_to(job_->input_process, wire::Resize{event.size});
}

/// True: it was about the input. `message` comes from above or from the desk.
bool Node::about_input(const wire::Message& message) {
  const std::uint32_t reader = job_->input_process;
  const bool here = processes_ && processes_->contains(reader);
  if (const auto* input = std::get_if<wire::Input>(&message)) {
    if (job_->input_to_all)
      copy_input(*input);
    else if (here)
      processes_->write_input(reader, input->bytes, input->end, *out_);
    else
      down_to(reader, message);
  } else if (std::holds_alternative<wire::RecallInput>(message)) {
    if (job_->input_to_all) end_copies();
    if (here)
      out_->push_back(RecallPipe{processes_->name_of(reader)});
    else if (!job_->input_to_all)
      down_to(reader, message);
  } else if (const auto* resize = std::get_if<wire::Resize>(&message)) {
    if (here)
      out_->push_back(ResizeTerminal{processes_->name_of(reader), resize->size});
    else
      down_to(reader, message);
  } else {
    return false;
  }
  return true;
}

void Node::copy_input(const wire::Input& input) {
  down_all(input);
  std::vector<Taker> takers;
  for (const auto& [link, child] : launch_->children()) {
    if (child.serves()) takers.push_back({Taker::Kind::link, link});
  }
  if (processes_) {
    for (const std::uint32_t process : processes_->living()) {
      takers.push_back({Taker::Kind::process, process});
      processes_->write_input(process, input.bytes, input.end, *out_);
    }
  }
  input_spread_.sent(takers, static_cast<std::uint32_t>(input.bytes.size()));
  tell_input_taken();
}

/// From now on scanf has the input: the copy of the input process is taken back, the others end.
void Node::end_copies() {
  down_all(wire::RecallInput{});
  if (!processes_) return;
  for (const std::uint32_t process : processes_->living()) {
    if (process != job_->input_process) out_->push_back(WriteInput{processes_->name_of(process), {}, true});
  }
}

void Node::tell_input_taken() {
  const std::uint32_t bytes = input_spread_.take_progress();
  if (bytes > 0) up(wire::InputTaken{bytes});
}

}  // namespace charmtree
