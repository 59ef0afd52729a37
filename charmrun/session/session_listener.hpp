// SPDX-License-Identifier: Apache-2.0
// The root's side of a session (DESIGN D23): where `charmrun ++in` finds it, an abstract unix-domain socket,
// and who its runs belong to. Each run is shown to the one who asked for it, and to nobody else; between
// runs, and of the tree, its own console is told. One run at a time: who comes meanwhile waits in line.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "charmrun/session/session_message.hpp"
#include "charmrun/session/status_text.hpp"
#include "charmrun/view/console.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/host/runner.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/job/run_plan.hpp"

namespace charmtree {

class SessionListener : public io::UserSide {
public:
  /// Connections at a time, those included that have yet to take what their runs have printed.
  static constexpr std::size_t kMostVisitors = 64;
  /// With one who has come and does not say what to run; with one who does not take the last of its output;
  /// and at the end of the session with both.
  static constexpr Duration kPatience = 60s, kLinger = 1h, kLastWords = 2s;

  /// `job`, the session's, and `console` outlive the listener.
  SessionListener(io::asio::io_context& io, const Options& options, const Job& job, Console& console);
  ~SessionListener() override;
  /// Before the loop runs.
  void attach(io::Runner& runner, const Node& node) {
    runner_ = &runner;
    node_ = &node;
  }
  /// `ready` is called once, from the loop, when there is a tree. Before the loop runs.
  void when_ready(std::function<void()> ready) { when_ready_ = std::move(ready); }
  /// Error spawn_failed: nobody could come.
  Result<void> open();
  /// The tree has ended: whoever has a run is told so. Runs the loop, kLastWords at most.
  void finish(const proto::Finish& result);
  /// It was ++end that ended it.
  bool was_asked_to_end() const { return asked_to_end_; }
  /// For ++status.
  SessionStatus status() const;
  /// What runs; if nothing does, the session's own.
  const wire::JobSpec& present() const { return running_ ? running_->job : job_.plan.job; }

  /// Sends what is of the present run to its client. Hands all else to the session's own console.
  void perform(io::UserAction action) override;
  std::size_t backlog() const override { return static_cast<std::size_t>(unwritten_); }

private:
  using Number = std::uint64_t;
  struct Visitor {
    std::shared_ptr<io::FdLink> link;
    session::Decoder decoder{session::Decoder::To::root};
    std::shared_ptr<const proto::RunPlan> plan = {};
    std::unique_ptr<io::asio::steady_timer> patience = {};
  };

  void show(proto::Show action);
  void say(proto::Tone tone, const std::string& line);
  void read_input(const proto::ReadInput& action);
  void stop_self();
  void run_over(const proto::Finish& result);
  void refuse_hosts();
  void admit(int fd);
  void hear(Number number, std::string_view bytes);
  void gone(Number number);
  void send(Number number, const session::Message& message);
  void dismiss(Number number, const session::Over& over);
  bool end_current(const proto::Finish& result);
  void wait_in_line(Number number);
  void next();
  std::vector<wire::Share> shares() const;
  // Words of a visitor; false: it may not say that.
  bool about(Number number, const session::Run& run);
  bool about(Number number, const session::EndSession& order);
  bool about(Number number, const session::Signalled& signalled);
  bool about(Number number, const session::Typed& typed);
  bool about(Number number, const session::Written& written);
  bool about(Number number, const session::Delivered& receipt);
  template <class M>
  bool about(Number, const M&) {
    return false;
  }

  io::asio::io_context& io_;
  const Options& options_;
  const Job& job_;
  Console& console_;
  io::Runner* runner_ = nullptr;
  const Node* node_ = nullptr;
  io::Listener listener_;
  Number last_ = 0;
  std::map<Number, Visitor> visitors_;
  std::deque<Number> line_;                           // those whose runs are yet to come
  std::vector<std::shared_ptr<io::FdLink>> leaving_;  // have been told all, and may not have read it
  std::function<void()> when_ready_;                  // null: it has been called
  bool ready_ = false;                                // the tree waits for a run
  std::shared_ptr<const proto::RunPlan> running_;     // null: none
  std::optional<Number> current_;                     // whose that is; nothing: he has gone
  bool reading_ = false;                              // he is asked for input
  std::uint64_t unwritten_ = 0;                       // what he was shown (output_cost) and has not written
  std::uint32_t runs_ = 0;
  bool asked_to_end_ = false;
};

}  // namespace charmtree
