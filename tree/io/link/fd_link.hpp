// SPDX-License-Identifier: Apache-2.0
// A Link over two file descriptors: the pipes to a child process (a remote-shell command or a local
// launcher), or a launcher's own stdin and stdout. Writes are non-blocking on descriptors that are ours
// alone; what is sent in one round of the loop is written together at its end.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/link/link.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/io/wide_pipe.hpp"
#include "tree/io/write_queue.hpp"

namespace charmtree::io {

class FdLink : public Link, public std::enable_shared_from_this<FdLink> {
public:
  /// Reads from `input`, writes to `output`. `error` (may be empty): the child's stderr, kept as a tail.
  /// `child` (0: none): its pid, watched by `watch`, which must outlive the link; its end is part of the
  /// link's end.
  static std::shared_ptr<FdLink> make(asio::io_context& io, UniqueFd input, UniqueFd output, UniqueFd error,
                                      pid_t child, ChildWatch* watch);

  void start(Handlers handlers) override;
  void send(std::string bytes) override;
  std::size_t backlog() const override { return queue_.size(); }
  void pause_reading(bool paused) override;
  std::optional<TcpEnds> ends() const override;
  int descriptor() const override;
  void close(Duration linger) override;

  FdLink(asio::io_context& io, pid_t child, ChildWatch* watch);

private:
  using Stream = asio::posix::stream_descriptor;
  void read();
  void read_error();
  void write();
  void write_at_end_of_round();
  void child_ended(ChildStatus status);
  void input_ended(const std::string& what);
  void report_end();
  void release();

  asio::io_context& io_;
  Stream input_, output_, error_;
  WidePipe input_pipe_, output_pipe_;  // of input_ and output_, if they are pipes
  asio::steady_timer timer_;
  pid_t child_;
  ChildWatch* watch_;
  Handlers handlers_;
  WriteQueue queue_;
  bool writing_ = false, scheduled_ = false, reading_ = false, paused_ = false, closing_ = false,
       input_open_ = true, error_open_ = false;
  bool child_open_ = false, ended_ = false;
  LinkEnd end_;
};

/// The owner's handle: Link is owned by unique_ptr, while pending handlers keep the FdLink itself.
class FdLinkHandle : public Link {
public:
  explicit FdLinkHandle(std::shared_ptr<FdLink> link) : link_(std::move(link)) {}
  ~FdLinkHandle() override { link_->close(Duration{0}); }
  void start(Handlers handlers) override { link_->start(std::move(handlers)); }
  void send(std::string bytes) override { link_->send(std::move(bytes)); }
  std::size_t backlog() const override { return link_->backlog(); }
  void pause_reading(bool paused) override { link_->pause_reading(paused); }
  std::optional<TcpEnds> ends() const override { return link_->ends(); }
  int descriptor() const override { return link_->descriptor(); }
  void close(Duration linger) override { link_->close(linger); }

private:
  std::shared_ptr<FdLink> link_;
};

}  // namespace charmtree::io
