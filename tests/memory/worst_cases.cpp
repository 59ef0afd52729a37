// SPDX-License-Identifier: Apache-2.0
#include "tests/memory/worst_cases.hpp"

#include "debug/members.hpp"
#include "input/members.hpp"
#include "kvs/fence/members.hpp"
#include "kvs/ring/members.hpp"
#include "stacks/members.hpp"
#include "staging/members.hpp"
#include "tree/node/services.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::test {

namespace {

using namespace wire;

constexpr std::size_t kTextOfElement = 4000, kListInElement = 1000;

class Maker {
public:
  Maker(const Making& making, const Speaker& speaker, std::uint32_t turn)
      : making_(making), speaker_(speaker), number_(turn) {}

  template <class M>
  void make() {
    M message{};
    member(message);
  }
  std::vector<Length> lengths() const { return lengths_; }
  std::string take() { return out_.take(); }

private:
  /// Of hosts and processes, also of all that is small.
  std::uint32_t number() const {
    return making_.is_about_others ? UINT32_MAX - number_ : number_ % speaker_.processes();
  }

  template <class T>
  requires std::is_integral_v<T>
  void member(const T&) {
    if constexpr (std::is_signed_v<T>)
      out_.svarint(1);
    else if constexpr (sizeof(T) == 1)
      out_.varint(number_ % 2);
    else if constexpr (sizeof(T) == 2)
      out_.varint(7);
    else
      out_.varint(number());
  }
  template <class T>
  requires std::is_enum_v<T>
  void member(const T&) { out_.varint(number_ % 2); }
  void member(const Duration&) { out_.svarint(1); }
  void member(const Instant&) {
    out_.varint(1);
    out_.svarint(1);
  }
  void member(const CcsMerge&) { out_.varint(0); }
  void member(const Address&) {
    out_.varint(0);
    out_.varint(number());
  }
  void member(const std::string&) { text(); }
  void member(const Blob&) { text(); }
  template <class T>
  void member(const std::optional<T>&) {
    out_.varint(1);
    member(T{});
  }
  template <class T, std::size_t N>
  void member(const std::array<T, N>& all) {
    for (const T& each : all) member(each);
  }
  /// Of two numbers the second is not the lower one.
  void member(const ProcessSet::Range&) {
    out_.varint(number());
    out_.varint(number());
  }
  /// A byte for each id.
  void member(const ProcessIds&) {
    out_.varint(number());
    out_.varint(number());
    const std::size_t ids = making_.how == Making::Long::rich ? kListInElement : 1;
    out_.varint(ids);
    for (std::size_t i = 0; i < ids; ++i) out_.svarint(1);
  }
  template <Described S>
  void member(const S& value) {
    Members<S>::with(value, [this](const auto&... each) { (member(each), ...); });
  }
  template <class T>
  void member(const std::vector<T>&) {
    const bool is_longest = next_is_longest(Length::list);
    const std::size_t most = is_longest                          ? count()
                             : !inside_                          ? 1
                             : making_.how == Making::Long::rich ? kListInElement
                                                                 : 0;
    Writer before = std::exchange(out_, {});
    const std::uint32_t first = number_;
    std::size_t made = 0;
    for (; made < most && out_.bytes().size() < making_.room; ++made) {
      const bool was_inside = std::exchange(inside_, inside_ || is_longest);
      member(T{});
      inside_ = was_inside;
      if (is_longest) ++number_;
    }
    number_ = first;
    Writer elements = std::exchange(out_, std::move(before));
    out_.varint(made);
    out_.raw(elements.bytes());
  }
  void member(const std::vector<TupleBlock>&) {
    if (!next_is_longest(Length::tuples)) return blocks_of_host();
    switch (making_.how) {
      case Making::Long::poor:
        return runs("");
      case Making::Long::rich:
        return runs(std::string(kMaxTuple, 't'));
      case Making::Long::entries:
        return entries();
    }
  }

  bool next_is_longest(Length length) {
    if (inside_) return false;
    lengths_.push_back(length);
    return lengths_.size() - 1 == making_.longest;
  }

  std::size_t count() const {
    if (making_.size == Making::Size::bytes) return SIZE_MAX;
    return making_.size == Making::Size::hosts ? speaker_.hosts : speaker_.processes();
  }

  void text() {
    if (inside_) return out_.string(std::string(making_.how == Making::Long::rich ? kTextOfElement : 0, 'x'));
    out_.string(next_is_longest(Length::text) ? std::string(making_.room, 'x') : std::string{"t"});
  }

  /// As it should be, but that its tuples are as long as they may be.
  void blocks_of_host() {
    const std::uint32_t host = number_ % speaker_.hosts;
    TupleBlock block{host, host * speaker_.processes_of_host, 1, {}};
    for (std::uint32_t i = 0; i < speaker_.processes_of_host; ++i)
      block.tuples.push_back({0, std::string(kMaxTuple, static_cast<char>('a' + i % 26))});
    encode(out_, {block});
  }
  /// Blocks of 4096 processes that count up, in nine bytes each.
  void runs(const std::string& tuple) {
    constexpr std::size_t kRun = 4096, kBytes = 9;
    const std::size_t blocks = making_.room / kBytes;
    out_.varint(1);
    out_.string(tuple);
    out_.varint(blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
      for (int difference = 0; difference < 3; ++difference) out_.svarint(0);
      out_.varint(kRun);
      for (int form = 0; form < 5; ++form) out_.varint(0);
    }
  }
  void entries() {
    out_.varint(making_.room);
    for (std::size_t i = 0; i < making_.room; ++i) out_.string("");
    out_.varint(0);
  }

  Making making_;
  Speaker speaker_;
  Writer out_;
  std::uint32_t number_;
  std::vector<Length> lengths_;  // so far
  bool inside_ = false;          // an element of the longest list
};

template <IsMessage... Ms>
void make(std::uint8_t type, Maker& maker, MessageList<Ms...>) {
  ((type == Ms::kNumber ? maker.make<Ms>() : void()), ...);
}

}  // namespace

std::vector<Length> lengths_of(std::uint8_t type) {
  Maker maker{{.longest = SIZE_MAX, .room = 1}, {}, 0};
  make(type, maker, node::Messages{});
  return maker.lengths();
}

std::string make_payload(std::uint8_t type, const Making& making, const Speaker& speaker,
                         std::uint32_t turn) {
  Maker maker{making, speaker, turn};
  make(type, maker, node::Messages{});
  return maker.take();
}

}  // namespace charmtree::test
