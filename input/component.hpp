// SPDX-License-Identifier: Apache-2.0
// The input component of a launcher. It carries the user's stdin down to one process, or a copy to each
// process
// (++stdin all), and reports upwards how much of it has been taken, so that the root reads no more than fits.
#pragma once

#include "input/events.hpp"
#include "input/input_spread.hpp"
#include "input/messages.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::input {

class InputComponent {
public:
  using LinkId = proto::LinkId;
  using Turn = proto::Turn;

  void down(const Input& input, Turn& turn);
  /// Takes back what the input process has not read, and ends the copies.
  void down(const RecallInput& order, Turn& turn);
  void down(const Resize& order, Turn& turn);
  void up(LinkId link, const InputTaken& taken, Turn& turn);
  void up(LinkId link, const InputReturned& returned, Turn& turn);
  void on(const InputWritten& event, Turn& turn);
  void on(const InputRecalled& event, Turn& turn);
  void on(const WindowResized& event, Turn& turn);
  void on(const proto::ProcessGone& gone, Turn& turn);
  void on(const proto::InputReaderGone& gone, Turn& turn);
  void child_lost(const proto::Child& child, LinkId link, Turn& turn);

private:
  void copy(const Input& input, Turn& turn);
  void end_copies(Turn& turn);
  void report_taken(Turn& turn);

  InputSpread spread_;
};

}  // namespace charmtree::input
