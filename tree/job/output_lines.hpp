// SPDX-License-Identifier: Apache-2.0
// stdout and stderr of one process on their way up: cut into lines, or as they come where the job wants that.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/job/line_buffer.hpp"

namespace charmtree::proto {

class OutputLines {
public:
  /// Whose output it is, and where the messages about it go.
  struct Way {
    const wire::JobSpec& job;
    std::uint32_t process;
    std::vector<wire::Message>& up;
  };

  /// `receipt`: the process waits until all this has been shown, so nothing is held back.
  void append(Stream stream, std::string_view bytes, bool receipt, Instant now, const Way& way);
  /// Passes on what is held back, because it must be seen now or (`ended`) nothing more will come.
  void flush(wire::Tail tail, const Way& way);
  /// Passes on what has been held back for long enough.
  void tick(Instant now, const Way& way);
  Instant next_deadline() const { return earlier(lines_[0].deadline(), lines_[1].deadline()); }

private:
  static constexpr std::array<Stream, 2> kStreams = {Stream::out, Stream::err};
  static std::size_t place(Stream stream) { return stream == Stream::out ? 0 : 1; }
  void send(Stream stream, LineBuffer::Piece piece, bool receipt, const Way& way) const;

  std::array<LineBuffer, 2> lines_;
  std::array<Instant, 2> read_{kNever, kNever};  // the last bytes
};

}  // namespace charmtree::proto
