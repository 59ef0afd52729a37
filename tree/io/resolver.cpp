// SPDX-License-Identifier: Apache-2.0
// The threads share one queue. They are detached, since one that hangs in getaddrinfo cannot be joined; what
// they touch (Shared) lives as long as the last of them. An answer is posted to the loop under the lock and
// only while the Resolver exists.
#include "tree/io/resolver.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "tree/io/signals_blocked.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;  // getaddrinfo and its NSS modules need well under 100 kB

/// Returns true if no descriptor is left: getaddrinfo calls each name unknown then.
bool has_no_descriptor_left() {
  const int probe = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (probe < 0) return errno == EMFILE || errno == ENFILE;
  ::close(probe);
  return false;
}

Error translate(int code, int system_error) {
  if (has_no_descriptor_left())
    return Error(Errc::timed_out, Phase::resolve, "out of file descriptors",
                 "raise ulimit -n or lower ++batch");
  switch (code) {
    case EAI_NONAME:
#ifdef EAI_NODATA
    case EAI_NODATA:
#endif
#ifdef EAI_ADDRFAMILY
    case EAI_ADDRFAMILY:
#endif
      return Error(Errc::no_such_host, Phase::resolve, "no such host", "check the name, /etc/hosts and DNS");
    case EAI_SYSTEM:
      return Error(Errc::timed_out, Phase::resolve,
                   std::string("the resolver failed: ") + std::strerror(system_error));
    default:
      return Error(Errc::timed_out, Phase::resolve,
                   std::string("the name servers gave no answer: ") + gai_strerror(code),
                   "check /etc/resolv.conf");
  }
}

}  // namespace

struct Resolver::Shared {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> queue;
  unsigned threads = 0;
  unsigned idle = 0;
  std::uint64_t finished = 0;
  Resolver* owner = nullptr;  // null once it is destroyed; changed on the loop's thread only
  asio::io_context* io = nullptr;
  Lookup lookup;
};

struct Resolver::Request {
  Request(asio::io_context& io, std::string name_, Done done_)
      : name(std::move(name_)), done(std::move(done_)), deadline(io) {}
  std::string name;
  Done done;
  asio::steady_timer deadline;
};

Resolver::Resolver(asio::io_context& io, ResolverLimits limits, Lookup lookup)
    : io_(io), limits_(limits), shared_(std::make_shared<Shared>()), patience_(io) {
  shared_->owner = this;
  shared_->io = &io;
  shared_->lookup = std::move(lookup);
}

Resolver::~Resolver() {
  const std::lock_guard lock(shared_->mutex);
  shared_->owner = nullptr;
  shared_->queue.clear();
  shared_->changed.notify_all();
}

unsigned Resolver::threads() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->threads;
}

Resolver::RequestId Resolver::resolve(const std::string& name, Duration within, Done done) {
  const RequestId id = ++last_id_;
  auto& request = *requests_.emplace(id, std::make_unique<Request>(io_, name, std::move(done))).first->second;
  error_code not_numeric;
  const auto address = asio::ip::make_address(name, not_numeric);
  if (!not_numeric) {
    finish_later(id, Addresses{address});
    return id;
  }
  if (const auto found = known_.find(name); found != known_.end()) {
    finish_later(id, found->second);
    return id;
  }
  request.deadline.expires_after(within);
  request.deadline.async_wait([this, id, shared = shared_](error_code error) {
    if (!error && shared->owner != nullptr) expire(id);
  });
  auto& waiters = waiting_[name];
  waiters.push_back(id);
  if (waiters.size() > 1) return id;

  unsigned wanted = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->queue.push_back(name);
    if (shared_->queue.size() > shared_->idle) wanted = std::min(limits_.threads, shared_->threads + 1);
    shared_->changed.notify_one();
  }
  start_threads(wanted);
  watch_queue();
  return id;
}

void Resolver::cancel(RequestId id) {
  requests_.erase(id);
}

