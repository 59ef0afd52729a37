// SPDX-License-Identifier: Apache-2.0
#include "client-lib/requests.hpp"

#include <utility>

namespace charmtree::client {

namespace native = wire::native;

bool Requests::arrived(native::Request request) {
  if (coming_ || !handlers_.contains(request.handler)) return false;
  coming_ = std::move(request);
  settle();
  return true;
}

bool Requests::arrived(const native::RequestData& data) {
  if (!coming_ || coming_->bytes.size() + data.bytes.size() > coming_->size) return false;
  coming_->bytes += data.bytes;
  settle();
  return true;
}

/// A request whose last piece has come waits to be taken.
void Requests::settle() {
  if (coming_->bytes.size() < coming_->size) return;
  whole_.push_back(std::move(*coming_));
  coming_.reset();
}

std::optional<native::Request> Requests::take() {
  if (whole_.empty()) return {};
  native::Request request = std::move(whole_.front());
  whole_.pop_front();
  open_.insert(request.token);
  return request;
}

}  // namespace charmtree::client
