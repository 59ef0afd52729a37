// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++status` and `++list` find a running job: the root's unix-domain socket in the user's
// private folder. Whoever connects, if the same user, gets one JSON object (docs/STATUS.md) and the end of
// the connection.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/door.hpp"

namespace charmtree {

class StatusDoor {
public:
  /// Who is being answered at a time.
  static constexpr std::size_t kMaxAsking = 64;

  /// `answer` is called from the loop.
  StatusDoor(io::asio::io_context& io, std::function<std::string()> answer);
  StatusDoor(const StatusDoor&) = delete;
  StatusDoor& operator=(const StatusDoor&) = delete;
  /// Takes the socket's name away.
  ~StatusDoor();

  /// Errors: spawn_failed. A job can do without.
  Result<void> open(const std::string& job);

private:
  class Answer;
  void admit(int fd);

  io::asio::io_context& io_;
  std::function<std::string()> answer_;
  io::Door door_;
  std::string path_;
  std::set<std::shared_ptr<Answer>> asking_;
};

/// A job of this user on this machine that has answered.
struct RunningJob {
  std::string id;
  std::string answer;
};

/// All of them, by id. Removes what killed ones have left. Blocks, 2 s at most for each that does not answer
/// (it is left out). Errors: those of io::socket_folder().
Result<std::vector<RunningJob>> running_jobs();

}  // namespace charmtree
