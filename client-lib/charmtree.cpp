// SPDX-License-Identifier: Apache-2.0
// The C functions: they check what callers of C get wrong (null, ranges, fork) and let no exception out. What
// they do is in Job.
#include "client-lib/charmtree.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "client-lib/handle.hpp"
#include "client-lib/placement.hpp"

using charmtree::client::Deadline;
using charmtree::client::guarded;
using charmtree::client::Job;
using charmtree::client::Strategies;
using charmtree::wire::CcsMerge;
using Gives = charmtree::client::Fences::Gives;

static_assert(CT_MAX_TUPLE == charmtree::wire::kMaxTuple);
static_assert(CT_MAX_CCS_HANDLERS == charmtree::wire::native::kMaxHandlers);
static_assert(CT_MAX_CCS_NAME == charmtree::wire::native::kMaxHandler);
static_assert(CT_MAX_CCS_REPLY == charmtree::wire::native::kMaxReply);
static_assert(CcsMerge{CT_CCS_SUM | CT_CCS_DOUBLE} == CcsMerge{CcsMerge::sum, CcsMerge::float64});
static_assert(CcsMerge{CT_CCS_MIN | CT_CCS_INT32} == CcsMerge{CcsMerge::min, CcsMerge::int32});
static_assert(CcsMerge{CT_CCS_MAX | CT_CCS_INT64} == CcsMerge{CcsMerge::max, CcsMerge::int64});
static_assert(CT_TCP == static_cast<int>(charmtree::wire::PortKind::tcp));
static_assert(CT_UDP == static_cast<int>(charmtree::wire::PortKind::udp));
static_assert(CT_MAX_PEERS == charmtree::wire::kMostPeersTold);
static_assert(CT_MAX_LISTENERS == charmtree::wire::native::kMostListeners);
static_assert(CT_MAX_PRINT == charmtree::wire::native::kMaxPrint);

namespace {

/// As guarded, for what only asks and cannot fail.
template <class Ask>
int asked(const ct_job* handle, Ask ask) noexcept {
  if (handle == nullptr) return CT_EINVAL;
  return handle->job.is_foreign() ? CT_EFORK : static_cast<int>(ask(handle->job));
}

/// Empty counts as absent. Nothing is taken from the environment of a program with raised privileges.
std::string_view environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

int handed_over(std::string_view found, const void** value, size_t* size) {
  *value = found.data();
  *size = found.size();
  return CT_OK;
}

std::vector<int> group(const int* ranks, int count) {
  return count == 0 ? std::vector<int>{} : std::vector<int>(ranks, ranks + count);
}

charmtree::client::Fences::Progress progress_of(ct_job* job) {
  return [job] { return job->strategies.advance(); };
}

int join(Job& job) {
  const std::string_view socket = environment("CHARMTREE_SOCKET");
  const std::string_view number = environment("CHARMTREE_PROCESS");
  if (socket.empty() && number.empty()) return CT_OK;
  std::uint32_t process = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), process);
  if (socket.empty() || error != std::errc{} || end != number.data() + number.size()) return CT_EENV;
  return job.join(std::string{socket}, process);
}

}  // namespace

const char* ct_strerror(int error) {
  switch (error) {
    case CT_OK:
      return "success";
    case CT_EINVAL:
      return "invalid argument";
    case CT_ENOMEM:
      return "out of memory";
    case CT_EENV:
      return "CHARMTREE_SOCKET or CHARMTREE_PROCESS is missing or malformed";
    case CT_ECONNECT:
      return "cannot connect to the launcher";
    case CT_EREFUSED:
      return "refused by the launcher: this process has joined before, or the versions differ (charmrun "
             "++verbose tells)";
    case CT_ETIMEDOUT:
      return "timed out";
    case CT_ELOST:
      return "the connection to the launcher is lost";
    case CT_EPROTO:
      return "the launcher sent something that is not understood";
    case CT_EENDED:
      return "the job has ended";
    case CT_EORDER:
      return "called out of order";
    case CT_EFORK:
      return "called in a child of the process that joined the job";
    case CT_ENOKEY:
      return "there is no such key: no fence that is over has brought it, and this process has not offered "
             "it";
    case CT_EFAILED:
      return "it has failed: a process that it needs is lost, has ended or does not offer it; or it is a "
             "fence or "
             "a ring, and with ++on-failure restart, which starts processes again one by one, there are none";
    case CT_ENOPORT:
      return "no port is free, or the launcher is out of descriptors";
    case CT_EVERBS:
      return "a device of InfiniBand or RoCE has refused";
    case CT_ERESTARTED:
      return "a process was started again, and the restart function wanted to go back";
    default:
      return error > 0 ? "success" : "unknown error";
  }
}

