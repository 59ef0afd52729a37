// SPDX-License-Identifier: Apache-2.0
// Queue pairs that are made when they are used first. A process asks the other one, under a key that tells
// its own queue pair; the other makes one, connects it, and answers with that. Where both begin at once, each
// finds the other's queue pair in the other's key. It needs no device, and no launcher.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client-lib/ibverbs/failure.hpp"
#include "client-lib/ibverbs/told.hpp"

namespace charmtree::ibverbs {

/// What makes them; each for one other process.
class Maker {
public:
  virtual ~Maker() = default;
  /// A queue pair that can take what it is to receive; `own`: how it is told.
  virtual Outcome make(std::uint32_t rank, Peer& own) = 0;
  /// With that of the other process: it can receive, and send.
  virtual Outcome connect(std::uint32_t rank, const Peer& own, const Peer& other) = 0;
  /// One that was made, and will not be connected.
  virtual void release(std::uint32_t rank) = 0;
};

class Pairs {
public:
  struct Ask {
    std::uint32_t rank = 0;
    std::string key;
  };
  struct Answer {
    std::uint32_t rank = 0;
    std::string key, value;
  };
  using Action = std::variant<Ask, Answer>;
  using Actions = std::vector<Action>;

  /// `prefix`: of the keys, the same in all processes. The maker must outlive the object.
  Pairs(std::string prefix, Maker& maker) : prefix_(std::move(prefix)), maker_(maker) {}

  enum class State : std::uint8_t { none, under_way, ready, failed };
  /// Ready: it can be sent to.
  State state(std::uint32_t rank) const;
  /// Of one that has failed.
  Failure why(std::uint32_t rank) const { return pairs_.at(rank).failure; }
  /// It can receive.
  bool is_connected(std::uint32_t rank) const;

  /// This process wants to send to that one. As often as it likes.
  void reach(std::uint32_t rank, Actions& out);
  /// That process has asked. As often as it likes.
  void asked(std::uint32_t rank, const std::string& key, Actions& out);
  /// What it has asked is answered so.
  void told(std::uint32_t rank, std::string_view value, Actions& out);
  /// ... will have no answer.
  void unanswered(std::uint32_t rank, Failure failure, Actions& out);

private:
  enum class Stage : std::uint8_t { asking, connected, failed };
  struct Pair {
    Stage stage = Stage::asking;
    Peer own;
    Failure failure;
    std::uint32_t number = 0;         // the other's, once it is connected
    bool is_other_connected = false;  // so it may be sent to
    bool has_asked = false;           // the other, for its queue pair, or whether it is connected
    bool is_asked_whether = false;    // by the other, and has not answered
  };
  using Place = std::map<std::uint32_t, Pair>::iterator;

  /// "Is yours connected?": what is sent to one that is not is lost, and sent again much later.
  std::string whether() const { return prefix_ + "whether"; }
  std::string key_of(const Peer& own) const;
  std::optional<Peer> peer_in(const std::string& key) const;
  Place make(std::uint32_t rank);
  void connect(Place pair, const Peer& other, Actions& out);
  void fail(Place pair, Failure failure, Actions& out);
  void answer(Place pair, const std::string& key, Actions& out) const;

  std::string prefix_;
  Maker& maker_;
  std::map<std::uint32_t, Pair> pairs_;  // by the other process
};

}  // namespace charmtree::ibverbs
