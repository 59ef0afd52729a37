// SPDX-License-Identifier: Apache-2.0
// What the processes of a world have put, as far as it is known on this host. A process may run several MPI
// programs one after the other (`./a && ./b` in a script), or open MPI again after it has closed it: a
// process that has finished a program sees what is put after that, and behind it what was put before. Other
// processes, which are still in the earlier program, do not see what is put for the next one.
//
// Two programs are told apart, the latest that a process of this host has begun and all before: more cannot
// run at a time, because the processes of a program wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace charmtree::proto {

class PmiValues {
public:
  /// Attributes of a host, in a world and a program.
  static constexpr std::size_t kMostAttributes = 1024;
  /// What a process gives its two neighbours in a ring (version 2), and gets from them with its place.
  struct Ring {
    std::string place, left, right;
  };

  /// In these functions `program` is the number of programs that the process has finished.
  /// Returns what was put under the key; nothing: no process has put it.
  std::optional<std::string> find(std::string_view key, std::uint32_t program) const;
  void put(std::string key, std::string value, std::uint32_t program);
  /// Puts each pair of what a host has given (give()), up to the first that is none.
  void put_all(std::string_view given, std::uint32_t program);
  /// Values of this host alone. A process sees those of its present program.
  std::optional<std::string> attribute(std::string_view key, std::uint32_t program) const;
  /// Returns false if there are too many.
  bool put_attribute(std::string_view key, std::string_view value, std::uint32_t program);
  /// Returns its place in the ring of all processes that have given something; nothing: it is in none, or a
  /// neighbour has given nothing.
  std::optional<Ring> ring(std::uint32_t process, std::uint32_t program) const;
  void end_ring(std::uint32_t program);
  /// Removes everything: no process is left to see it.
  void clear() { *this = {}; }

  /// Returns the form in which a host gives a pair to others.
  static std::string give(std::string_view key, std::string_view value);
  /// Returns the key under which a process gives its values in a ring.
  static std::string ring_key(std::uint32_t process);

private:
  using Map = std::map<std::string, std::string, std::less<>>;
  struct Program {
    Map values, attributes;
  };
  void reach(std::uint32_t program);
  Program& of(std::uint32_t program);
  const Program& of(std::uint32_t program) const { return program < latest_ ? before_ : now_; }

  Program now_, before_;
  std::uint32_t latest_ = 0;  // the number of now_
};

}  // namespace charmtree::proto
