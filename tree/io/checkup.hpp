// SPDX-License-Identifier: Apache-2.0
// What a launcher of a checkup finds out about its host: clock, limits, address, and whether the program
// would run. Nothing of the program is executed; its loader lists the libraries.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/program.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::io {

class Examination {
public:
  Examination(asio::io_context& io, ChildWatch& watch) : io_(io), watch_(watch), timer_(io) {}
  ~Examination() { cancel(); }
  Examination(const Examination&) = delete;
  Examination& operator=(const Examination&) = delete;

  /// Calls `done` once, perhaps at once. `environment` is the program's. The loader of a program may take
  /// job.timeout.
  using Done = std::function<void(wire::Checkup)>;
  void run(const wire::JobSpec& job, const Host& self, std::vector<std::string> environment, Done done);
  /// Gives up: `done` is not called any more.
  void cancel();

private:
  void next_program();
  bool list_libraries(const std::string& path);
  void loader_said(const proto::Event& event, const std::string& path);
  void wrong(Error error);

  asio::io_context& io_;
  ChildWatch& watch_;
  asio::steady_timer timer_;
  std::shared_ptr<Program> loader_;
  std::string listing_;
  std::vector<std::string> programs_;  // still to be looked at, the next one last
  std::string directory_;
  std::vector<std::string> environment_;
  Duration limit_{0};
  bool late_ = false;
  wire::Checkup found_;
  Done done_;
};

}  // namespace charmtree::io
