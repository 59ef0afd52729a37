// SPDX-License-Identifier: Apache-2.0
// Where the events of a job are written (++json). On stdout they take the place of the program's output,
// which is inside them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "charmrun/view/event_log.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/io/user/user_streams.hpp"

namespace charmtree {

class EventWriter {
public:
  /// Error bad_input (phase options): the place of ++json cannot be opened; a file is truncated.
  static Result<EventWriter> open(const std::string& place);

  bool on_stdout() const { return fd_.get() < 0; }
  /// Writes all of it before it returns; blocks as long as the reader does. Error internal: it could not be
  /// written. Instead of begin().
  Result<void> write_now(std::string_view text) const;
  /// `progress` is called from the event loop after bytes were written, `broken` once if that fails. Not on
  /// stdout.
  void begin(io::asio::io_context& io, std::function<void()> progress, std::function<void(int error)> broken);
  void write(std::string line) { writer_->write(std::move(line)); }
  std::size_t backlog() const { return writer_ ? writer_->backlog() : 0; }
  bool drain(Duration limit) { return !writer_ || writer_->drain(limit); }
  /// Why nothing can be written any more, an errno; 0: all is well.
  int failure() const { return writer_ ? writer_->failure() : 0; }

private:
  io::UniqueFd fd_;  // none: stdout
  std::unique_ptr<io::OutputWriter> writer_;
};

}  // namespace charmtree
