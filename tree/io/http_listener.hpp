// SPDX-License-Identifier: Apache-2.0
// A small web server on 127.0.0.1 for one page and what the page asks for. Only processes of our own uid are
// let in (peer_uid.hpp), only under the names 127.0.0.1 and localhost (so that no page of another site
// reaches us through a name that it resolves to 127.0.0.1), and all but the page only with the token. What is
// asked and answered is for its owner to say, who may let a visitor wait.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/listener.hpp"

namespace charmtree::io {

class HttpListener {
public:
  /// Connections at a time. The one that has asked nothing for longest makes room for another.
  static constexpr std::size_t kMaxVisitors = 16;
  /// With who connects and asks nothing, is slow to ask, or slow to take an answer.
  static constexpr Duration kPatience = 15s;
  static constexpr std::size_t kTokenBytes = 16;

  using Ticket = std::uint64_t;
  /// Called from the loop.
  struct Sink {
    /// A visitor who has the token asks for `target`, and waits for answer().
    std::function<void(Ticket, const std::string& target)> asked;
    /// It has gone, and waits no more.
    std::function<void(Ticket)> gone;
    std::function<void(std::string)> note;
  };
  /// `page` is HTML with one <script> and one <style> element, which alone may be executed and used.
  HttpListener(asio::io_context& io, std::string page, Sink sink, Duration patience = kPatience);
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;
  ~HttpListener();

  /// Listens at a free port, which is returned. Error spawn_failed.
  Result<std::uint16_t> open();
  /// To be sent as `Authorization: Bearer TOKEN`.
  const std::string& token() const { return token_; }
  /// Of a visitor who waits; ignored if it has gone. Empty: there is no such thing.
  void answer(Ticket visitor, const std::string& json);
  /// From now on an answer is the last of its connection.
  void close();
  /// Visitors with the token who have taken an answer and may ask again at once.
  std::size_t expected() const;

private:
  class Visitor;
  void admit(int fd);
  std::string page_answer() const;

  asio::io_context& io_;
  std::string page_, policy_, token_;
  Sink sink_;
  Duration patience_;
  Listener listener_;
  bool closing_ = false, noted_ = false;
  Ticket last_ = 0;
  std::map<Ticket, std::shared_ptr<Visitor>> visitors_;
};

}  // namespace charmtree::io
