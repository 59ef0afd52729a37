// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_capture.hpp"

#include <utility>

namespace charmtree::proto {

void OutputCapture::read(const ProcessOutput& event, Instant now, const Way& way) {
  if (event.stream == Stream::terminal) {
    std::string bytes = event.bytes;
    if (on_terminal_[0] || on_terminal_[1]) std::erase(bytes, '\0');  // a client ends each copy so
    way.up.push_back(wire::Output{event.process, static_cast<std::uint8_t>(event.stream), false,
                                  std::move(bytes), wire::Tail::prompt, now});
    return;
  }
  if (copied_[place(event.stream)]) return;
  if (event.stream == Stream::err) last_words_.append(event.bytes);
  lines_.append(event.stream, event.bytes, false, now, way);
}

void OutputCapture::printed(const Printed& output, Instant now, const Way& way) {
  const bool shown = on_terminal_[place(output.stream)];
  lines_.append(output.stream, shown ? std::string_view{} : output.text, output.wants_receipt, now, way);
  if (output.stream == Stream::err) last_words_.append(output.text);
}

void OutputCapture::drained(const OutputDrained& event) {
  copied_ = event.copied;
  on_terminal_ = event.on_terminal;
}

bool OutputCapture::hold(bool wanted) {
  const bool held = wanted && !copied_[0] && !copied_[1];
  return std::exchange(held_, held) != held;
}

}  // namespace charmtree::proto