const char* ct_version(void) {
  return CHARMTREE_VERSION;
}

int ct_init(ct_job** job) {
  if (job == nullptr) return CT_EINVAL;
  *job = nullptr;
  try {
    auto made = std::make_unique<ct_job>();
    const int error = join(made->job);
    if (error == CT_OK) *job = made.release();
    return error;
  } catch (...) {
    return CT_ENOMEM;
  }
}

int ct_set_timeout(ct_job* job, int milliseconds) {
  return guarded(job, [&](Job& j) {
    if (milliseconds < CT_FOREVER) return CT_EINVAL;
    j.set_timeout(milliseconds);
    return CT_OK;
  });
}

int ct_rank(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.self().process; });
}

int ct_size(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.self().total; });
}

int ct_local_rank(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.self().local_rank; });
}

int ct_local_size(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.self().local_size; });
}

int ct_hosts(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.self().hosts; });
}

int ct_host(ct_job* job, int rank) {
  return guarded(job, [&](Job& j) {
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= j.self().total) return static_cast<int>(CT_EINVAL);
    if (const auto host = charmtree::client::host_of(j.self(), static_cast<std::uint32_t>(rank)))
      return static_cast<int>(*host);
    ct_peer peer;
    const int error = j.lookup(static_cast<std::uint32_t>(rank), peer);
    return error == CT_OK ? peer.host : error;
  });
}

int ct_local_peer(const ct_job* job, int local_rank) {
  if (job == nullptr || local_rank < 0) return CT_EINVAL;
  return asked(job, [&](const Job& j) {
    const auto found = charmtree::client::local_process(j.self(), static_cast<std::uint32_t>(local_rank));
    return found ? static_cast<int>(*found) : static_cast<int>(CT_EINVAL);
  });
}

int ct_topology(ct_job* job, const char** xml, size_t* size) {
  return guarded(job, [&](Job& j) {
    if (xml == nullptr || size == nullptr) return static_cast<int>(CT_EINVAL);
    std::string_view text;
    const int error = j.topology(text);
    if (error != CT_OK) return error;
    *xml = text.data();
    *size = text.size();
    return static_cast<int>(CT_OK);
  });
}

int ct_epoch(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.epoch(); });
}

int ct_port(ct_job* job, int kind, uint16_t* port) {
  return guarded(job, [&](Job& j) {
    if ((kind != CT_TCP && kind != CT_UDP) || port == nullptr) return static_cast<int>(CT_EINVAL);
    return j.port(static_cast<charmtree::wire::PortKind>(kind), *port);
  });
}

int ct_register(ct_job* job, const void* tuple, size_t size) {
  return guarded(job, [&](Job& j) {
    if (tuple == nullptr && size > 0) return static_cast<int>(CT_EINVAL);
    return j.put({static_cast<const char*>(tuple), size});
  });
}

int ct_table(ct_job* job) {
  return guarded(job, [](Job& j) { return j.table(); });
}

int ct_lookup(ct_job* job, int rank, ct_peer* peer) {
  return guarded(job, [&](Job& j) {
    if (rank < 0 || peer == nullptr) return static_cast<int>(CT_EINVAL);
    const int error = j.lookup(static_cast<std::uint32_t>(rank), *peer);
    if (error == CT_OK && peer->rank != static_cast<int>(j.self().process))
      job->peers.add(static_cast<std::uint32_t>(rank));
    return error;
  });
}

int ct_barrier(ct_job* job) {
  return guarded(job, [](Job& j) { return j.barrier(); });
}

int ct_put(ct_job* job, const char* key, const void* value, size_t size) {
  return guarded(job, [&](Job&) {
    if (key == nullptr || (value == nullptr && size > 0)) return static_cast<int>(CT_EINVAL);
    return job->fences.put(key, {static_cast<const char*>(value), size});
  });
}

int ct_get(ct_job* job, const char* key, const void** value, size_t* size) {
  return guarded(job, [&](Job&) {
    if (key == nullptr || value == nullptr || size == nullptr) return static_cast<int>(CT_EINVAL);
    std::string_view found;
    const int error = job->fences.get(key, found);
    return error == CT_OK ? handed_over(found, value, size) : error;
  });
}

