// SPDX-License-Identifier: Apache-2.0
// A client's end of a connection to the control socket of a job: it opens a service, and reads the service's
// frames until a deadline. Several clients may wait at once. For longer conversations in an event loop, see
// control/service_link.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "charmrun/control/protocol.hpp"
#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::control {

/// Returns the error of a message that is none of the service.
Error not_understood();
/// Returns the error in a Refused message, readable on a terminal.
Error error_of(const Refused& refused);

class Client {
public:
  /// Requests a service on this connection to the control socket of `job`. Does not wait.
  Client(std::string job, io::UniqueFd connection, std::string_view service);

  /// Takes the answers that have come to the request. True: the service is open, and messages may be sent.
  /// Error refused: the other side refuses the request, is of another version or breaks the protocol.
  Result<bool> open();
  /// The other side may still send something.
  bool is_connected() const { return bool{fd_}; }
  const std::string& job() const { return job_; }

  /// Sends one frame that is short: it must fit into the kernel's buffer. Returns false if it does not, or if
  /// the connection has ended.
  bool send(std::string_view frame);
  /// Returns the next frame of the service; nothing if more bytes are needed. Errors: as open().
  Result<std::optional<wire::Frame>> next();
  /// Reads what has come. At the end of the connection, is_connected() becomes false.
  void read();

  int descriptor() const { return fd_.get(); }
  /// Gives the connection away, with what was read and not yet taken.
  std::pair<io::UniqueFd, wire::FrameDecoder> release();

private:
  Result<void> handle(const Message& message);

  std::string job_;
  io::UniqueFd fd_;
  wire::FrameDecoder decoder_{wire::kMaxLinkFrame};
  bool is_open_ = false;
};

/// Waits until something has come for one of the clients that are connected, and reads it. Returns false if
/// none is connected or the time `end` has come.
bool read_some(std::span<Client> clients, Instant end);

/// Connects to the charmrun of `job` on this machine and opens a service; `silent` is the error if there is
/// none, or it does not answer within kOpenWithin. Other errors: as Client::next.
inline constexpr Duration kOpenWithin = 10s;
Result<Client> open_service(const std::string& job, std::string_view service, const Error& silent);
/// Opens a service as above; the error `silent` is no_answer().
Result<Client> open_service(const std::string& job, std::string_view service);

/// Waits for a message of the service. Nothing: the time `end` has come, or the connection has ended.
template <class Variant>
Result<std::optional<Variant>> receive(Client& client, Instant end) {
  for (;;) {
    const auto frame = client.next();
    if (!frame) return frame.error();
    if (frame->has_value()) {
      std::optional<Variant> message{std::in_place};
      if (!decode(**frame, *message)) return not_understood();
      return message;
    }
    if (!read_some({&client, 1}, end)) return std::optional<Variant>{};
  }
}

}  // namespace charmtree::control
