// SPDX-License-Identifier: Apache-2.0
// OpenSSL with memory for its two directions. A server without a certificate can only go on with the key, and
// a client that trusts no certificate, too: a handshake that ends well has used it, which is looked at all
// the same.
#include "tree/io/mpiexec/psk_channel.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace charmtree::io {

namespace {

constexpr const char* kIdentity = "charmtree";
constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";  // the key's hash must be its

const std::string& secret_of(SSL* ssl) {
  return *static_cast<const std::string*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

unsigned copy_secret(SSL* ssl, unsigned char* key, unsigned room) {
  const std::string& secret = secret_of(ssl);
  if (secret.size() > room) return 0;
  std::copy(secret.begin(), secret.end(), key);
  return static_cast<unsigned>(secret.size());
}

unsigned client_key(SSL* ssl, const char*, char* identity, unsigned identity_room, unsigned char* key,
                    unsigned room) {
  if (std::strlen(kIdentity) >= identity_room) return 0;
  std::strcpy(identity, kIdentity);
  return copy_secret(ssl, key, room);
}

unsigned server_key(SSL* ssl, const char* identity, unsigned char* key, unsigned room) {
  return std::strcmp(identity, kIdentity) == 0 ? copy_secret(ssl, key, room) : 0;
}

void check(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL cannot be set up");
}

}  // namespace

PskContext::PskContext(End end, std::string secret)
    : end_(end), secret_(std::move(secret)), context_(SSL_CTX_new(TLS_method()), SSL_CTX_free) {
  SSL_CTX* context = context_.get();
  check(context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_ciphersuites(context, kCipher) == 1 && SSL_CTX_set1_groups_list(context, "X25519") == 1);
  SSL_CTX_set_app_data(context, &secret_);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (end == End::server) {
    SSL_CTX_set_psk_server_callback(context, server_key);
    return;
  }
  SSL_CTX_set_psk_client_callback(context, client_key);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

PskContext::~PskContext() = default;

PskChannel::PskChannel(PskContext& context) : ssl_(SSL_new(context.context_.get()), SSL_free) {
  check(ssl_ != nullptr);
  BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
  check(in != nullptr && out != nullptr);
  SSL_set_bio(ssl_.get(), in, out);
  if (context.end_ == PskContext::End::server) {
    SSL_set_accept_state(ssl_.get());
    return;
  }
  SSL_set_connect_state(ssl_.get());
  (void)shake_hands();  // nothing has come that could be wrong
}

PskChannel::~PskChannel() = default;

Result<void> PskChannel::shake_hands() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done != 1 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ) return {};
  if (done != 1 || SSL_session_reused(ssl_.get()) != 1) {
    broken_ = true;
    return Error{Errc::bad_peer, Phase::authenticate, "the other end does not know the secret of this start"};
  }
  established_ = true;
  send(std::exchange(waiting_, {}));
  return {};
}

Result<void> PskChannel::receive(std::string_view bytes, std::string& plain) {
  const Error refused{Errc::bad_peer, Phase::authenticate, "the other end has been refused"};
  if (broken_) return refused;
  if (!established_) {
    before_ += bytes.size();
    broken_ = before_ > kMostBefore;
    if (broken_) return refused;
  }
  check(bytes.empty() ||
        BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size())) > 0);
  if (!established_) {
    if (auto shaken = shake_hands(); !shaken || !established_) return shaken;
  }
  return read(plain);
}

Result<void> PskChannel::read(std::string& plain) {
  std::array<char, 16U << 10> buffer;
  for (;;) {
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), buffer.data(), buffer.size());
    if (got > 0) {
      plain.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_WANT_READ) return {};
    broken_ = true;
    return Error{Errc::bad_peer, Phase::run, "what came has been changed on its way"};
  }
}

void PskChannel::send(std::string_view plain) {
  if (!established_) {
    waiting_ += plain;
    return;
  }
  if (broken_ || plain.empty()) return;
  ERR_clear_error();
  std::size_t written = 0;
  check(SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) == 1 && written == plain.size());
}

std::string PskChannel::take() {
  BIO* out = SSL_get_wbio(ssl_.get());
  std::string bytes(BIO_ctrl_pending(out), '\0');
  if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

}  // namespace charmtree::io
