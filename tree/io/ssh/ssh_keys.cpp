// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_keys.hpp"

#include <fcntl.h>
#include <libssh2.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "tree/io/ssh/ssh_algorithms.hpp"
#include "tree/io/ssh/ssh_libraries.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/userauth.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

using State = KeyFile::State;

constexpr std::string_view kRsa = "ssh-rsa";
constexpr std::array<std::string_view, 5> kFileTypes = {"ssh-ed25519", "ecdsa-sha2-nistp256",
                                                        "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", kRsa};
constexpr std::string_view kOpensshBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kOpensshEnd = "-----END OPENSSH PRIVATE KEY-----";

bool includes(const auto& list, const auto& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Empty if it cannot be read or is too long.
std::string key_text(const std::string& path) {
  auto text = read_file(path, kMaxKeyFileBytes);
  return text ? std::move(*text) : std::string();
}

/// The blob of "PATH.pub", if there is one.
std::string public_blob(const std::string& path) {
  const std::string text = key_text(path + ".pub");
  const std::size_t begin = text.find(' ');
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find_first_of(" \r\n", begin + 1);
  const auto blob = decode_base64(std::string_view(text).substr(begin + 1, end - begin - 1));
  return blob && !key_type(*blob).empty() ? *blob : std::string();
}

/// The private part of an unprotected ed25519 key: two equal check numbers, type, public key, seed and public
/// key, comment. OpenSSL takes half a millisecond to find out that a text is in OpenSSH's format, on each
/// login, twice: so we open it ourselves, once.
OpenedKey open_ed25519(std::string_view secret) {
  static constexpr std::size_t kSeedBytes = 32;
  BlobReader reader(secret);
  const auto check = reader.u32(), again = reader.u32();
  const auto type = reader.string(), shown = reader.string(), pair = reader.string();
  if (!check || check != again || type != "ssh-ed25519" || !shown || !pair || pair->size() != 2 * kSeedBytes)
    return nullptr;
  return OpenedKey(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                   reinterpret_cast<const unsigned char*>(pair->data()), kSeedBytes),
      EVP_PKEY_free);
}

struct NumberFree {
  void operator()(BIGNUM* number) const { BN_clear_free(number); }
};
using Number = std::unique_ptr<BIGNUM, NumberFree>;

/// The private part of an unprotected RSA key: two equal check numbers, type, modulus, exponents, the
/// coefficient of the two primes, the primes, comment. libssh2 leaves the primes out, without which a
/// signature takes OpenSSL three times as long.
OpenedKey open_rsa(std::string_view secret) {
  static constexpr int kMostBits = 16384;
  BlobReader reader(secret);
  const auto check = reader.u32(), again = reader.u32();
  if (!check || check != again || reader.string() != kRsa) return nullptr;
  std::array<Number, 6> numbers;  // n, e, d, coefficient, p, q
  for (Number& number : numbers) {
    const auto bytes = reader.string();
    if (!bytes || bytes->empty()) return nullptr;
    number.reset(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes->data()),
                           static_cast<int>(bytes->size()), nullptr));
    if (!number || BN_is_zero(number.get()) || BN_num_bits(number.get()) > kMostBits) return nullptr;
  }
  const auto& [n, e, d, coefficient, p, q] = numbers;
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> scratch(BN_CTX_new(), BN_CTX_free);
  /// d modulo a prime less one.
  const auto exponent = [&](const BIGNUM* prime) {
    Number less(BN_dup(prime)), result(BN_new());
    const bool good = scratch && less && result && BN_sub_word(less.get(), 1) == 1 &&
                      BN_mod(result.get(), d.get(), less.get(), scratch.get()) == 1;
    return good ? std::move(result) : Number();
  };
  const Number of_p = exponent(p.get()), of_q = exponent(q.get());
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder(OSSL_PARAM_BLD_new(),
                                                                                OSSL_PARAM_BLD_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr), EVP_PKEY_CTX_free);
  bool good = of_p && of_q && builder && context && EVP_PKEY_fromdata_init(context.get()) == 1;
  const auto add = [&](const char* name, const Number& number) {
    good = good && OSSL_PARAM_BLD_push_BN(builder.get(), name, number.get()) == 1;
  };
  add(OSSL_PKEY_PARAM_RSA_N, n);
  add(OSSL_PKEY_PARAM_RSA_E, e);
  add(OSSL_PKEY_PARAM_RSA_D, d);
  add(OSSL_PKEY_PARAM_RSA_FACTOR1, p);
  add(OSSL_PKEY_PARAM_RSA_FACTOR2, q);
  add(OSSL_PKEY_PARAM_RSA_EXPONENT1, of_p);
  add(OSSL_PKEY_PARAM_RSA_EXPONENT2, of_q);
  add(OSSL_PKEY_PARAM_RSA_COEFFICIENT1, coefficient);
  if (!good) return nullptr;
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(
      OSSL_PARAM_BLD_to_param(builder.get()), OSSL_PARAM_free);
  EVP_PKEY* key = nullptr;
  if (parameters) EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get());
  ERR_clear_error();
  return {key, EVP_PKEY_free};
}

