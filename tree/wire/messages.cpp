// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the job description, the node table and process numbers.
#include "tree/wire/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tree/wire/message_members.hpp"

namespace charmtree::wire {

namespace {

Error malformed_message(std::string_view what) {
  return {Errc::bad_peer, Phase::run, fmt::format("malformed {}", what)};
}

}  // namespace

bool Facts::empty() const {
  return hosts_up.empty() && hosts_failed.empty() && blocks.empty() && barrier == decltype(barrier){} &&
         crash_acks == 0 && registered == 0 && joined == 0 && ended == 0 && !code && exited_ok == 0 &&
         exits.empty() && topologies.empty() && random_layout.empty() && blind.empty() && who_ended.empty() &&
         started_by.empty() && process_ids.empty();
}

PeersUsed Facts::peers_of_ended() const {
  return peers.processes <= std::uint64_t{ended} + exited_ok ? peers : PeersUsed{};
}

Blob encode(const JobSpec& job) {
  return encode_whole(job);
}
namespace {

/// Every host knows where the files of all its programs are, each of which has a process.
bool is_division(const JobSpec& job) {
  return is_division(job.spawn.further, job.processes) &&
         std::all_of(job.profiles.begin(), job.profiles.end(), [&job](const Profile& each) {
           return each.further_programs.size() == job.spawn.further.size();
         });
}

}  // namespace

Result<JobSpec> decode_job(std::string_view bytes) {
  auto job = decode_whole<JobSpec>(bytes);
  if (!job || !is_division(*job)) return malformed_message("job description");
  return std::move(*job);
}
Blob encode(const NodeTable& table) {
  return encode_whole(table);
}
Result<NodeTable> decode_table(std::string_view bytes) {
  auto table = decode_whole<NodeTable>(bytes);
  if (!table) return malformed_message("node table");
  return std::move(*table);
}

std::uint32_t epoch_of(std::string_view table) {
  return Reader{table}.u32();
}

Blob encode(const std::vector<Share>& shares) {
  return encode_whole(shares);
}
Result<std::vector<Share>> decode_shares(std::string_view bytes) {
  auto shares = decode_whole<std::vector<Share>>(bytes);
  if (!shares) return malformed_message("process numbers");
  std::uint64_t next_host = 0, next_process = 0;
  for (const Share& share : *shares) {
    if (share.host < next_host || share.first_process != next_process)
      return malformed_message("process numbers");
    next_host = std::uint64_t{share.host} + 1;
    next_process += share.processes;
  }
  return std::move(*shares);
}

}  // namespace charmtree::wire
