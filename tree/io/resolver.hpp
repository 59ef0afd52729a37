// SPDX-License-Identifier: Apache-2.0
// Names to addresses, on a bounded pool of threads with a deadline for each name, because getaddrinfo blocks
// and cannot be interrupted. A name that hangs holds its thread, not the names behind it: while names wait
// and no thread gets free, more threads are started, up to a limit. Answers are kept for the life of the
// object; numeric addresses need no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"

namespace charmtree::io {

using Addresses = std::vector<asio::ip::address>;

struct ResolverLimits {
  unsigned threads = 8;        // started as soon as names wait
  unsigned max_threads = 256;  // started only while no thread gets free; a stuck one costs about 30 kB
  Duration patience = 100ms;   // how long names wait before the number of threads is doubled
  std::size_t addresses = 16;  // of one name that are kept
};

/// All calls and all handlers are on the loop's thread. The io_context must outlive the object. Destroying it
/// drops what is pending without a call; threads that hang in the system's resolver end by themselves and
/// touch nothing of it any more.
class Resolver {
public:
  using RequestId = std::uint64_t;
  using Done = std::function<void(Result<Addresses>)>;
  /// Blocks on a thread of the pool. Another one than the system's is for tests.
  using Lookup = std::function<Result<Addresses>(const std::string& name)>;

  explicit Resolver(asio::io_context& io, ResolverLimits limits = {}, Lookup lookup = system_lookup);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `done` is called once, never from inside resolve(): with addresses, no_such_host (permanent), or
  /// timed_out when `within` has passed or the name servers do not answer.
  RequestId resolve(const std::string& name, Duration within, Done done);

  /// `done` of that request is not called any more.
  void cancel(RequestId id);

  /// Threads that exist now (for tests).
  unsigned threads() const;

  static Result<Addresses> system_lookup(const std::string& name);

private:
  struct Shared;
  struct Request;
  static void* thread_main(void* argument);
  void start_threads(unsigned wanted);
  void watch_queue();
  void expire(RequestId id);
  void deliver(const std::string& name, Result<Addresses> result);
  void finish_later(RequestId id, Result<Addresses> result);

  asio::io_context& io_;
  ResolverLimits limits_;
  std::shared_ptr<Shared> shared_;
  asio::steady_timer patience_;
  bool watching_ = false;
  RequestId last_id_ = 0;
  std::map<RequestId, std::unique_ptr<Request>> requests_;
  std::unordered_map<std::string, std::vector<RequestId>>
      waiting_;  // by name, while a thread has or will have it
  std::unordered_map<std::string, Result<Addresses>> known_;
};

}  // namespace charmtree::io