/// A key of PEM tells its public part.
void take_rsa(KeyFile& key, OpenedKey parsed) {
  append_string(key.blob, kRsa);
  for (const char* name : {OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_N}) {
    BIGNUM* found = nullptr;
    EVP_PKEY_get_bn_param(parsed.get(), name, &found);
    const Number number(found);
    // One byte more: a number whose highest bit is set would be a negative one.
    std::string bytes(number ? static_cast<std::size_t>(BN_num_bits(number.get())) / 8 + 1 : 0, '\0');
    if (number)
      BN_bn2binpad(number.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                   static_cast<int>(bytes.size()));
    append_string(key.blob, bytes);
  }
  key.opened = std::move(parsed);
}

/// PROTOCOL.key of OpenSSH: magic, cipher, key derivation, its options, number of keys, public key, private
/// part.
void judge_openssh(KeyFile& key, std::string_view text) {
  static constexpr std::string_view kMagic("openssh-key-v1\0", 15);
  key.state = State::unsupported;
  text.remove_prefix(kOpensshBegin.size());
  if (text.find(kOpensshEnd) == std::string_view::npos) return;
  std::string base64;
  for (const char c : text.substr(0, text.find(kOpensshEnd))) {
    if (c != '\n' && c != '\r') base64.push_back(c);
  }
  const auto bytes = decode_base64(base64);
  if (!bytes || !bytes->starts_with(kMagic)) return;
  BlobReader reader(std::string_view(*bytes).substr(kMagic.size()));
  const auto cipher = reader.string();
  reader.string();
  reader.string();
  reader.u32();
  const auto blob = reader.string();
  const auto secret = reader.string();
  if (!cipher || !blob || !secret) return;
  key.blob = *blob;
  key.type = key_type(*blob);
  if (*cipher != "none") {
    key.state = State::passphrase;
  } else if (includes(kFileTypes, std::string_view(key.type))) {
    key.state = State::usable;
    if (key.type == "ssh-ed25519") key.opened = open_ed25519(*secret);
    if (key.type == kRsa) key.opened = open_rsa(*secret);
  }
}

/// The older formats, PEM and PKCS#8, which OpenSSL reads.
void judge_pem(KeyFile& key, const std::string& text) {
  key.state = State::unsupported;
  if (text.find("ENCRYPTED") != std::string::npos) {
    key.state = State::passphrase;
    return;
  }
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
                                                BIO_free);
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  OpenedKey parsed(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  ERR_clear_error();
  if (!parsed) return;
  switch (EVP_PKEY_base_id(parsed.get())) {
    case EVP_PKEY_RSA:
      key.type = kRsa;
      take_rsa(key, std::move(parsed));
      break;
    case EVP_PKEY_ED25519:
      key.type = "ssh-ed25519";
      break;
    case EVP_PKEY_EC:
      key.type = "ecdsa-sha2-nistp" + std::to_string(EVP_PKEY_bits(parsed.get()));
      break;
    default:
      return;
  }
  if (includes(kFileTypes, std::string_view(key.type))) key.state = State::usable;
}

KeyFile judge(const std::string& path) {
  KeyFile key;
  key.path = path;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || access(path.c_str(), R_OK) != 0) return key;
  std::string text = key_text(path);
  const std::size_t begin = text.find(kOpensshBegin);
  if (begin != std::string::npos) {
    judge_openssh(key, std::string_view(text).substr(begin));
  } else {
    judge_pem(key, text);
  }
  if (key.blob.empty()) key.blob = public_blob(path);
  if (info.st_uid == geteuid() && (info.st_mode & 077) != 0) key.state = State::open_to_others;
  if (key.state == State::usable) key.text = std::move(text);
  return key;
}

}  // namespace

std::string sign(const OpenedKey& key, std::string_view data) {
  const auto request = wire::parse_userauth_request(data);
  if (!request) return {};
  const EVP_MD* digest = request->algorithm == "rsa-sha2-256"   ? EVP_sha256()
                         : request->algorithm == "rsa-sha2-512" ? EVP_sha512()
                                                                : nullptr;
  std::string signature(static_cast<std::size_t>(EVP_PKEY_size(key.get())), '\0');
  std::size_t length = signature.size();
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool good = context && EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key.get()) == 1 &&
                    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                                   reinterpret_cast<const unsigned char*>(data.data()), data.size()) == 1;
  return good ? signature : std::string();
}

