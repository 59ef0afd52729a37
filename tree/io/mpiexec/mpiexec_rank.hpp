// SPDX-License-Identifier: Apache-2.0
// ++mpiexec, the side of the processes that mpiexec starts. Those of one host elect a launcher: the first to
// own a socket whose name only they can know. The others tell it their ranks and wait until it has ended, as
// mpiexec expects them to; the launcher tells the root, and becomes an ordinary launcher when the root begins
// the job. A host is what shares a network namespace: within it, processes reach each other by 127.0.0.1.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/io/asio.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/mpiexec/psk_link.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/mpiexec_message.hpp"

namespace charmtree::io {

/// How the election ended for this process: one of the two is open.
struct Election {
  UniqueFd listening;  // it is the launcher, and the others come here
  UniqueFd launcher;   // the launcher of this host
};

/// The name by which the processes of a machine elect (io::Listener::open_local): it tells nobody the secret,
/// nor the name on another machine.
std::string election_socket(const std::string& secret, const std::string& machine);

/// For those who know `secret`. Waits for a launcher that is just coming up, `patience` at most. Error
/// remote_shell (phase hello).
Result<Election> elect(const std::string& secret, Duration patience);

/// Tells the launcher who has come, and on which processors it may run; returns when the launcher has ended.
/// Blocks.
void wait_for_launcher(const Election& election, const wire::RankReport& report);

/// The ticket on standard input, which the script gives. Error as ticket_of.
Result<wire::Ticket> read_ticket();

/// The launcher of a host until the job begins.
class RankLauncher {
public:
  /// To connect and prove oneself at one of the root's places.
  static constexpr Duration kTry = 5s;
  /// Between two rounds of all places.
  static constexpr Duration kPause = 250ms;

  /// `begun` gets the link to the root when the job begins; `failed`, why it will not. One of them is called,
  /// once, from the event loop.
  struct Sink {
    std::function<void(std::unique_ptr<Link>)> begun;
    std::function<void(const Error&)> failed;
  };
  RankLauncher(asio::io_context& io, wire::Ticket ticket, Election election, Sink sink);
  ~RankLauncher();

  /// `own`: of the process itself.
  void start(const wire::RankReport& own);

private:
  struct Local;
  void try_next();
  void connected();
  void established();
  void received(std::string_view bytes);
  void dropped(const std::string& what);
  void fail(Error error);
  void admit(int fd);
  void hear(const std::shared_ptr<Local>& local);
  void report(const wire::RankReport& report);

  asio::io_context& io_;
  wire::Ticket ticket_;
  Sink sink_;
  PskContext context_;
  Listener listener_;
  std::vector<std::shared_ptr<Local>> locals_;  // their connections, which they watch
  std::string affinity_;                        // of all of them
  std::string reports_;                         // frames for the root
  std::size_t next_place_ = 0;
  Instant give_up_at_ = kNever;
  std::string last_failure_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::unique_ptr<PskLink> link_;
  wire::FrameDecoder frames_{wire::kMaxRankReport};
  bool established_ = false, begun_ = false, over_ = false;
};

}  // namespace charmtree::io
