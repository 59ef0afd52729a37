// SPDX-License-Identifier: Apache-2.0
// The output of one process: what of it is carried, in lines, and the last words on its stderr.
//
// A process's raw stdout and stderr are carried until its node table has been delivered by a server whose
// clients copy them: once it has its table, a stock Charm++ client captures what it writes there and sends
// every chunk as a print message, too. From then on they are read and dropped. A process with a terminal
// (++interactive) may go on using it; so its raw output is carried on, and its messages are dropped if their
// copies are on the terminal.
#pragma once

#include <array>
#include <string>

#include "tree/job/last_words.hpp"
#include "tree/job/output_lines.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class OutputCapture {
public:
  using Way = OutputLines::Way;

  /// Read from its pipes or its terminal.
  void read(const ProcessOutput& event, Instant now, const Way& way);
  /// Come over its connection.
  void printed(const Printed& output, Instant now, const Way& way);
  /// What was in its pipes before it had its table has been read.
  void drained(const OutputDrained& event);
  /// It is to get another table: until then its pipes hold no copies.
  void forget_copies() { copied_ = {}; }
  void flush(wire::Tail tail, const Way& way) { lines_.flush(tail, way); }
  void tick(Instant now, const Way& way) { lines_.tick(now, way); }
  Instant next_deadline() const { return lines_.next_deadline(); }

  /// Its pipes have just been opened, and are read.
  void begin() { held_ = false; }
  /// Leaves its pipes alone, or reads them again, but for those that hold copies: they always are, as a stock
  /// Charm++ client would wait in its writes there, and with it all that it owes to others. True: that is
  /// another state than before, and held() is the new one.
  bool hold(bool wanted);
  bool held() const { return held_; }

  const std::string& last_words() const { return last_words_.bytes(); }

private:
  static std::size_t place(Stream stream) { return stream == Stream::out ? 0 : 1; }

  OutputLines lines_;
  LastWords last_words_;
  std::array<bool, 2> copied_{};       // raw stdout, stderr are copies from now on
  std::array<bool, 2> on_terminal_{};  // what it prints on stdout, stderr is on its terminal already
  bool held_ = false;                  // its pipes are left alone
};

}  // namespace charmtree::proto
