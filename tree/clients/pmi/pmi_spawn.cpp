// SPDX-License-Identifier: Apache-2.0
// Source of the words: what MPICH's clients say (PMI 1.1).
#include "tree/clients/pmi/pmi_spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/wire/codec.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

/// With a number behind it: "arg1".
bool is_numbered(std::string_view key, std::string_view word) {
  return key.size() > word.size() && key.starts_with(word) &&
         key.find_first_not_of("0123456789", word.size()) == key.npos;
}

}  // namespace

std::string PmiSpawn::add(std::string_view line) {
  bytes_ += line.size() + 1;
  if (bytes_ > wire::kMostWanted / 2)
    return fmt::format("a spawn of more than {} bytes", wire::kMostWanted / 2);
  if (line == "mcmd=spawn" || line == "cmd=spawn") return {};
  if (line == "endcmd") return end_block();
  const std::size_t equals = line.find('=');
  if (equals == line.npos) return fmt::format("'{}' in a spawn", line.substr(0, 64));
  return set(line.substr(0, equals), line.substr(equals + 1));
}

std::string PmiSpawn::set(std::string_view key, std::string_view value) {
  std::vector<std::string>& arguments = program_.program.arguments;
  if (key == "nprocs" || key == "totspawns" || key == "spawnssofar") {
    std::uint32_t& number = key == "nprocs" ? program_.processes : key == "totspawns" ? total_ : so_far_;
    if (!read_whole(value, number) || number == 0 || number > wire::kMaxProcesses)
      return fmt::format("a spawn with {}={}", key, value.substr(0, 64));
  } else if (key == "execname") {
    arguments.insert(arguments.begin(), std::string{value});
  } else if (is_numbered(key, "arg")) {
    arguments.emplace_back(value);
  } else if (is_numbered(key, "preput_key_") || is_numbered(key, "info_key_")) {
    key_ = value;
  } else if (is_numbered(key, "preput_val_")) {
    wire::Writer pair;
    pair.string(key_);
    pair.string(value);
    wanted_.given += pair.bytes();
  } else if (is_numbered(key, "info_val_")) {
    heed(value);
  }
  return {};
}

void PmiSpawn::heed(std::string_view value) {
  if (key_ == "wdir") program_.program.directory = value;
  if (key_ == "path") path_ = value;
  if (key_ != "host" && key_ != "hosts") return;
  std::string list{value};
  std::replace(list.begin(), list.end(), ' ', ',');
  for (std::string& name : split_list(list)) program_.hosts.push_back(std::move(name));
}

std::string PmiSpawn::end_block() {
  std::vector<std::string>& arguments = program_.program.arguments;
  if (program_.processes == 0 || arguments.empty() || arguments.front().empty() || so_far_ > total_ ||
      so_far_ != wanted_.programs.size() + 1)
    return "a spawn that names no program, or no number of processes";
  if (!path_.empty() && arguments.front().find('/') == std::string::npos)
    arguments.front() = path_ + '/' + arguments.front();
  processes_ += program_.processes;
  if (processes_ > wire::kMaxProcesses) return "a spawn of too many processes";
  complete_ = so_far_ == total_;
  wanted_.programs.push_back(std::exchange(program_, {}));
  path_.clear();
  return {};
}

wire::WorldWanted PmiSpawn::take() {
  return std::move(wanted_);
}

}  // namespace charmtree::proto
