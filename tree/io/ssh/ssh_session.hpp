// SPDX-License-Identifier: Apache-2.0
// One libssh2 session with its socket and its one channel, and the order in which they may be released. It
// knows the traps of libssh2 1.10, but no deadlines and no event handlers: those are SshLogin's and
// SshLink's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <libssh2.h>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::io {

class SshSession {
public:
  explicit SshSession(asio::io_context& io) : socket_(io) {}
  /// Abrupt: the connection is cut, nothing blocks.
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  asio::ip::tcp::socket& socket() { return socket_; }
  LIBSSH2_SESSION* session() { return session_; }
  LIBSSH2_CHANNEL* channel() { return channel_; }
  void set_channel(LIBSSH2_CHANNEL* channel) { channel_ = channel; }

  /// Makes the libssh2 session, non-blocking, with the user's algorithms, and where they are empty with ours
  /// (the cheap and strong ones first). `host_keys` of them is what to offer for this host. Error
  /// no_usable_key: libssh2 has none of one kind; internal: no memory.
  Result<void> begin(const SshAlgorithms& algorithms);

  /// One step of the handshake: 0, LIBSSH2_ERROR_EAGAIN or an error.
  int handshake();

  /// After LIBSSH2_ERROR_EAGAIN. True: a packet is half sent; wait until the socket takes bytes, then make
  /// the very same call again, and no other. False: wait until there is something to read.
  bool wants_write();

  /// Tells the server that we leave, if that is possible without waiting. Only between two calls, never after
  /// EAGAIN.
  void say_goodbye();

  /// libssh2's code of the last error (for calls that return a pointer).
  int last_error();
  std::string last_message();

  /// Bytes of the channel, of whatever stream, that libssh2 has taken and nobody has read yet.
  std::size_t unread() const;
  /// Bytes that have come in all.
  std::uint64_t received() const { return received_; }

  /// The peer closed or reset the connection, whether libssh2 has noticed or not.
  bool connection_ended() const;
  /// errno of a reset; 0: closed in order or not ended.
  int connection_error() const { return connection_error_; }
  /// The first bytes that the peer sent, at most 128: what an impostor or a busy sshd said instead of "SSH-".
  const std::string& first_bytes() const { return first_bytes_; }
  /// The text and reason of SSH_MSG_DISCONNECT; empty and 0 if there was none.
  const std::string& farewell() const { return farewell_; }
  int farewell_reason() const { return farewell_reason_; }

  /// The host key that the server showed, as a blob.
  std::string host_key();

private:
  static ssize_t receive(libssh2_socket_t fd, void* buffer, std::size_t length, int flags, void** abstract);
  static ssize_t transmit(libssh2_socket_t fd, const void* buffer, std::size_t length, int flags,
                          void** abstract);
  static void disconnected(LIBSSH2_SESSION* session, int reason, const char* message, int message_length,
                           const char* language, int language_length, void** abstract);

  mutable asio::ip::tcp::socket socket_;  // mutable: native_handle() is not const
  LIBSSH2_SESSION* session_ = nullptr;
  LIBSSH2_CHANNEL* channel_ = nullptr;  // owned by session_
  bool ended_ = false;
  bool got_bytes_ = false;  // since receive() last reported that nothing is there
  bool handshaken_ = false;
  std::uint64_t received_ = 0;
  int connection_error_ = 0;
  std::string first_bytes_;
  std::string farewell_;
  int farewell_reason_ = 0;
};

}  // namespace charmtree::io
