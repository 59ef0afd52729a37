// SPDX-License-Identifier: Apache-2.0
// A Link over another one whose bytes are only understood by who knows the secret (PskChannel). Who does not
// prove that is an end of the link, and nothing of it is ever handed out.
#pragma once

#include <functional>
#include <memory>

#include "tree/io/link/link.hpp"
#include "tree/io/mpiexec/psk_channel.hpp"

namespace charmtree::io {

class PskLink : public Link {
public:
  /// `context` must outlive the link.
  PskLink(std::unique_ptr<Link> carrier, PskContext& context)
      : carrier_(std::move(carrier)), channel_(context) {}

  /// May be called once more, after pause_reading(true): the new handlers then hear what comes from there on,
  /// and reading goes on.
  void start(Handlers handlers) override;
  /// Goes out as soon as the other end has proved itself.
  void send(std::string bytes) override;
  std::size_t backlog() const override { return carrier_->backlog(); }
  void pause_reading(bool paused) override { carrier_->pause_reading(paused); }
  std::optional<TcpEnds> ends() const override { return carrier_->ends(); }
  int descriptor() const override { return carrier_->descriptor(); }
  void close(Duration linger) override { carrier_->close(linger); }

  /// Called once, from the event loop, when the other end has proved itself. Set before start().
  void on_established(std::function<void()> handler) { established_ = std::move(handler); }

private:
  void received(std::string_view bytes);
  void flush();

  std::unique_ptr<Link> carrier_;
  PskChannel channel_;
  Handlers handlers_;
  std::function<void()> established_;
  bool started_ = false;
};

}  // namespace charmtree::io
