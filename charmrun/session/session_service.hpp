// SPDX-License-Identifier: Apache-2.0
// The service `session` (DESIGN D23), which the charmrun of a session offers on its control socket: clients
// (++in) bring runs. Each run is shown to its client alone; between runs, and of the tree, the console of the
// session itself is used. One run at a time: further clients wait in line.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "charmrun/control/listener.hpp"
#include "charmrun/control/status_text.hpp"
#include "charmrun/session/session_message.hpp"
#include "charmrun/view/console.hpp"
#include "tree/io/host/runner.hpp"
#include "tree/job/run_plan.hpp"

namespace charmtree {

class SessionService : public io::UserSide {
public:
  /// Clients at a time, those included that have yet to read the last output of their runs.
  static constexpr std::size_t kMaxClients = 64;
  /// kPatience: until a client has said what to run. kLinger: until it has read the last of its output.
  /// kLastWords: the same, at the end of the session.
  static constexpr Duration kPatience = 60s, kLinger = 1h, kLastWords = 2s;

  /// Adds the service to the listener. `job`, the session's, and the others outlive the service.
  SessionService(control::Listener& listener, const Options& options, const Job& job, Console& console);
  /// Before the loop runs.
  void attach(io::Runner& runner, const Node& node) {
    runner_ = &runner;
    node_ = &node;
  }
  /// `ready` is called once, from the loop, when there is a tree. Before the loop runs.
  void when_ready(std::function<void()> ready) { when_ready_ = std::move(ready); }
  /// Ends the session (++kill, ++end).
  void end();
  /// The tree has ended: sends the client of a run its end. Runs the loop, kLastWords at most.
  void finish(const proto::Finish& result);
  /// Returns true after end().
  bool was_asked_to_end() const { return asked_to_end_; }
  /// For ++status.
  control::SessionStatus status() const;
  /// Returns the job that runs; if none does, the session's own.
  const wire::JobSpec& present() const { return running_ ? running_->job : job_.plan.job; }

  /// Sends the actions of the present run to its client, and all others to the session's own console.
  void perform(io::UserAction action) override;
  std::size_t backlog() const override { return static_cast<std::size_t>(unwritten_); }

private:
  using ClientId = control::ClientId;
  using Plan = std::shared_ptr<const proto::RunPlan>;  // null: the client has not said what to run

  void show(proto::Show action);
  void say(proto::Tone tone, const std::string& line);
  void read_input(const input::ReadInput& action);
  void stop_self();
  void run_over(const proto::Finish& result);
  void refuse_hosts();
  void admit(ClientId client);
  bool receive(ClientId client, const wire::Frame& frame);
  void lose(ClientId client);
  void send(ClientId client, const session::Message& message);
  void dismiss(ClientId client, const session::Over& over);
  bool end_current(const proto::Finish& result);
  void wait_in_line(ClientId client);
  void next();
  std::vector<wire::Share> shares() const;
  // Messages of a client; false: it may not send that.
  bool about(ClientId client, const session::Run& run);
  bool about(ClientId client, const session::Signalled& signalled);
  bool about(ClientId client, const session::Typed& typed);
  bool about(ClientId client, const session::Written& written);
  bool about(ClientId client, const session::Delivered& receipt);
  template <class M>
  bool about(ClientId, const M&) {
    return false;
  }

  control::Listener& listener_;
  const Options& options_;
  const Job& job_;
  Console& console_;
  io::Runner* runner_ = nullptr;
  const Node* node_ = nullptr;
  std::map<ClientId, Plan> clients_;
  std::deque<ClientId> line_;         // clients whose runs are yet to come
  std::function<void()> when_ready_;  // null: it has been called
  bool ready_ = false;                // the tree waits for a run
  Plan running_;                      // null: none
  std::optional<ClientId> current_;   // the client of that; nothing: it has gone
  bool reading_ = false;              // the client is asked for input
  std::uint64_t unwritten_ = 0;       // the cost of output (output_cost) that the client has not written
  std::uint32_t runs_ = 0;
  bool asked_to_end_ = false, is_over_ = false;
};

}  // namespace charmtree
