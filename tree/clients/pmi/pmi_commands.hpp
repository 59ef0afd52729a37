// SPDX-License-Identifier: Apache-2.0
// What processes ask by PMI, and how each version calls it and its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/clients/pmi/pmi_words.hpp"

namespace charmtree::proto {

enum class PmiDeed : std::uint8_t {
  agree,  // on a version: how every conversation begins
  join,   // version 2, which begins so behind it
  finalize,
  abort,
  put,
  get,
  fence,
  ring,
  put_node_attribute,
  get_node_attribute,
  get_job_attribute,
  name_kvs,
  limits,
  program,  // its number
  universe,
  publish,
  look_up,
  unpublish,
  spawn,
  unserved,  // known, and refused
};

struct PmiCommand {
  PmiVersion version;
  std::string_view name;
  PmiDeed deed;
  std::string_view answer;
};

/// Null: there is none that is called so.
const PmiCommand* find_pmi_command(PmiVersion version, std::string_view name);

/// True for requests of version 1 with texts of users: one with a newline ends its line there, and may end
/// its block.
bool cuts_texts(const PmiCommand* command);

/// By which a refusal says why.
constexpr std::string_view pmi_reason_key(PmiVersion version) {
  return version == PmiVersion::one ? "msg" : "errmsg";
}

/// Keys and values of an answer.
using PmiFields = std::vector<std::pair<std::string_view, std::string_view>>;

/// The answer, as it is sent. `thread`: what the asker wants to have told back (`thrid`); empty: nothing.
std::string pmi_answer(const PmiCommand& command, std::string_view thread, int rc, const PmiFields& fields);

}  // namespace charmtree::proto
