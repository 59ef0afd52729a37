// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_spawn as PMI says it. Version 1: a block of lines `key=value` for each program, from `mcmd=spawn`
// to `endcmd`; here values may hold blanks, and newlines, which nothing escapes: a line that is not the next
// one of its block belongs to the value before it. Version 2: one request, in which `subcmd` begins a
// program. Of the infos for where and how, path, wdir, host and hosts are heeded; MPI wants others to be
// ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tree/clients/pmi/pmi_words.hpp"
#include "tree/wire/kvs_messages.hpp"

namespace charmtree::proto {

class PmiSpawn {
public:
  explicit PmiSpawn(PmiVersion version) : version_(version) {}
  /// The next request, as PmiWords has it. Empty, or what is wrong with it.
  std::string add(std::string_view text);
  /// The last program has been said.
  bool is_complete() const { return complete_; }
  /// What is wanted, once it is complete; whose, its receiver knows.
  wire::WorldWanted take();
  std::uint32_t processes() const { return processes_; }

private:
  /// Of a block of version 1: what a line says, with the number behind it ("arg1": 1).
  enum class Line : std::uint8_t {
    processes,
    program,
    programs,
    so_far,
    arguments,
    argument,
    puts,
    put_key,
    put_value,
    infos,
    info_key,
    info_value,
    begin,
    end,
    rest,  // of the value before
  };
  static Line line_of(std::string_view key, std::uint32_t& number);
  bool is_due(Line line, std::uint32_t number) const;
  static bool is_text(Line line);
  std::string add_line(std::string_view text);
  std::string take_number(std::string_view key);
  void end_text();
  std::string add_words(const PmiWords& words);
  std::string end_block();
  std::string end_program();
  static std::string read(std::string_view key, std::string_view value, std::uint32_t& number);
  void give(std::string_view value);
  void heed(std::string_view value);

  PmiVersion version_;
  wire::WorldWanted wanted_;
  wire::ProgramWanted program_;
  std::string key_, path_;  // of the last preput or info; info `path`
  // Version 1: the last line, whose text may go on in the next one; and what has been in this block.
  Line last_ = Line::begin;
  std::string value_;
  std::array<std::uint32_t, static_cast<std::size_t>(Line::rest) + 1> seen_{};
  std::uint32_t arguments_ = 0, infos_ = 0;  // that the block announces
  std::size_t bytes_ = 0;
  std::uint32_t total_ = 0, so_far_ = 0, processes_ = 0;
  bool complete_ = false;
};

}  // namespace charmtree::proto
