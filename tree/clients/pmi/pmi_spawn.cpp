// SPDX-License-Identifier: Apache-2.0
// Source of the words: what MPICH's clients say (PMI 1.1), and Slurm's libpmi2.
#include "tree/clients/pmi/pmi_spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/clients/pmi/pmi_values.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

constexpr const char* kNoProgram = "a spawn that names no program, or no number of processes";

/// True for the word with a number behind it: "arg1".
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
  return add_line(text);
}

PmiSpawn::Line PmiSpawn::line_of(std::string_view key, std::uint32_t& number) {
  struct Key {
    std::string_view word;
    Line line;
    bool has_number;
  };
  static constexpr std::array<Key, 12> kKeys = {{{"nprocs", Line::processes, false},
                                                 {"execname", Line::program, false},
                                                 {"totspawns", Line::programs, false},
                                                 {"spawnssofar", Line::so_far, false},
                                                 {"argcnt", Line::arguments, false},
                                                 {"arg", Line::argument, true},
                                                 {"preput_num", Line::puts, false},
                                                 {"preput_key_", Line::put_key, true},
                                                 {"preput_val_", Line::put_value, true},
                                                 {"info_num", Line::infos, false},
                                                 {"info_key_", Line::info_key, true},
                                                 {"info_val_", Line::info_value, true}}};
  for (const Key& each : kKeys) {
    if (each.has_number ? !is_numbered(key, each.word) : key != each.word) continue;
    return !each.has_number || read_whole(key.substr(each.word.size()), number) ? each.line : Line::rest;
  }
  return Line::rest;
}

/// A block has each of its words once, and each argument, preput and info in its turn: what has been, or is
/// not due yet, is text of the user's. Arguments count from 1, preputs and infos from 0.
bool PmiSpawn::is_due(Line line, std::uint32_t number) const {
  const auto seen = [this](Line which) { return seen_[static_cast<std::size_t>(which)]; };
  switch (line) {
    case Line::argument:
      return number == seen(line) + 1;
    case Line::put_key:
    case Line::info_key:
      return number == seen(line);
    case Line::put_value:
      return last_ == Line::put_key && number + 1 == seen(Line::put_key);
    case Line::info_value:
      return last_ == Line::info_key && number + 1 == seen(Line::info_key);
    case Line::begin:
      return seen(line) == 0;
    case Line::end:
      return last_ == Line::begin ||
             (seen(Line::argument) == arguments_ && seen(Line::info_value) == infos_ &&
              (seen(Line::infos) > 0 || seen(Line::arguments) + seen(Line::puts) == 0));
    case Line::rest:
      return false;
    default:
      return seen(line) == 0;
  }
}

bool PmiSpawn::is_text(Line line) {
  return line == Line::program || line == Line::argument || line == Line::put_key ||
         line == Line::put_value || line == Line::info_key || line == Line::info_value;
}

/// Takes a line of text when the next one shows that its value has ended.
std::string PmiSpawn::add_line(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  std::uint32_t number = 0;
  Line line = Line::rest;
  if (text == "mcmd=spawn" || text == "cmd=spawn")
    line = Line::begin;
  else if (text == "endcmd")
    line = Line::end;
  else if (equals < text.size())
    line = line_of(text.substr(0, equals), number);
  if (!is_due(line, number)) {
    if (last_ == Line::begin) return fmt::format("'{}' in a spawn", text.substr(0, 64));
    if (is_text(last_)) value_.append("\n").append(text);
    return {};
  }
  if (is_text(last_)) end_text();
  if (line == Line::end) return end_block();
  ++seen_[static_cast<std::size_t>(line)];
  last_ = line;
  value_ = text.substr(std::min(equals + 1, text.size()));
  return is_text(line) ? std::string{} : take_number(text.substr(0, equals));
}

std::string PmiSpawn::take_number(std::string_view key) {
  if (last_ == Line::processes) return read(key, value_, program_.processes);
  if (last_ == Line::programs) return read(key, value_, total_);
  if (last_ == Line::so_far) return read(key, value_, so_far_);
  if (last_ == Line::arguments && !read_whole(value_, arguments_)) arguments_ = 0;
  if (last_ == Line::infos && !read_whole(value_, infos_)) infos_ = 0;
  return {};
}

void PmiSpawn::end_text() {
  std::vector<std::string>& arguments = program_.program.arguments;
  if (last_ == Line::program) arguments.insert(arguments.begin(), value_);
  if (last_ == Line::argument) arguments.push_back(value_);
  if (last_ == Line::put_key || last_ == Line::info_key) key_ = value_;
  if (last_ == Line::put_value) give(value_);
  if (last_ == Line::info_value) heed(value_);
}

std::string PmiSpawn::read(std::string_view key, std::string_view value, std::uint32_t& number) {
  if (read_whole(value, number) && number > 0 && number <= wire::kMaxProcesses) return {};
  return fmt::format("a spawn with {}={}", key, value.substr(0, 64));
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
      arguments.push_back(from_version_two(value));
    } else if (key == "maxprocs") {
      wrong = read(key, value, program_.processes);
    } else if (is_numbered(key, "argv")) {
      arguments.push_back(from_version_two(value));
    } else if (is_numbered(key, "ppkey") || is_numbered(key, "infokey")) {
      key_ = from_version_two(value);
    } else if (is_numbered(key, "ppval")) {
      give(from_version_two(value));
    } else if (is_numbered(key, "infoval")) {
      heed(from_version_two(value));
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
  wanted_.given += PmiValues::give(key_, value);
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
  seen_ = {};
  arguments_ = infos_ = 0;
  last_ = Line::end;
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
