// SPDX-License-Identifier: Apache-2.0
// Messages of every type as a launcher would make them that wants another one to run out of memory. They are
// made from the description of the messages, so that a new one, or a new member, is among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace charmtree::test {

/// Of whom the sender may speak: processes are numbered host by host.
struct Speaker {
  std::uint32_t hosts = 16, processes_of_host = 4;
  std::uint32_t processes() const { return hosts * processes_of_host; }
};

/// How a message is made. Exactly one of its lists and texts is long: the one with the number `longest`.
struct Making {
  enum class Long : std::uint8_t {
    poor,     // of elements that take as few bytes as can be
    rich,     // of elements with texts
    entries,  // coded tuples: of a dictionary without end; other lists and texts: as poor
  };
  enum class Size : std::uint8_t {
    hosts,  // as many elements as there are hosts
    processes,
    bytes,  // as many as there is room
  };
  std::size_t longest = 0;
  Long how = Long::poor;
  Size size = Size::hosts;
  std::size_t room = 0;          // bytes
  bool is_about_others = false;  // numbers of nobody
};

enum class Length : std::uint8_t { text, list, tuples };
/// The lists and texts that a message of this type has, those in the elements of lists included.
std::vector<Length> lengths_of(std::uint8_t type);
/// The payload of the `turn`th message of a flood: each is about another host and process.
std::string make_payload(std::uint8_t type, const Making& making, const Speaker& speaker, std::uint32_t turn);

}  // namespace charmtree::test
