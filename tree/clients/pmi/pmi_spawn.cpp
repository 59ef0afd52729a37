// SPDX-License-Identifier: Apache-2.0
// Source of the words: what MPICH's clients say (PMI 1.1), and Slurm's libpmi2.
#include "tree/clients/pmi/pmi_spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/wire/codec.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

constexpr const char* kNoProgram = "a spawn that names no program, or no number of processes";

/// Of version 2, whose clients double a ';' that belongs to a value.
std::string without_doubles(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    text += value[i];
    if (value.substr(i, 2) == ";;") ++i;
  }
  return text;
}

/// With a number behind it: "arg1".
bool is_numbered(std::string_view key, std::string_view word) {
  return key.size() > word.size() && key.starts_with(word) &&
         key.find_first_not_of("0123456789", word.size()) == key.npos;
}

}  // namespace

std::string PmiSpawn::add(std::string_view text) {
  bytes_ += text.size() + 1;
  if (bytes_ > wire::kMostWanted / 2)
    return fmt::format("a spawn of more than {} bytes", wire::kMostWanted / 2);
  if (version_ == PmiVersion::two) return add_words(PmiWords{version_, text});
  if (text == "mcmd=spawn" || text == "cmd=spawn") return {};
  if (text == "endcmd") return end_block();
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return fmt::format("'{}' in a spawn", text.substr(0, 64));
  return set(text.substr(0, equals), text.substr(equals + 1));
}

std::string PmiSpawn::read(std::string_view key, std::string_view value, std::uint32_t& number) {
  if (read_whole(value, number) && number > 0 && number <= wire::kMaxProcesses) return {};
  return fmt::format("a spawn with {}={}", key, value.substr(0, 64));
}

std::string PmiSpawn::set(std::string_view key, std::string_view value) {
  std::vector<std::string>& arguments = program_.program.arguments;
  if (key == "nprocs") return read(key, value, program_.processes);
  if (key == "totspawns") return read(key, value, total_);
  if (key == "spawnssofar") return read(key, value, so_far_);
  if (key == "execname")
    arguments.insert(arguments.begin(), std::string{value});
  else if (is_numbered(key, "arg"))
    arguments.emplace_back(value);
  else if (is_numbered(key, "preput_key_") || is_numbered(key, "info_key_"))
    key_ = value;
  else if (is_numbered(key, "preput_val_"))
    give(value);
  else if (is_numbered(key, "info_val_"))
    heed(value);
  return {};
}

/// All of it at once.
std::string PmiSpawn::add_words(const PmiWords& words) {
  std::vector<std::string>& arguments = program_.program.arguments;
  std::string wrong;
  for (const auto& [key, value] : words.all()) {
    if (!wrong.empty()) return wrong;
    if (key == "ncmds") {
      wrong = read(key, value, total_);
    } else if (key == "subcmd") {
      if (!arguments.empty()) wrong = end_program();
      arguments.push_back(without_doubles(value));
    } else if (key == "maxprocs") {
      wrong = read(key, value, program_.processes);
    } else if (is_numbered(key, "argv")) {
      arguments.push_back(without_doubles(value));
    } else if (is_numbered(key, "ppkey") || is_numbered(key, "infokey")) {
      key_ = value;
    } else if (is_numbered(key, "ppval")) {
      give(value);
    } else if (is_numbered(key, "infoval")) {
      heed(without_doubles(value));
    }
  }
  if (wrong.empty()) wrong = end_program();
  if (wrong.empty() && wanted_.programs.size() != total_)
    return fmt::format("a spawn of {} programs that names {}", total_, wanted_.programs.size());
  complete_ = true;
  return wrong;
}

/// To those that are started.
void PmiSpawn::give(std::string_view value) {
  wire::Writer pair;
  pair.string(key_);
  pair.string(value);
  wanted_.given += pair.bytes();
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
  if (so_far_ > total_ || so_far_ != wanted_.programs.size() + 1) return kNoProgram;
  complete_ = so_far_ == total_;
  return end_program();
}

std::string PmiSpawn::end_program() {
  std::vector<std::string>& arguments = program_.program.arguments;
  if (program_.processes == 0 || arguments.empty() || arguments.front().empty()) return kNoProgram;
  if (!path_.empty() && arguments.front().find('/') == std::string::npos)
    arguments.front() = path_ + '/' + arguments.front();
  processes_ += program_.processes;
  if (processes_ > wire::kMaxProcesses) return "a spawn of too many processes";
  wanted_.programs.push_back(std::exchange(program_, {}));
  path_.clear();
  return {};
}

wire::WorldWanted PmiSpawn::take() {
  return std::move(wanted_);
}

}  // namespace charmtree::proto