bool agent_type_usable(std::string_view type) {
  return includes(kFileTypes, type) && (type != kRsa || libssh2_has_sha2_and_gcm());
}

bool user_key_usable(std::string_view algorithm) {
  const std::string_view type = wire::key_type_of_algorithm(algorithm);
  const bool is_plain = type == algorithm;
  return includes(kFileTypes, type) && (type != kRsa || is_plain != libssh2_has_sha2_and_gcm());
}

std::shared_ptr<const KeyFile> SshKeys::load(const std::string& path) {
  auto& slot = loaded_[path];
  if (!slot) slot = std::make_shared<const KeyFile>(judge(path));
  return slot;
}

std::vector<std::string> SshKeys::files(const Profile& profile) const {
  if (!profile.identity_files.empty()) return profile.identity_files;
  return {home_ + "/.ssh/id_ed25519", home_ + "/.ssh/id_ecdsa", home_ + "/.ssh/id_rsa"};
}

bool SshKeys::wants_agent(const Profile& profile) {
  if (!profile.identities_only) return true;
  const auto paths = files(profile);
  return !std::all_of(paths.begin(), paths.end(),
                      [this](const std::string& path) { return load(path)->state == State::usable; });
}

std::vector<KeyToTry> SshKeys::to_try(const Profile& profile, const std::vector<std::string>& agent_blobs) {
  std::vector<KeyToTry> both, agent_only, file_only, rsa;
  const std::vector<std::string> algorithms = split_list(profile.algorithms.user_keys);
  const auto allowed = [&](std::string_view type) {
    const auto is_of_type = [&](std::string_view algorithm) {
      return wire::key_type_of_algorithm(algorithm) == type;
    };
    return algorithms.empty() || std::any_of(algorithms.begin(), algorithms.end(), is_of_type);
  };
  std::vector<std::string> named;
  for (const std::string& path : files(profile)) {
    auto file = load(path);
    const bool in_agent = !file->blob.empty() && includes(agent_blobs, file->blob);
    if (!file->blob.empty()) named.push_back(file->blob);
    if (!allowed(file->type.empty() ? key_type(file->blob) : file->type)) continue;
    if (file->state == State::usable) {
      auto& list = file->type == kRsa ? rsa : in_agent ? both : file_only;
      list.push_back(KeyToTry{std::move(file), {}});
    } else if (in_agent && agent_type_usable(key_type(file->blob))) {
      (key_type(file->blob) == kRsa ? rsa : both).push_back(KeyToTry{nullptr, file->blob});
    }
  }
  for (const std::string& blob : agent_blobs) {
    const std::string type = key_type(blob);
    if (profile.identities_only || includes(named, blob) || !agent_type_usable(type) || !allowed(type))
      continue;
    (type == kRsa ? rsa : agent_only).push_back(KeyToTry{nullptr, blob});
  }
  std::vector<KeyToTry> all = std::move(both);
  for (auto* list : {&agent_only, &file_only, &rsa})
    std::move(list->begin(), list->end(), std::back_inserter(all));
  if (all.size() > kMaxKeysTried) all.resize(kMaxKeysTried);
  return all;
}

std::vector<KeyToTry> with_forwarded(std::vector<KeyToTry> keys, const std::vector<std::string>& forwarded) {
  const auto others = std::stable_partition(
      keys.begin(), keys.end(), [&](const KeyToTry& key) { return includes(forwarded, key.public_blob()); });
  std::vector<KeyToTry> all(keys.begin(), others);
  for (const std::string& blob : forwarded) {
    const auto has = [&](const KeyToTry& key) { return key.public_blob() == blob; };
    if (std::none_of(keys.begin(), others, has)) all.push_back(KeyToTry{nullptr, blob, true});
  }
  std::move(others, keys.end(), std::back_inserter(all));
  if (all.size() > kMaxKeysTried) all.resize(kMaxKeysTried);
  return all;
}

std::string SshKeys::complaint(const Profile& profile) {
  for (const std::string& path : files(profile)) {
    switch (load(path)->state) {
      case State::passphrase:
        return path + " has a passphrase and is not in the ssh agent";
      case State::unsupported:
        return path + " is of a kind that libssh2 cannot use";
      case State::open_to_others:
        return path + " can be read by others, so ssh does not use it";
      default:
        break;
    }
  }
  return {};
}

}  // namespace charmtree::io
