// SPDX-License-Identifier: Apache-2.0
// The part that carries the user's stdin: down to one process, or a copy to each (++stdin all). What has been
// taken is told upwards, so that the root reads no more than fits. The root's half is UserInput.
//
// Its messages: Input, RecallInput and Resize; InputTaken and InputReturned.
#pragma once

#include "tree/job/input_spread.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class InputPart {
public:
  void down(const wire::Input& input, Turn& turn);
  /// From now on scanf has the input: what the input process has not read is taken back, and copies end.
  void down(const wire::RecallInput& order, Turn& turn);
  void down(const wire::Resize& order, Turn& turn);
  void up(LinkId link, const wire::InputTaken& taken, Turn& turn);
  void on(const InputWritten& event, Turn& turn);
  void on(const InputRecalled& event, Turn& turn);
  void on(const WindowResized& event, Turn& turn);
  /// A process of this host, or a child, takes no more.
  void gone(std::uint32_t process, Turn& turn);
  void lost(LinkId child, Turn& turn);

private:
  void copy(const wire::Input& input, Turn& turn);
  void end_copies(Turn& turn);
  void tell_taken(Turn& turn);

  InputSpread spread_;
};

}  // namespace charmtree::proto
