// SPDX-License-Identifier: Apache-2.0
// The fields are picked out leniently; then the request that they make must be the data, byte for byte.
#include "tree/wire/userauth.hpp"

#include "tree/wire/ssh_blob.hpp"

namespace charmtree::wire {

namespace {

constexpr char kUserauthRequest = 50;  // SSH_MSG_USERAUTH_REQUEST
constexpr char kTrue = 1;
constexpr std::string_view kService = "ssh-connection", kMethod = "publickey";

Error refuse(std::string what) {
  return {Errc::bad_peer, Phase::authenticate, std::move(what)};
}

}  // namespace

std::string encode(const UserauthRequest& request) {
  std::string out;
  append_string(out, request.session);
  out += kUserauthRequest;
  append_string(out, request.user);
  append_string(out, kService);
  append_string(out, kMethod);
  out += kTrue;
  append_string(out, request.algorithm);
  append_string(out, request.key);
  return out;
}

Result<UserauthRequest> parse_userauth_request(std::string_view data) {
  if (data.size() > kMaxUserauthRequest) return refuse("too long for a login");
  BlobReader in{data};
  const auto text = [&in] { return std::string{in.string().value_or("")}; };
  UserauthRequest request;
  request.session = text();
  in.byte();  // the message's number
  request.user = text();
  in.string();  // the service
  in.string();  // the method
  in.byte();    // that a signature follows
  request.algorithm = text();
  request.key = text();
  if (encode(request) != data) return refuse("not a login by public key");
  if (request.session.size() < kLeastSession || request.session.size() > kMostSession)
    return refuse("its session identifier is not a hash");
  if (request.algorithm.empty() || key_type_of_algorithm(request.algorithm) != key_type(request.key))
    return refuse("its algorithm is not one of its key");
  if (request.algorithm == "ssh-rsa") return refuse("SHA-1 is not signed any more");
  return request;
}

}  // namespace charmtree::wire
