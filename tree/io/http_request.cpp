// SPDX-License-Identifier: Apache-2.0
#include "tree/io/http_request.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

namespace charmtree::io {

namespace http = boost::beast::http;

struct HttpReader::Parser {
  Parser() {
    head.header_limit(kMaxHead);
    head.body_limit(0);
    head.skip(true);  // what follows a head is the next one
  }
  http::request_parser<http::empty_body> head;
};

HttpReader::HttpReader() : parser_(std::make_unique<Parser>()) {}
HttpReader::~HttpReader() = default;

void HttpReader::append(std::string_view bytes) {
  if (!broken_) bytes_.append(bytes);
}

std::optional<HttpRequest> HttpReader::next() {
  if (broken_ || bytes_.empty()) return {};
  auto& head = parser_->head;
  boost::system::error_code error;
  const std::size_t used = head.put(boost::asio::buffer(bytes_), error);
  bytes_.erase(0, used);
  if (error == http::error::need_more) error = {};
  const bool endless = !head.is_header_done() && bytes_.size() > kMaxHead;
  const bool body = head.is_header_done() && (head.chunked() || head.content_length().value_or(0) > 0);
  broken_ = error || endless || body;
  if (broken_) bytes_.clear();
  if (broken_ || !head.is_header_done()) return {};
  const auto& message = head.get();
  const auto text = [](boost::beast::string_view view) { return std::string{view.data(), view.size()}; };
  HttpRequest request{message.method() == http::verb::get, head.keep_alive(), text(message.target()),
                      text(message[http::field::host]), text(message[http::field::authorization])};
  parser_ = std::make_unique<Parser>();
  return request;
}

}  // namespace charmtree::io
