// SPDX-License-Identifier: Apache-2.0
// The heads of HTTP/1.1 requests out of a stream of bytes. Requests have no body here: one that announces any
// is bad. Waits for nothing and knows no sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace charmtree::io {

struct HttpRequest {
  bool is_get = false;
  bool keeps_alive = true;    // the next one may come on this connection
  std::string target;         // "/changes?since=3"
  std::string host;           // the header's; empty: there is none
  std::string authorization;  // the same
};

class HttpReader {
public:
  /// A head may have so many bytes.
  static constexpr std::size_t kMaxHead = 8U << 10;

  HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;
  ~HttpReader();

  void append(std::string_view bytes);
  /// The next whole head; nothing if more bytes are wanted, or if these are no request (see broken()).
  std::optional<HttpRequest> next();
  /// They are none, or too long: nothing will come any more.
  bool broken() const { return broken_; }
  /// Bytes that wait for next(); a broken reader keeps none.
  std::size_t waiting() const { return bytes_.size(); }

private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string bytes_;
  bool broken_ = false;
};

}  // namespace charmtree::io
