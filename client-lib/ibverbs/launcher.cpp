// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/launcher.hpp"

#include <poll.h>

#include <algorithm>

namespace charmtree::ibverbs {

namespace {
/// Of what is told at once, before it: whether more follows.
constexpr std::size_t kMostPiece = CT_MAX_GIVEN - 1;
/// What a process tells is no longer than that, and so much for each queue pair.
constexpr std::size_t kMostTold = 64, kMostOfEach = 8;
constexpr int kPollMs = 1000;

/// `events`: of the launcher's descriptor, for which the call waits.
template <class Call>
int patiently(ct_job* job, int events, Call call) {
  int error = call();
  while (error == CT_ETIMEDOUT) {
    pollfd launcher{ct_descriptor(job), static_cast<short>(events), 0};
    ::poll(&launcher, 1, kPollMs);
    error = call();
  }
  return error;
}
}  // namespace

std::string_view Launcher::topology() {
  const char* xml = nullptr;
  std::size_t size = 0;
  const int error =
      patiently(job_, ct_poll_events(job_) | POLLIN, [&] { return ct_topology(job_, &xml, &size); });
  return error == CT_OK ? std::string_view{xml, size} : std::string_view{};
}

int Launcher::start(const std::vector<int>& ranks, std::string_view value) {
  ++costs_.requests;
  costs_.bytes_given += value.size();
  return patiently(job_, POLLOUT, [&] {
    return ct_allgather_start(job_, ranks.empty() ? nullptr : ranks.data(), static_cast<int>(ranks.size()),
                              value.data(), value.size());
  });
}

int Launcher::wait(int request) {
  return patiently(job_, ct_poll_events(job_) | POLLIN, [&] { return ct_wait(job_, request); });
}

std::string_view Launcher::gathered(int request, int rank) {
  const void* value = nullptr;
  std::size_t size = 0;
  if (ct_gathered(job_, request, rank, &value, &size) != CT_OK) return {};
  costs_.bytes_taken += rank == rank_ ? 0 : size;
  return {static_cast<const char*>(value), size};
}

/// In pieces, as many as the longest one needs; before each stands whether more follows. All see the same,
/// and come to the same end.
Outcome Launcher::gather(const std::string& own, std::vector<std::string>& all) {
  all.assign(static_cast<std::size_t>(size_), {});
  const std::size_t most = kMostTold + kMostOfEach * others();
  bool is_more = true;
  for (std::size_t at = 0; is_more; at += kMostPiece) {
    const std::string_view rest = std::string_view{own}.substr(std::min(at, own.size()));
    std::string piece(1, rest.size() > kMostPiece ? '\1' : '\0');
    piece += rest.substr(0, kMostPiece);
    if (auto failure = gather_piece(piece, all, is_more)) return failure;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].size() > most) return Failure{CT_EPROTO, makes_no_sense(rank)};
    }
  }
  return {};
}

Outcome Launcher::gather_piece(std::string_view piece, std::vector<std::string>& all, bool& is_more) {
  const std::string what = "the exchange of queue pairs";
  const int request = start({}, piece);
  if (request < 0) return failed(what, request);
  const int error = wait(request);
  Outcome failure;
  if (error < 0) failure = failed(what, error);
  is_more = false;
  for (int rank = 0; rank < size_ && !failure; ++rank) {
    const std::string_view bytes = gathered(request, rank);
    const char more = bytes.empty() ? '\2' : bytes.front();
    if (more != '\0' && (more != '\1' || bytes.size() != kMostPiece + 1)) {  // one that is followed is full
      failure = Failure{CT_EPROTO, makes_no_sense(static_cast<std::size_t>(rank))};
      break;
    }
    is_more = is_more || more != '\0';
    all[static_cast<std::size_t>(rank)] += bytes.substr(1);
  }
  ct_release(job_, request);
  return failure;
}

Outcome Launcher::offer(const std::string& key, const std::string& value) {
  ++costs_.requests;
  costs_.bytes_given += key.size() + value.size();
  const int error =
      patiently(job_, POLLOUT, [&] { return ct_offer(job_, key.c_str(), value.data(), value.size()); });
  if (error < 0) return failed("an offer to the others", error);
  return {};
}

int Launcher::ask(std::uint32_t rank, const std::string& key, std::string_view& value) {
  const void* data = nullptr;
  std::size_t size = 0;
  ++costs_.requests;
  const int error = patiently(job_, ct_poll_events(job_) | POLLIN, [&] {
    return ct_ask(job_, static_cast<int>(rank), key.c_str(), &data, &size);
  });
  if (error == CT_OK) value = {static_cast<const char*>(data), size};
  costs_.bytes_taken += value.size();
  return error;
}

int Launcher::start_ask(std::uint32_t rank, const std::string& key) {
  const int request =
      patiently(job_, POLLOUT, [&] { return ct_ask_start(job_, static_cast<int>(rank), key.c_str()); });
  if (request >= 0) {
    ++costs_.requests;
    costs_.bytes_given += key.size();
  }
  return request;
}

Outcome Launcher::answer(std::uint32_t rank, const std::string& key, const std::string& value) {
  ++costs_.requests;
  costs_.bytes_taken += key.size();
  costs_.bytes_given += key.size() + value.size();
  const int error = patiently(job_, POLLOUT, [&] {
    return ct_answer(job_, static_cast<int>(rank), key.c_str(), value.data(), value.size());
  });
  if (error < 0) return failed("an answer to rank " + std::to_string(rank), error);
  return {};
}

Outcome Launcher::listen(const std::string& prefix, ct_ask_function function, void* argument) {
  ++costs_.requests;
  const int error =
      patiently(job_, POLLOUT, [&] { return ct_on_ask(job_, prefix.c_str(), function, argument); });
  if (error < 0) return failed("listening for what others ask", error);
  return {};
}

}  // namespace charmtree::ibverbs