void Resolver::finish_later(RequestId id, Result<Addresses> result) {
  // A timer that is due at once, owned by the request: destroying or cancelling the request takes it back.
  auto& timer = requests_.at(id)->deadline;
  timer.expires_at(asio::steady_timer::time_point::min());
  timer.async_wait([this, id, shared = shared_, result = std::move(result)](error_code error) mutable {
    if (error || shared->owner == nullptr) return;
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;
    const Done done = std::move(found->second->done);
    requests_.erase(found);
    done(std::move(result));
  });
}

void Resolver::expire(RequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  const Done done = std::move(found->second->done);
  requests_.erase(found);
  done(Error(Errc::timed_out, Phase::resolve, "no answer in time", "check /etc/hosts and the name servers"));
}

void Resolver::deliver(const std::string& name, Result<Addresses> result) {
  auto node = waiting_.extract(name);
  if (node.empty()) return;
  if (result.ok() || !is_transient(result.error().code)) known_.insert_or_assign(name, result);
  for (const RequestId id : node.mapped()) {
    if (requests_.contains(id)) finish_later(id, result);
  }
}

/// While names wait and no lookup has ended for `patience`, the threads are doubled.
void Resolver::watch_queue() {
  if (watching_) return;
  std::uint64_t finished = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->queue.empty() || shared_->threads >= limits_.max_threads) return;
    finished = shared_->finished;
  }
  watching_ = true;
  patience_.expires_after(limits_.patience);
  patience_.async_wait([this, finished, shared = shared_](error_code error) {
    if (error || shared->owner == nullptr) return;
    watching_ = false;
    unsigned wanted = 0;
    {
      const std::lock_guard lock(shared_->mutex);
      if (!shared_->queue.empty() && shared_->finished == finished) {
        wanted = std::min(limits_.max_threads, shared_->threads * 2);
      }
    }
    start_threads(wanted);
    watch_queue();
  });
}

void Resolver::start_threads(unsigned wanted) {
  if (wanted == 0) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const SignalsBlocked blocked;
  const std::lock_guard lock(shared_->mutex);
  while (shared_->threads < wanted) {
    auto argument = std::make_unique<std::shared_ptr<Shared>>(shared_);
    pthread_t thread{};
    if (pthread_create(&thread, &attributes, &Resolver::thread_main, argument.get()) != 0) break;
    static_cast<void>(argument.release());  // now the thread's
    ++shared_->threads;
  }
  pthread_attr_destroy(&attributes);
}

void* Resolver::thread_main(void* argument) {
  const std::unique_ptr<std::shared_ptr<Shared>> mine(static_cast<std::shared_ptr<Shared>*>(argument));
  const std::shared_ptr<Shared>& shared = *mine;
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->changed.wait(lock, [&] { return shared->owner == nullptr || !shared->queue.empty(); });
    --shared->idle;
    if (shared->owner == nullptr) break;
    std::string name = std::move(shared->queue.front());
    shared->queue.pop_front();
    lock.unlock();
    Result<Addresses> result = shared->lookup(name);
    lock.lock();
    ++shared->finished;
    if (shared->owner == nullptr) break;
    asio::post(*shared->io, [shared, name = std::move(name), result = std::move(result)]() mutable {
      Resolver* owner = nullptr;
      {
        const std::lock_guard guard(shared->mutex);
        owner = shared->owner;
      }
      if (owner != nullptr) owner->deliver(name, std::move(result));
    });
  }
  --shared->threads;
  return nullptr;
}

Result<Addresses> Resolver::system_lookup(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (code != 0) return translate(code, errno);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
  Addresses addresses;
  for (const addrinfo* entry = list; entry != nullptr && addresses.size() < ResolverLimits{}.addresses;
       entry = entry->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    endpoint.resize(entry->ai_addrlen);
    addresses.push_back(endpoint.address());
  }
  if (addresses.empty()) return translate(EAI_NONAME, 0);
  return addresses;
}

}  // namespace charmtree::io
