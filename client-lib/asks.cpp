// SPDX-License-Identifier: Apache-2.0
#include "client-lib/asks.hpp"

#include "client-lib/job.hpp"

namespace charmtree::client {

namespace native = wire::native;

namespace {
bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= CT_MAX_KEY;
}
}  // namespace

int Asks::offer(std::string_view key, std::string_view value) {
  if (!is_key(key) || value.size() > CT_MAX_GIVEN) return CT_EINVAL;
  if (const int error = job_.usable(Job::Says::answers); error != CT_OK) return error;
  const auto known = own_.find(key);
  const std::size_t before = known == own_.end() ? 0 : key.size() + known->second.size();
  const std::size_t after = own_bytes_ + key.size() + value.size() - before;
  if (after > CT_MAX_OFFERED || (known == own_.end() && own_.size() >= CT_MAX_OFFERS)) return CT_EINVAL;
  if (job_.channel() != nullptr) {
    const native::Offer offer{std::string{key}, std::string{value}};
    if (const int error = job_.send(offer, Deadline{job_.timeout_ms()}); error != CT_OK) return error;
  }
  own_.insert_or_assign(std::string{key}, std::string{value});
  own_bytes_ = after;
  return CT_OK;
}

/// What is its own this process knows; if it has not offered it, nobody else will.
int Asks::begin(std::uint32_t process, std::string_view key) {
  if (process >= job_.self().total || !is_key(key)) return CT_EINVAL;
  if (const int error = job_.usable(); error != CT_OK) return error;
  Exchange& exchange = job_.exchange();
  const int request = exchange.begin_ask(process);
  if (request < 0) return CT_EORDER;
  if (process == job_.self().process) {
    const auto own = own_.find(key);
    native::Told told{static_cast<std::uint32_t>(request), {}, {}};
    if (own == own_.end())
      told.failure = "it is not offered";
    else
      told.value = own->second;
    exchange.heard(told);
    return request;
  }
  peers_.add(process);
  const native::Ask ask{static_cast<std::uint32_t>(request), process, std::string{key}};
  if (const int error = job_.send(ask, Deadline{job_.timeout_ms()}); error != CT_OK) {
    exchange.release(request);
    return error;
  }
  return request;
}

int Asks::ask(std::uint32_t process, std::string_view key, std::string_view& value,
              const Fences::Progress& progress) {
  if (epoch_ != job_.epoch()) known_.clear();
  epoch_ = job_.epoch();
  const Key asked{process, std::string{key}};
  const bool is_own = process == job_.self().process;  // which may be offered anew
  if (const auto known = known_.find(asked); !is_own && known != known_.end()) {
    value = known->second;
    return CT_OK;
  }
  if (job_.telling()) return CT_EORDER;
  auto waited = waited_for_.find(asked);
  if (waited == waited_for_.end()) {
    const int request = begin(process, key);
    if (request < 0) return request;
    waited = waited_for_.emplace(asked, request).first;
  }
  const int request = waited->second;
  const int error = fences_.wait(request, progress);
  if (error != CT_OK && error != CT_EFAILED) return error;
  waited_for_.erase(waited);
  std::string_view found;
  if (error == CT_OK && fences_.gathered(request, process, found) == CT_OK)
    value = known_.insert_or_assign(asked, std::string{found}).first->second;
  fences_.release(request);
  return error == CT_EFAILED && is_own ? static_cast<int>(CT_ENOKEY) : error;
}

int Asks::listen(std::string_view prefix, AskHandler handler) {
  Listeners& listeners = job_.exchange().listeners();
  const std::string begin{prefix};
  const bool is_on = static_cast<bool>(handler), is_known = listeners.has(begin);
  if (!is_key(prefix) || (is_on && !is_known && listeners.count() >= CT_MAX_LISTENERS)) return CT_EINVAL;
  if (const int error = job_.usable(); error != CT_OK) return error;
  if (is_on != is_known && job_.channel() != nullptr) {
    if (const int error = job_.send(native::Listen{begin, is_on}, Deadline{job_.timeout_ms()});
        error != CT_OK)
      return error;
  }
  listeners.set(begin, std::move(handler));
  return CT_OK;
}

int Asks::answer(std::uint32_t process, std::string_view key, std::string_view value) {
  if (process >= job_.self().total || !is_key(key) || value.size() > CT_MAX_GIVEN) return CT_EINVAL;
  if (const int error = job_.usable(Job::Says::answers); error != CT_OK) return error;
  if (job_.channel() == nullptr) return CT_OK;
  return job_.send(native::Answer{process, std::string{key}, std::string{value}},
                   Deadline{job_.timeout_ms()});
}

}  // namespace charmtree::client
