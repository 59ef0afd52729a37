// SPDX-License-Identifier: Apache-2.0
// What this process gives the others by fences, what they have given, and what they ask. It knows nothing of
// the launcher: messages are made here, and are sent and heard by the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/listeners.hpp"
#include "client-lib/mapping.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/native_message.hpp"
#include "tree/wire/shared_values.hpp"

namespace charmtree::client {

class Exchange {
public:
  /// False: there is no room for it before the next fence.
  bool put(std::string_view key, std::string_view value);
  /// What a fence that is over has brought; void when the next one is taken note of.
  std::optional<std::string_view> get(std::string_view key) const;

  using Gives = wire::native::FenceEnter::Gives;
  /// The number of a request; negative: too much is under way. `enter`: what is to be said. Gives::pairs:
  /// what was put goes to all, and there is no value.
  int begin(std::vector<wire::ProcessSet::Range> processes, Gives gives, std::string_view value,
            wire::native::FenceEnter& enter);
  /// It could not be said: as if it had never been.
  void take_back(wire::native::FenceEnter enter);
  /// In a job of one: it is over.
  void pass(const wire::native::FenceEnter& enter);

  enum class State : std::uint8_t { none, open, over, failed };
  State state(int request) const;
  /// Some are open, of which others count on this process.
  bool any_to_wait_for() const;
  /// The number of a request for what this process offers; negative: there are too many.
  int begin_ask(std::uint32_t process);
  /// The number of a request that is settled by somebody else; negative: there are too many.
  int reserve();
  /// It has failed, or these are the values of all processes by their rank, each of so many bytes.
  void settle(int request);
  void settle(int request, Mapping values, std::size_t each);
  void settle(int request, std::string values, std::size_t each);
  /// Released as soon as it is over.
  void abandon(int request);
  /// What was given for a request of values, or by a neighbour for one of a ring, that is over.
  std::optional<std::string_view> value_of(int request, std::uint32_t process) const;
  void release(int request) { requests_.erase(request); }

  /// False: it makes no sense. The descriptors stay the caller's.
  bool heard(const wire::native::Values& values, int fd);
  /// It comes with a descriptor.
  static bool comes_with_values(const wire::native::Values&) { return true; }
  bool comes_with_values(const wire::native::FenceOver& over) const;
  bool heard(const wire::native::FenceOver& over, int fd);
  /// `self`: who this is.
  bool heard(const wire::native::RingOver& over, const wire::native::Welcome& self);
  bool heard(const wire::native::Told& told);
  /// From now on get() finds what was heard.
  void take_note();

  /// Of what others ask.
  Listeners& listeners() { return listeners_; }
  const Listeners& listeners() const { return listeners_; }

private:
  struct Content {
    Mapping mapping;
    wire::Blob own;  // of a job of one
    std::optional<wire::SharedValues> values;
    std::size_t each = 0;  // bytes of a value, where there is one of each process in `mapping` or `own`
    std::string_view bytes() const { return own ? std::string_view{*own} : mapping.bytes(); }
  };
  enum class Kind : std::uint8_t { fence, ask, reserved };
  struct Request {
    Kind kind = Kind::reserved;  // somebody else settles it
    State state = State::open;
    Gives gives = {};         // to a fence
    std::size_t given = 0;    // bytes
    std::uint32_t asked = 0;  // process, whose offer it is
    bool is_abandoned = false;
    Content content = {};
  };
  struct Laid {
    std::uint32_t below = 0;
    Content content;
  };
  static std::optional<Content> content_of(int fd);
  static Content own_content(const std::string& pairs);
  using Requests = std::map<int, Request>;
  std::size_t open(Kind kind) const;
  std::size_t under_way() const;
  /// The end: there is no such request, or it is open no more.
  Requests::iterator find_open(std::uint32_t id, Kind kind);
  void end(Requests::iterator request, State state);
  int next_number();

  std::string put_;
  std::string passed_;         // of a job of one: what was put, as it counts
  std::vector<Content> pile_;  // the newest on top
  std::vector<Laid> laid_;     // on it, but not taken note of
  Requests requests_;
  Listeners listeners_;
  int last_ = -1;
};

}  // namespace charmtree::client
