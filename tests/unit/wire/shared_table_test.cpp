// SPDX-License-Identifier: Apache-2.0
// The node table as the processes of a host share it.
#include "tree/wire/shared_table.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"

namespace charmtree::shared_table_test {

using namespace charmtree::wire;

namespace {

const NodeTable kTable{
    3,
    1,
    {{0, 0, 0x0A000001, {{0, "first"}, {0, std::string("\0x", 2)}}},
     {9, 2, {}, {}},
     {4, 2, *parse_address("2001:db8::1"), {{0, ""}, {0, "the same one"}, {0, "the same one"}}}}};

std::string tuple_of(const SharedTable& table, std::uint32_t process) {
  return std::string{table.find(process).value().tuple};
}

bool is_inside(std::string_view part, const std::string& bytes) {
  return part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + bytes.size();
}

}  // namespace

TEST_CASE("what is in a table is in its shared form", "[table]") {
  const std::string bytes = shared_form(kTable);
  const auto shared = SharedTable::in(bytes);
  REQUIRE(shared);
  CHECK((shared->epoch() == 3 && shared->processes() == 5));
  CHECK(shared->find(0)->host == 0);
  CHECK(shared->find(0)->address == "10.0.0.1");
  CHECK(tuple_of(*shared, 0) == "first");
  CHECK(tuple_of(*shared, 1) == std::string("\0x", 2));
  CHECK(shared->find(2)->host == 4);
  CHECK(shared->find(2)->address == "2001:db8::1");
  CHECK(tuple_of(*shared, 2).empty());
  CHECK(tuple_of(*shared, 4) == "the same one");
  CHECK(shared->find(3)->tuple.data() == shared->find(4)->tuple.data());  // once
  CHECK_FALSE(shared->find(5));
}

TEST_CASE("processes of any number of hosts are found, with tuples of any length", "[table]") {
  Random chance{7};
  for (int round = 0; round < 300; ++round) {
    NodeTable table{0, 1, {}};
    const auto hosts = static_cast<std::uint32_t>(1 + chance.below(40));
    std::vector<std::pair<std::uint32_t, std::string>> all;  // host and tuple of each process
    for (std::uint32_t host = 0; host < hosts; ++host) {
      TupleBlock block{host, static_cast<std::uint32_t>(all.size()), 0x0A000000 + host, {}};
      const std::size_t processes = chance.below(chance.below(10) == 0 ? 300 : 6), kind = chance.below(5);
      for (std::size_t i = 0; i < processes; ++i) {
        const std::size_t sizes[] = {2, 64, 65, chance.below(9), 0};
        const std::size_t letter = kind == 2 ? i / 4 % 2 : chance.below(3);
        block.tuples.push_back({0, std::string(sizes[kind], static_cast<char>('a' + letter))});
        all.emplace_back(host, block.tuples.back().data);
      }
      table.blocks.push_back(block);
    }
    const std::string bytes = shared_form(table);
    const auto shared = SharedTable::in(bytes);
    REQUIRE((shared && shared->processes() == all.size()));
    bool is_right = !shared->find(static_cast<std::uint32_t>(all.size()));
    for (std::uint32_t process = 0; process < all.size(); ++process) {
      const auto found = shared->find(process);
      is_right = is_right && found && found->host == all[process].first &&
                 found->tuple == all[process].second &&
                 found->address == "10.0.0." + std::to_string(found->host);
    }
    CHECK(is_right);
  }
}

TEST_CASE("a table of very many processes is small", "[table]") {
  NodeTable table{0, 1, {}};
  for (std::uint32_t host = 0; host < 1000; ++host) {
    table.blocks.push_back({host, host * 60, 0x0A000000 + host, {}});
    for (std::uint32_t i = 0; i < 60; ++i) table.blocks.back().tuples.push_back({0, std::to_string(10 + i)});
  }
  CHECK(shared_form(table).size() < std::size_t{60'000} * 4);
  for (TupleBlock& block : table.blocks) {
    for (Tuple& tuple : block.tuples) tuple.data = std::string(3000, 'x');
  }
  CHECK(shared_form(table).size() < std::size_t{60'000} * 2);
}

TEST_CASE("a host without a known address has none in a shared table", "[table]") {
  const std::string bytes = shared_form({0, 1, {{7, 0, {}, {{0, "a"}}}}});
  CHECK(SharedTable::in(bytes)->find(0)->address.empty());
  CHECK(SharedTable::in(bytes)->find(0)->host == 7);
}

TEST_CASE("of a shared table that is damaged nothing outside of it is read", "[table]") {
  const std::string whole = shared_form(kTable);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);  // a sanitizer sees what is read behind it
    const auto shared = SharedTable::in(cut);
    for (std::uint32_t process = 0; shared && process < 6; ++process) (void)shared->find(process);
  }
  Random chance{1};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[chance.below(bytes.size())] = static_cast<char>(chance.next());
    const auto shared = SharedTable::in(bytes);
    if (!shared) continue;
    for (std::uint32_t process = 0; process < 6; ++process) {
      const auto found = shared->find(process);
      if (found) CHECK((is_inside(found->tuple, bytes) && is_inside(found->address, bytes)));
    }
  }
}

}  // namespace charmtree::shared_table_test
