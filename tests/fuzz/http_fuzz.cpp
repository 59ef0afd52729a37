// SPDX-License-Identifier: Apache-2.0
// Any bytes as HTTP requests. The first byte is the size of the pieces in which they come.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/script.hpp"
#include "tree/io/http_request.hpp"

namespace {

using namespace charmtree::io;

using charmtree::fuzz::require;

struct Found {
  std::vector<std::string> requests;
  bool broken = false;
};

Found read(std::string_view stream, std::size_t piece) {
  HttpReader reader;
  Found found;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    reader.append(stream.substr(at, piece));
    while (const auto request = reader.next()) {
      require(request->target.size() + request->host.size() + request->authorization.size() <=
              HttpReader::kMaxHead);
      found.requests.push_back((request->is_get ? "GET " : "") + request->target + "\n" + request->host +
                               "\n" + request->authorization);
    }
    require(reader.waiting() <= HttpReader::kMaxHead + piece);
  }
  found.broken = reader.broken();
  return found;
}

}  // namespace

// Requests are the same however the stream comes, as long as it is one; and what waits has a limit.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
  const Found whole = read(rest, rest.size() + 1), pieces = read(rest, 1U + data[0]);
  if (!whole.broken && !pieces.broken) require(whole.requests == pieces.requests);
  return 0;
}
