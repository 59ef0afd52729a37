// SPDX-License-Identifier: Apache-2.0
// The link over one ssh channel, once a login is through. One libssh2 operation at a time: an operation that
// left a packet half sent is repeated, with the same arguments and before any other, until it is through. The
// remote command's stdout is the link, its stderr is kept as a bounded tail, its exit status ends up in
// LinkEnd.
#pragma once

#include <memory>
#include <string>

#include "tree/io/link/link.hpp"
#include "tree/io/ssh/ssh_session.hpp"

namespace charmtree::io {

inline constexpr std::size_t kStderrTail = 4096;

class SshLink final : public Link {
public:
  /// Takes a session whose channel runs the remote command.
  explicit SshLink(std::unique_ptr<SshSession> session);
  /// Without a close() before: abrupt.
  ~SshLink() override;

  void start(Handlers handlers) override;
  void send(std::string bytes) override;
  std::size_t backlog() const override;
  void pause_reading(bool paused) override;
  std::optional<TcpEnds> ends() const override;
  int descriptor() const override { return -1; }  // a channel among the session's
  void close(Duration linger) override;

private:
  class Pump;  // lives on while its own handlers are under way
  std::shared_ptr<Pump> pump_;
};

}  // namespace charmtree::io
