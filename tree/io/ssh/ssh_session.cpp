// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tree/base/join.hpp"
#include "tree/io/ssh/ssh_libraries.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

// curve25519 costs libssh2 about 1 ms, the finite-field groups ten times that: they come last.
constexpr const char* kKeyExchanges =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"
    "diffie-hellman-group14-sha256,diffie-hellman-group16-sha512,diffie-hellman-group-exchange-sha256";
constexpr const char* kCiphers = "aes128-ctr,aes192-ctr,aes256-ctr";
// Costs half as much as CTR with a MAC.
constexpr const char* kCiphersWithGcm =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr";
constexpr const char* kMacs = "hmac-sha2-256,hmac-sha2-512,hmac-sha1";
constexpr int kSignAlgorithm = 10;  // LIBSSH2_METHOD_SIGN_ALGO of libssh2 1.11
constexpr std::size_t kFirstBytes = 128;
constexpr std::size_t kMaxHandshakeBytes =
    256 * 1024;  // a key exchange takes 3 kB; what talks on is no ssh server
constexpr std::size_t kFarewellBytes = 200;
constexpr int kFreeTries =
    64;  // session_free on a dead connection needs one; never more than once per open operation

std::string without_rsa_sha2(std::string_view list) {
  std::vector<std::string> names = split_list(list);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("rsa-sha2-"); });
  return join(names, ",");
}

}  // namespace

SshSession::~SshSession() {
  if (session_ != nullptr) {
    // The session goes first, while the descriptor number is still ours; on a connection that is shut down it
    // cannot block.
    if (socket_.is_open()) ::shutdown(socket_.native_handle(), SHUT_RDWR);
    for (int i = 0; i < kFreeTries && libssh2_session_free(session_) == LIBSSH2_ERROR_EAGAIN; ++i) {
    }
  }
  error_code ignored;
  socket_.close(ignored);
}

Result<void> SshSession::begin(const SshAlgorithms& algorithms) {
  session_ = libssh2_session_init_ex(nullptr, nullptr, nullptr, this);
  if (session_ == nullptr) return Error(Errc::internal, Phase::handshake, "no memory for a session");
  libssh2_session_set_blocking(session_, 0);
  // The casts are libssh2's interface: every callback is a void*.
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_RECV,
                               reinterpret_cast<void*>(&SshSession::receive));
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_SEND,
                               reinterpret_cast<void*>(&SshSession::transmit));
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_DISCONNECT,
                               reinterpret_cast<void*>(&SshSession::disconnected));
  // What this libssh2 does not know is dropped from the lists by libssh2 itself.
  bool good = true;
  const auto set = [&](int kind, const std::string& wanted, const char* usual) {
    const char* list = wanted.empty() ? usual : wanted.c_str();
    good = libssh2_session_method_pref(session_, kind, list) == 0 && good;
  };
  set(LIBSSH2_METHOD_KEX, algorithms.key_exchanges, kKeyExchanges);
  const bool recent = libssh2_has_sha2_and_gcm();
  set(LIBSSH2_METHOD_HOSTKEY, recent ? algorithms.host_keys : without_rsa_sha2(algorithms.host_keys), "");
  if (recent && !algorithms.user_keys.empty()) set(kSignAlgorithm, algorithms.user_keys, "");
  const char* ciphers = recent ? kCiphersWithGcm : kCiphers;
  set(LIBSSH2_METHOD_CRYPT_CS, algorithms.ciphers, ciphers);
  set(LIBSSH2_METHOD_CRYPT_SC, algorithms.ciphers, ciphers);
  set(LIBSSH2_METHOD_MAC_CS, algorithms.macs, kMacs);
  set(LIBSSH2_METHOD_MAC_SC, algorithms.macs, kMacs);
  if (good) return {};
  return Error(Errc::no_usable_key, Phase::handshake,
               "libssh2 has none of the algorithms that are asked for");
}