int ct_fence(ct_job* job) {
  return guarded(job, [&](Job&) { return job->fences.fence(); });
}

int ct_fence_start(ct_job* job, const int* ranks, int count) {
  return guarded(job, [&](Job&) {
    if (count < 0 || (ranks == nullptr && count > 0)) return static_cast<int>(CT_EINVAL);
    return job->fences.begin(group(ranks, count), Gives::pairs);
  });
}

int ct_allgather_start(ct_job* job, const int* ranks, int count, const void* value, size_t size) {
  return guarded(job, [&](Job&) {
    if (count < 0 || (ranks == nullptr && count > 0) || (value == nullptr && size > 0))
      return static_cast<int>(CT_EINVAL);
    return job->fences.begin(group(ranks, count), Gives::value, {static_cast<const char*>(value), size});
  });
}

int ct_ring_start(ct_job* job, const void* value, size_t size) {
  return guarded(job, [&](Job&) {
    if (value == nullptr && size > 0) return static_cast<int>(CT_EINVAL);
    return job->fences.begin({}, Gives::ring, {static_cast<const char*>(value), size});
  });
}

int ct_offer(ct_job* job, const char* key, const void* value, size_t size) {
  return guarded(job, [&](Job&) {
    if (key == nullptr || (value == nullptr && size > 0)) return static_cast<int>(CT_EINVAL);
    return job->asks.offer(key, {static_cast<const char*>(value), size});
  });
}

int ct_ask_start(ct_job* job, int rank, const char* key) {
  return guarded(job, [&](Job&) {
    if (rank < 0 || key == nullptr) return static_cast<int>(CT_EINVAL);
    return job->asks.begin(static_cast<std::uint32_t>(rank), key);
  });
}

int ct_ask(ct_job* job, int rank, const char* key, const void** value, size_t* size) {
  return guarded(job, [&](Job&) {
    if (rank < 0 || key == nullptr || value == nullptr || size == nullptr) return static_cast<int>(CT_EINVAL);
    std::string_view found;
    const int error = job->asks.ask(static_cast<std::uint32_t>(rank), key, found, progress_of(job));
    return error == CT_OK ? handed_over(found, value, size) : error;
  });
}

int ct_on_ask(ct_job* job, const char* prefix, ct_ask_function function, void* argument) {
  return guarded(job, [&](Job&) {
    if (prefix == nullptr) return static_cast<int>(CT_EINVAL);
    return job->asks.listen(
        prefix, function == nullptr ? charmtree::client::AskHandler{}
                                    : [=](std::uint32_t process, const std::string& key) {
                                        function(job, static_cast<int>(process), key.c_str(), argument);
                                      });
  });
}

int ct_answer(ct_job* job, int rank, const char* key, const void* value, size_t size) {
  return guarded(job, [&](Job&) {
    if (rank < 0 || key == nullptr || (value == nullptr && size > 0)) return static_cast<int>(CT_EINVAL);
    return job->asks.answer(static_cast<std::uint32_t>(rank), key, {static_cast<const char*>(value), size});
  });
}

int ct_progress(ct_job* job) {
  return guarded(job, [](Job& j) {
    if (j.telling()) return j.usable(Job::Says::answers);
    if (const int error = j.usable(); error != CT_OK) return error;
    if (j.channel() == nullptr) return static_cast<int>(CT_OK);
    if (const int error = j.hear_all(); error != CT_OK) return error;
    return j.wait_until([] { return true; }, Deadline{0});
  });
}

int ct_peers(const ct_job* job) {
  return asked(job, [job](const Job&) { return job->peers.count(); });
}

int ct_exchange_start(ct_job* job, int strategy, const void* value, size_t size) {
  return guarded(job, [&](Job&) {
    if (strategy < CT_TABLE || strategy > CT_SIMPLE || value == nullptr) return static_cast<int>(CT_EINVAL);
    return job->strategies.begin(static_cast<Strategies::Strategy>(strategy),
                                 {static_cast<const char*>(value), size});
  });
}

