// SPDX-License-Identifier: Apache-2.0
// The input service: brings the user's stdin to the processes that read it.
#pragma once

#include "input/component.hpp"
#include "input/events.hpp"
#include "input/messages.hpp"
#include "input/root.hpp"

namespace charmtree::input {

struct InputService {
  using Messages = wire::MessageList<Input, RecallInput, Resize, InputTaken, InputReturned>;
  using Events = TypeList<InputRead, InputWritten, InputRecalled, WindowResized>;
  using Actions = TypeList<ReadInput, ReleaseKeys, RecallPipe, ResizeTerminal>;
  using Launcher = InputComponent;
  using Root = InputRoot;
};

}  // namespace charmtree::input