int SshSession::handshake() {
  const int code = libssh2_session_handshake(session_, socket_.native_handle());
  handshaken_ = code == 0;
  return code;
}

bool SshSession::wants_write() {
  return (libssh2_session_block_directions(session_) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

void SshSession::say_goodbye() {
  if (!ended_) libssh2_session_disconnect_ex(session_, SSH_DISCONNECT_BY_APPLICATION, "done", "");
}

bool SshSession::connection_ended() const {
  if (ended_ || !socket_.is_open()) return true;
  pollfd state{socket_.native_handle(), POLLRDHUP, 0};
  return poll(&state, 1, 0) == 1;  // POLLRDHUP, POLLHUP or POLLERR
}

int SshSession::last_error() {
  return libssh2_session_last_errno(session_);
}

std::string SshSession::last_message() {
  char* text = nullptr;
  int length = 0;
  libssh2_session_last_error(session_, &text, &length, 0);
  return text == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(length));
}

std::string SshSession::host_key() {
  std::size_t length = 0;
  int type = 0;
  const char* blob = libssh2_session_hostkey(session_, &length, &type);
  return blob == nullptr ? std::string() : std::string(blob, length);
}

std::size_t SshSession::unread() const {
  unsigned long bytes = 0;
  if (channel_ != nullptr) libssh2_channel_window_read_ex(channel_, &bytes, nullptr);
  return bytes;
}

/// Like libssh2's own, but the end of the connection is held back until everything before it has been taken
/// and read: libssh2 reads nothing out any more once it knows of the end.
ssize_t SshSession::receive(libssh2_socket_t fd, void* buffer, std::size_t length, int flags,
                            void** abstract) {
  auto& self = *static_cast<SshSession*>(*abstract);
  const ssize_t got = ::recv(fd, buffer, length, flags);
  if (got > 0) {
    self.got_bytes_ = true;
    self.received_ += static_cast<std::uint64_t>(got);
    if (self.first_bytes_.size() < kFirstBytes) {
      const auto part = std::min(kFirstBytes - self.first_bytes_.size(), static_cast<std::size_t>(got));
      self.first_bytes_.append(static_cast<const char*>(buffer), part);
    }
    if (!self.handshaken_ && self.received_ > kMaxHandshakeBytes) {
      self.ended_ = true;
      return -ECONNABORTED;
    }
    return got;
  }
  const int error = got < 0 ? errno : 0;
  const bool nothing_yet = error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
  if (error != 0 && !nothing_yet) self.connection_error_ = error;  // the kernel reports it once
  if (nothing_yet || self.got_bytes_ || self.unread() > 0) {
    self.got_bytes_ = false;
    return -EAGAIN;
  }
  self.ended_ = true;
  return error == 0 ? 0 : -error;
}

/// Like libssh2's own, but into a connection that has ended everything goes and is lost: the end is found by
/// receive(), after what came before it.
ssize_t SshSession::transmit(libssh2_socket_t fd, const void* buffer, std::size_t length, int flags,
                             void** abstract) {
  auto& self = *static_cast<SshSession*>(*abstract);
  const ssize_t put = ::send(fd, buffer, length, flags | MSG_NOSIGNAL);
  if (put >= 0) return put;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return -EAGAIN;
  if (errno != EPIPE) self.connection_error_ = errno;
  ::shutdown(fd, SHUT_RDWR);  // whatever the reason was: a stream that lacks a packet must end
  return static_cast<ssize_t>(length);
}

void SshSession::disconnected(LIBSSH2_SESSION*, int reason, const char* message, int message_length,
                              const char*, int, void** abstract) {
  auto& self = *static_cast<SshSession*>(*abstract);
  self.ended_ = true;
  self.farewell_reason_ = reason;
  if (message == nullptr || message_length <= 0) return;
  self.farewell_.assign(message, std::min(kFarewellBytes, static_cast<std::size_t>(message_length)));
  for (char& c : self.farewell_) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
}

}  // namespace charmtree::io