int ct_set_transport(ct_job* job, ct_transport_function function, void* argument) {
  return guarded(job, [&](Job&) {
    job->strategies.set_transport(function == nullptr
                                      ? charmtree::client::Transport{}
                                      : [=](char* values, std::size_t size, const std::vector<int>& roots) {
                                          return function(job, values, size, roots.data(),
                                                          static_cast<int>(roots.size()), argument) == 0;
                                        });
    return CT_OK;
  });
}

int ct_gathered(ct_job* job, int request, int rank, const void** value, size_t* size) {
  return guarded(job, [&](Job&) {
    if (rank < 0 || value == nullptr || size == nullptr) return static_cast<int>(CT_EINVAL);
    std::string_view found;
    const int error = job->fences.gathered(request, static_cast<std::uint32_t>(rank), found);
    return error == CT_OK ? handed_over(found, value, size) : error;
  });
}

int ct_test(ct_job* job, int request) {
  return guarded(job, [&](Job&) { return job->fences.test(request, progress_of(job)); });
}

int ct_wait(ct_job* job, int request) {
  return guarded(job, [&](Job&) { return job->fences.wait(request, progress_of(job)); });
}

int ct_release(ct_job* job, int request) {
  return guarded(job, [&](Job&) { return job->fences.release(request); });
}

int ct_on_loss(ct_job* job, ct_loss_function function, void* argument) {
  return guarded(job, [&](Job& j) {
    j.on_loss(function == nullptr ? charmtree::client::LossHandler{} : [=](const std::vector<int>& ranks) {
      function(job, ranks.data(), static_cast<int>(ranks.size()), argument);
    });
    return CT_OK;
  });
}

int ct_on_restart(ct_job* job, ct_restart_function function, void* argument) {
  return guarded(job, [&](Job& j) {
    j.on_restart(
        function == nullptr ? charmtree::client::RestartHandler{} : [=](const std::vector<int>& ranks) {
          return function(job, ranks.data(), static_cast<int>(ranks.size()), argument) != 0;
        });
    return CT_OK;
  });
}

int ct_restarts(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.self().restarts; });
}

int ct_barriers(const ct_job* job) {
  return asked(job, [](const Job& j) { return j.barriers(); });
}

int ct_alive(const ct_job* job, int rank) {
  if (job == nullptr || rank < 0) return CT_EINVAL;
  return asked(job, [&](const Job& j) { return j.alive(static_cast<std::uint32_t>(rank)); });
}

int ct_ccs_register(ct_job* job, const char* name, int merge, ct_ccs_function function, void* argument) {
  return guarded(job, [&](Job& j) {
    if (name == nullptr || function == nullptr || merge < 0 || merge > UINT8_MAX)
      return static_cast<int>(CT_EINVAL);
    return j.handle(name, CcsMerge{static_cast<std::uint8_t>(merge)}, {function, argument});
  });
}

int ct_ccs_serve(ct_job* job) {
  return guarded(job, [&](Job& j) { return j.serve(job); });
}

int ct_ccs_reply(ct_job* job, uint32_t id, const void* data, size_t size) {
  return guarded(job, [&](Job& j) {
    if (data == nullptr && size > 0) return static_cast<int>(CT_EINVAL);
    return j.reply(id, {static_cast<const char*>(data), size});
  });
}

int ct_poll_events(const ct_job* job) {
  return asked(job, [](const Job& j) {
    return j.channel() == nullptr ? static_cast<int>(CT_EENV) : j.channel()->poll_events();
  });
}

int ct_descriptor(const ct_job* job) {
  return asked(job, [](const Job& j) {
    return j.channel() == nullptr ? static_cast<int>(CT_EENV) : j.channel()->descriptor();
  });
}

int ct_print(ct_job* job, int stream, const char* text) {
  return guarded(job, [&](Job& j) {
    if (text == nullptr || (stream != CT_STDOUT && stream != CT_STDERR)) return static_cast<int>(CT_EINVAL);
    return j.print(static_cast<charmtree::wire::native::Stream>(stream), text);
  });
}

int ct_abort(ct_job* job, int status, const char* text) {
  return guarded(job, [&](Job& j) {
    if (status < 1 || status > 255) return static_cast<int>(CT_EINVAL);
    return j.abort(status, text == nullptr ? "" : text);
  });
}

int ct_finalize(ct_job* job, int status) {
  const int error = guarded(
      job, [&](Job& j) { return j.finalize(status, static_cast<std::uint32_t>(job->peers.count())); });
  if (error != CT_ETIMEDOUT && error != CT_EORDER) delete job;
  return error;
}
