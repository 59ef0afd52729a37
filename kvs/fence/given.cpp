// SPDX-License-Identifier: Apache-2.0
#include "kvs/fence/given.hpp"

#include <zlib.h>

#include "tree/wire/codec.hpp"

namespace charmtree::kvs {

namespace {
/// What is smaller is sent before it could be packed.
constexpr std::size_t kWorthwhile = 64U << 10;
constexpr int kFast = 1;
}  // namespace

std::string pack_given(std::string_view given) {
  wire::Writer out;
  const bool is_packed = given.size() >= kWorthwhile;
  out.varint(is_packed ? given.size() : 0);
  if (!is_packed) {
    out.raw(given);
    return out.take();
  }
  std::string packed(::compressBound(given.size()), '\0');
  auto size = static_cast<uLongf>(packed.size());
  ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(given.data()),
              given.size(), kFast);  // with so much room it cannot fail
  packed.resize(size);
  out.raw(packed);
  return out.take();
}

std::optional<std::string> unpack_given(std::string_view packed, std::size_t most) {
  wire::Reader in{packed};
  const std::uint64_t size = in.varint();
  if (!in.ok() || size > most) return {};
  const std::string_view rest = packed.substr(packed.size() - in.left());
  if (size == 0) {
    if (rest.size() > most) return {};
    return std::string{rest};
  }
  std::string given(size, '\0');
  auto unpacked = static_cast<uLongf>(size);
  const int status = ::uncompress(reinterpret_cast<Bytef*>(given.data()), &unpacked,
                                  reinterpret_cast<const Bytef*>(rest.data()), rest.size());
  if (status != Z_OK || unpacked != size) return {};
  return given;
}

proto::FenceDone whole_fence(const std::vector<FenceDown>& pieces, std::size_t most) {
  const FenceDown& first = pieces.front();
  if (!first.failure.empty() || !first.given) return {first.fence, first.failure, first.given};
  std::string joined;
  if (pieces.size() > 1) {
    for (const FenceDown& each : pieces) joined += *each.given;
  }
  auto given = unpack_given(pieces.size() > 1 ? joined : *first.given, most);
  return {first.fence, given ? "" : "what its hosts have given cannot be unpacked",
          std::make_shared<const std::string>(given ? std::move(*given) : std::string{})};
}

}  // namespace charmtree::kvs
