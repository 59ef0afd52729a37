// SPDX-License-Identifier: Apache-2.0
// Source of the words: MPICH's clients and hydra, as they talk (PMI 1.1), and Slurm's libpmi2 and its server.
#include "tree/clients/pmi/pmi_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace charmtree::proto {

namespace {

constexpr PmiVersion k1 = PmiVersion::one, k2 = PmiVersion::two;
using Deed = PmiDeed;
constexpr std::array<PmiCommand, 36> kCommands = {{
    {k1, "init", Deed::agree, "response_to_init"},
    {k1, "finalize", Deed::finalize, "finalize_ack"},
    {k1, "abort", Deed::abort, ""},
    {k1, "put", Deed::put, "put_result"},
    {k1, "get", Deed::get, "get_result"},
    {k1, "barrier_in", Deed::fence, "barrier_out"},
    {k1, "get_my_kvsname", Deed::name_kvs, "my_kvsname"},
    {k1, "get_maxes", Deed::limits, "maxes"},
    {k1, "get_appnum", Deed::program, "appnum"},
    {k1, "get_universe_size", Deed::universe, "universe_size"},
    {k1, "publish_name", Deed::publish, "publish_result"},
    {k1, "lookup_name", Deed::look_up, "lookup_result"},
    {k1, "unpublish_name", Deed::unpublish, "unpublish_result"},
    {k1, "spawn", Deed::spawn, "spawn_result"},
    {k1, "create_kvs", Deed::unserved, "create_kvs"},
    {k1, "destroy_kvs", Deed::unserved, "destroy_kvs"},
    {k1, "getbyidx", Deed::unserved, "getbyidx_results"},
    {k2, "fullinit", Deed::join, "fullinit-response"},
    {k2, "finalize", Deed::finalize, "finalize-response"},
    {k2, "abort", Deed::abort, ""},
    {k2, "kvs-put", Deed::put, "kvs-put-response"},
    {k2, "kvs-get", Deed::get, "kvs-get-response"},
    {k2, "kvs-fence", Deed::fence, "kvs-fence-response"},
    {k2, "ring", Deed::ring, "ring-response"},
    {k2, "job-getid", Deed::name_kvs, "job-getid-response"},
    {k2, "info-putnodeattr", Deed::put_node_attribute, "info-putnodeattr-response"},
    {k2, "info-getnodeattr", Deed::get_node_attribute, "info-getnodeattr-response"},
    {k2, "info-getjobattr", Deed::get_job_attribute, "info-getjobattr-response"},
    {k2, "name-publish", Deed::publish, "name-publish-response"},
    {k2, "name-lookup", Deed::look_up, "name-lookup-response"},
    {k2, "name-unpublish", Deed::unpublish, "name-unpublish-response"},
    {k2, "spawn", Deed::spawn, "spawn-response"},
    {k2, "job-connect", Deed::unserved, "job-connect-response"},
    {k2, "job-disconnect", Deed::unserved, "job-disconnect-response"},
    {k2, "info-getjobattrintarray", Deed::unserved, "info-getjobattrintarray-response"},
    {k2, "info-getnodeattrintarray", Deed::unserved, "info-getnodeattrintarray-response"},
}};

}  // namespace

const PmiCommand* find_pmi_command(PmiVersion version, std::string_view name) {
  const auto* const found = std::find_if(kCommands.begin(), kCommands.end(), [&](const PmiCommand& each) {
    return each.version == version && each.name == name;
  });
  return found == kCommands.end() ? nullptr : found;
}

bool cuts_texts(const PmiCommand* command) {
  if (command == nullptr || command->version != PmiVersion::one) return false;
  return command->deed == PmiDeed::publish || command->deed == PmiDeed::look_up ||
         command->deed == PmiDeed::unpublish || command->deed == PmiDeed::spawn;
}

std::string pmi_answer(const PmiCommand& command, std::string_view thread, int rc, const PmiFields& fields) {
  std::string text = fmt::format("cmd={}", command.answer);
  if (command.version == PmiVersion::one) {
    text += fmt::format(" rc={}", rc);
    for (const auto& [key, value] : fields) text += fmt::format(" {}={}", key, value);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text + '\n';
  }
  text += ';';
  if (!thread.empty()) text += fmt::format("thrid={};", thread);
  text += fmt::format("rc={};", rc);
  for (const auto& [key, value] : fields) text += fmt::format("{}={};", key, in_version_two(value));
  return fmt::format("{:6}{}", text.size(), text);
}

}  // namespace charmtree::proto
