// SPDX-License-Identifier: Apache-2.0
// A message between launchers, whatever its type. A service declares its messages as structs (CT_MESSAGE) and
// describes them in one file of its own (message_type.hpp). No other file compiles what reads, writes, copies
// or checks them: a Message has that in a table of functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tree/base/any_value.hpp"
#include "tree/base/result.hpp"
#include "tree/base/type_list.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::wire {

/// The way of a message. A launcher that receives one from the wrong side closes that link (DESIGN D2).
enum class Route : std::uint8_t {
  down,     // from a parent to its child
  up,       // from a child to its parent
  to_root,  // to the root: every launcher on the way passes it on to its parent
};

class Message;
struct MessageType;

/// Within a struct: declares a message with its route and its number on the wire, which never changes
/// meanwhile. One file defines kType (message_type.hpp).
#define CT_MESSAGE(route, number)                                                     \
  static constexpr ::charmtree::wire::Route kRoute = ::charmtree::wire::Route::route; \
  static constexpr std::uint8_t kNumber = number;                                     \
  static const ::charmtree::wire::MessageType kType

template <class M>
concept IsMessage = std::is_same_v<decltype(&M::kType), const MessageType*>;

/// Limits the payload of a message: base, and so many bytes for each host and each process that its sender
/// may speak for.
struct Limit {
  std::size_t base = 0, host = 0, process = 0;
};

/// The kinds of numbers in a message that its sender must own.
enum class Owned : std::uint8_t {
  host,
  process,
  process_once,  // a process that it owns, or once owned
};

/// Knows the hosts and processes of the sender of a message.
class Ownership {
public:
  virtual ~Ownership() = default;
  virtual bool owns(Owned what, std::uint32_t number) const = 0;
  virtual bool owns(Owned what, ProcessSet::Range processes) const = 0;
};

/// Shortens a text.
class TextCutter {
public:
  virtual ~TextCutter() = default;
  virtual void operator()(std::string& text) = 0;
};

/// Describes one type of message.
struct MessageType {
  std::uint8_t number = 0;
  Route route = Route::down;
  std::string_view name = {};
  Limit limit = {};
  bool is_judged = false;  // the launcher that receives it checks more than `names_own` (proto::Trust)
  bool is_counted = true;  // among those of which a child has only so many; else it has a limit of its own
  bool is_asked_again = false;  // if no answer comes (proto::OpenInquiries), so it may be lost on its way
  TypeFunctions functions = {};
  void (*put)(Writer& out, const void* message) = nullptr;
  /// Returns nothing if the payload is malformed.
  std::optional<Message> (*decode)(std::string_view payload, const Remit& remit) = nullptr;
  /// Every host and process that the message names is its sender's.
  bool (*names_own)(const void* message, const Ownership& sender) = nullptr;
  /// Passes each text that may be cut (kMayBeCut) to `cut`.
  void (*cut_texts)(void* message, TextCutter& cut) = nullptr;

  bool goes_down() const { return route == Route::down; }
};

class Message : public AnyValue<Message, MessageType, 320> {
public:
  template <IsMessage M>
  Message(M message)  // NOLINT(google-explicit-constructor)
      : AnyValue(M::kType, std::move(message)) {}
  std::uint8_t number() const { return type().number; }
  template <IsMessage M>
  static const MessageType& type_of() {
    return M::kType;
  }
};

/// The messages of a service, or of several.
template <IsMessage... Ms>
using MessageList = TypeList<Ms...>;

/// Finds a type of message by its number.
class MessageTypes {
public:
  /// Two messages with one number do not compile.
  template <IsMessage... Ms>
  explicit consteval MessageTypes(MessageList<Ms...>) {
    (add(Ms::kNumber, &Ms::kType), ...);
  }
  /// Returns null if no message has this number.
  const MessageType* find(std::uint8_t number) const { return all_[number]; }
  /// The types by number, null where no message has it.
  const std::array<const MessageType*, UINT8_MAX + 1>& all() const { return all_; }
  /// Error bad_peer: no message has this number, or the payload is malformed, or is about more than its
  /// sender may speak for.
  Result<Message> decode(std::uint8_t number, std::string_view payload, const Remit& remit = {}) const;

private:
  consteval void add(std::uint8_t number, const MessageType* type) {
    if (all_[number] != nullptr) throw "two messages have the same number";
    all_[number] = type;
  }

  std::array<const MessageType*, UINT8_MAX + 1> all_{};
};

/// Returns the largest payload of a message of this type that is accepted. A parent may send what fits a
/// frame.
std::size_t most_payload(const MessageType& type, const Remit& remit);

/// Encodes the message as one frame. Lists (Assign, HandBack, Facts) that the receiver would reject as too
/// large become several frames, each with a part; so do HandBack and Facts that are merely long. Texts for
/// people are cut (message_limits.hpp). Error bad_input: it is too large and cannot be divided.
Result<std::string> encode_frames(const Message& message);

}  // namespace charmtree::wire
