// SPDX-License-Identifier: Apache-2.0
// A client's conversation with a service, in an event loop: messages of one variant in both directions.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "charmrun/control/client.hpp"
#include "charmrun/control/control_socket.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"

namespace charmtree::control {

/// `Variant` has encode() and decode() beside it (control/framing.hpp).
template <class Variant>
class ServiceLink {
public:
  /// Called from the loop, `received` also from inside start().
  struct Handlers {
    std::function<bool(Variant&)> received;    // false: no more messages are wanted
    std::function<void(const Error&)> failed;  // refused, or no message of the service
    std::function<void()> ended;               // the other side has closed the connection
  };
  ServiceLink() = default;
  ServiceLink(const ServiceLink&) = delete;
  ServiceLink& operator=(const ServiceLink&) = delete;
  ~ServiceLink() { close(); }

  /// Takes over a client whose service is open. Error internal: no descriptor is left.
  Result<void> start(io::asio::io_context& io, Client client, Handlers handlers) {
    handlers_ = std::move(handlers);
    auto [connection, decoder] = client.release();
    decoder_ = std::move(decoder);
    link_ = connection ? link_over(io, std::move(connection)) : nullptr;
    if (!link_) return Error{Errc::internal, Phase::run, "out of file descriptors", "raise ulimit -n"};
    link_->start({[this](std::string_view bytes) { receive(bytes); },
                  [this](const io::LinkEnd&) { handlers_.ended(); },
                  {}});
    receive({});
    return {};
  }
  /// Error bad_input: the message is larger than a frame may be.
  Result<void> send(const Variant& message) {
    auto frame = encode(message);
    if (!frame) return frame.error();
    link_->send(std::move(*frame));
    return {};
  }
  /// Stops (resumes) reading: the other side waits, or leaves messages out.
  void pause_reading(bool paused) { link_->pause_reading(paused); }
  void close() {
    if (link_) link_->close(Duration{0});
  }

private:
  void receive(std::string_view bytes) {
    decoder_.append(bytes);
    while (wants_more_) {
      const auto frame = decoder_.next();
      if (frame && !frame->has_value()) return;
      Variant message;
      const bool is_message = frame && decode(**frame, message);
      wants_more_ = is_message && handlers_.received(message);
      if (!is_message) handlers_.failed(frame ? reason_in(**frame) : not_understood());
    }
  }
  static Error reason_in(const wire::Frame& frame) {
    const auto message = decode(frame);
    const auto* refused = message ? std::get_if<Refused>(&*message) : nullptr;
    return refused ? error_of(*refused) : not_understood();
  }

  Handlers handlers_;
  std::shared_ptr<io::FdLink> link_;
  wire::FrameDecoder decoder_{wire::kMaxLinkFrame};
  bool wants_more_ = true;
};

}  // namespace charmtree::control
