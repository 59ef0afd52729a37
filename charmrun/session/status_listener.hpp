// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++status` and `++list` find a running job: an abstract unix-domain socket of the root,
// which leaves no file behind. Whoever connects, if the same user, gets one JSON object
// (docs/manual/status.md) and the end of the connection.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/listener.hpp"

namespace charmtree {

class StatusListener {
public:
  /// Who is being answered at a time.
  static constexpr std::size_t kMaxAsking = 64;

  /// `answer` is called from the loop.
  StatusListener(io::asio::io_context& io, std::function<std::string()> answer);
  StatusListener(const StatusListener&) = delete;
  StatusListener& operator=(const StatusListener&) = delete;
  ~StatusListener();

  /// Errors: spawn_failed. A job can do without.
  Result<void> open(const std::string& job);

private:
  class Answer;
  void admit(int fd);

  io::asio::io_context& io_;
  std::function<std::string()> answer_;
  io::Listener listener_;
  std::set<std::shared_ptr<Answer>> asking_;
};

/// The jobs of this user on this machine (in this network namespace).
struct RunningJobs {
  std::vector<std::string> answers;  // what they say
  std::vector<std::string> silent;   // ids of those that say nothing
};
/// All are asked at once. Blocks, 2 s at most.
RunningJobs find_running_jobs();
/// What they say.
inline std::vector<std::string> ask_running_jobs() {
  return find_running_jobs().answers;
}

}  // namespace charmtree
