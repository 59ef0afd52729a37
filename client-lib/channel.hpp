// SPDX-License-Identifier: Apache-2.0
// The client's end of the connection to its launcher: whole messages over a unix-domain socket, with
// deadlines. It knows frames and descriptors, and nothing of what may be said when. Functions return CT_OK or
// a negative CT_E... value (charmtree.h).
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <deque>
#include <string>

#include "tree/wire/native_message.hpp"

namespace charmtree::client {

/// A moment in the future, or never.
class Deadline {
public:
  /// `timeout_ms` from now; negative: never.
  explicit Deadline(int timeout_ms);
  /// Rounded up; -1: for ever. What poll(2) takes.
  int left_ms() const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_;
  bool never_;
};

class Channel {
public:
  Channel() = default;
  ~Channel() { close(); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// CT_EENV if the path is too long for a socket, CT_ECONNECT, CT_ETIMEDOUT. May be called again, after
  /// which nothing of the old connection is left.
  int connect(const std::string& path, const Deadline& deadline);
  void close();

  /// CT_OK: the message is taken and will leave whole, if not now then with later calls. CT_ETIMEDOUT: it is
  /// not taken, because an earlier one has not left yet. CT_ELOST: the launcher does not read any more (but
  /// there may be something to receive).
  int send(const wire::native::FromClient& message, const Deadline& deadline) {
    return send_frames(wire::native::to_frame(message), deadline);
  }
  /// The same for messages that belong together.
  int send_frames(std::string frames, const Deadline& deadline);
  /// Waits until all that was taken has left.
  int flush(const Deadline& deadline);

  /// The next message; sends what is waiting meanwhile. CT_ELOST at the end of the stream, CT_EPROTO for ever
  /// after garbage.
  int receive(wire::native::FromLauncher& message, const Deadline& deadline);

  /// The first of those that have come with messages and were not taken, which is the caller's now; -1: none.
  int take_descriptor();

  int descriptor() const { return fd_; }
  /// What it is to be polled for.
  int poll_events() const { return outbox_.empty() ? POLLIN : POLLIN | POLLOUT; }

private:
  int push();
  void drop_outbox();
  int pull();
  bool keep_descriptors(const msghdr& message);
  int wait(short events, const Deadline& deadline) const;

  int fd_ = -1;
  std::string outbox_;  // what send() has taken last; its first `left_` bytes have left
  std::size_t left_ = 0;
  bool deaf_ = false;  // the launcher reads no more
  wire::FrameDecoder decoder_{wire::kMaxLinkFrame};
  std::deque<int> passed_;  // descriptors
};

}  // namespace charmtree::client
