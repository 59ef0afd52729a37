// SPDX-License-Identifier: Apache-2.0
// What a launcher of a checkup finds out about its host: clock, limits, address, and whether the program
// would run. Nothing of the program is executed; its loader lists the libraries, and a Python that is to run
// a script looks for the modules which that imports.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/host/program.hpp"
#include "tree/io/spawn.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::io {

class Examination {
public:
  Examination(asio::io_context& io, ChildWatch& watch) : io_(io), watch_(watch), timer_(io) {}
  ~Examination() { cancel(); }
  Examination(const Examination&) = delete;
  Examination& operator=(const Examination&) = delete;

  /// Calls `done` once, perhaps at once. `environment` is the program's. A loader and the search for modules
  /// may take job.timeout each.
  using Done = std::function<void(wire::Checkup)>;
  void run(const wire::JobSpec& job, const Host& self, std::vector<std::string> environment, Done done);
  /// Gives up: `done` is not called any more.
  void cancel();

private:
  using Judge = std::function<void(const std::string& said, const proto::ProcessExited& end)>;
  void next_program();
  bool list_libraries(const std::string& path);
  void judge_libraries(const std::string& path, const std::string& said, const proto::ProcessExited& end);
  bool look_for_imports();
  bool ask(SpawnRequest request, Judge judge);
  void hear(const proto::Event& event);
  void wrong(Error error);

  asio::io_context& io_;
  ChildWatch& watch_;
  asio::steady_timer timer_;
  std::shared_ptr<Program> asked_;  // a loader or an interpreter
  Judge judge_;                     // of what it says
  std::string said_;
  std::vector<std::string> programs_;    // still to be looked at, the next one last
  std::optional<SpawnRequest> program_;  // the job's, whose imports are still to be looked for
  std::string directory_;
  std::vector<std::string> environment_;
  Duration limit_{0};
  bool late_ = false, at_root_ = false;
  wire::Checkup found_;
  Done done_;
};

}  // namespace charmtree::io
