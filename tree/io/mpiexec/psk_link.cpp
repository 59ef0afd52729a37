// SPDX-License-Identifier: Apache-2.0
#include "tree/io/mpiexec/psk_link.hpp"

#include <utility>

namespace charmtree::io {

void PskLink::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  if (std::exchange(started_, true)) return carrier_->pause_reading(false);
  Handlers own;
  own.on_bytes = [this](std::string_view bytes) { received(bytes); };
  own.on_end = [this](LinkEnd end) {
    if (handlers_.on_end) handlers_.on_end(std::move(end));
  };
  own.on_drained = [this] {
    if (handlers_.on_drained) handlers_.on_drained();
  };
  carrier_->start(std::move(own));
  flush();
}

void PskLink::received(std::string_view bytes) {
  std::string plain;
  const auto fine = channel_.receive(bytes, plain);
  flush();  // an alert, too
  if (!fine) {
    carrier_->close(Duration{0});
    if (handlers_.on_end) handlers_.on_end({-1, {}, {}, fine.error().what});
    return;
  }
  if (channel_.established() && established_) std::exchange(established_, nullptr)();
  if (!plain.empty() && handlers_.on_bytes) handlers_.on_bytes(plain);
}

void PskLink::send(std::string bytes) {
  channel_.send(bytes);
  flush();
}

void PskLink::flush() {
  carrier_->send(channel_.take());
}

}  // namespace charmtree::io
