// SPDX-License-Identifier: Apache-2.0
// Any lines as those of a gdb that holds three processes: the program that is debugged rules what some of
// them say. A line that begins with '!' is an order of the prompt instead.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "debug/gdb_driver.hpp"
#include "debug/members.hpp"
#include "tests/fuzz/script.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/message_members.hpp"

using namespace charmtree;
using charmtree::fuzz::require;

// What goes up is sound and small, and an order is done once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  debug::GdbDriver driver{{{0, 10}, {1, 11}, {7, 17}}};
  std::uint32_t number = 0, open = 0;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    debug::GdbDriver::Out out;
    if (line.starts_with("!")) {
      using What = debug::DebugOrder::What;
      open = ++number;
      driver.order({1,
                    number,
                    number == 1 ? What::begin : What::command,
                    false,
                    std::string{line.substr(1)},
                    {{0, 7}}},
                   out);
    } else {
      driver.heard(line, out);
    }
    require(out.done == 0 || out.done == open);
    if (out.done != 0) open = 0;
    const auto coded = wire::encode_whole(out.said.take());
    require(coded && coded->size() <= debug::kMaxDebug);
    const auto again = wire::decode_whole<debug::DebugAnswers>(*coded);
    require(again.has_value());
    debug::AnswerSet sum;
    sum.add(*again);
    for (const auto& answer : sum.take().answers) require(is_sound(answer));
  }
  return 0;
}
