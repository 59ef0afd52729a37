// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/runner.hpp"

#include "health/adoption_socket.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/link/guardian.hpp"
#include "tree/job/output_queue.hpp"

namespace charmtree::io {

using namespace proto;

Runner::Runner(asio::io_context& io, Node& node, Transports transports, ChildWatch& watch, UserSide* user)
    : io_(io),
      node_(node),
      user_(user),
      links_(
          io, transports, [this](Event event) { dispatch(std::move(event)); },
          [this](LinkId link) { drained(link); }, [this](LinkId link) { return node_.remit(link); }),
      host_(
          io, watch, [this](Event event) { dispatch(std::move(event)); },
          [this](std::string text) {
            if (user_ == nullptr)
              links_.execute(Send{kParentLink, wire::Note{node_.host(), std::move(text)}});
          }),
      timer_(io),
      stop_timer_(io) {}

void Runner::dispatch(Event event) {
  queue_.push_back(std::move(event));
  if (in_turn_) return;
  in_turn_ = true;
  while (!queue_.empty() && !finished_) {
    Event next = std::move(queue_.front());
    queue_.pop_front();
    turn(std::move(next));
  }
  in_turn_ = false;
  if (finished_) return host_.flush_clients();  // the loop may have been stopped
  arm_timer();
  check_flow();
}

void Runner::turn(Event event) {
  actions_.clear();
  show_sign_of_life();
  node_.on(std::move(event), now(), actions_);
  for (Action& action : actions_) execute(action);
}

/// What nobody carries out does not compile: it is ours, of the links or of the host; what is left is for the
/// user, whom only a root has.
void Runner::execute(Action& action) {
  charmtree::dispatch(
      [this]<class A>(A& each) {
        if constexpr (requires { perform(each); })
          perform(each);
        else if constexpr (requires { links_.execute(each); })
          links_.execute(each);
        else if constexpr (requires { host_.execute(std::move(each)); })
          host_.execute(std::move(each));
        else if (user_ != nullptr)
          for_user(each);
      },
      action);
}

template <class A>
void Runner::for_user(A& action) {
  Overloaded{
      [&](Show& a) { show(a); },
      [&](const Say& a) { user_->say(a.tone, a.text); },
      [&](const Sign& a) { user_->sign(a); },
      [&](const StoreHostKey& a) { user_->store_host_key(a.host, a.key); },
      [&](const Record& a) { user_->record(a); },
      [&](const FenceOver& a) { user_->fence_over(a); },
      [&](const AllInitialised& a) { user_->initialised(a); },
      [&](const Progress& a) { user_->progress(a); },
      [&](const ProcessesKnown& a) { user_->processes_known(a); },
      [&](const StacksSeen& a) { user_->stacks_seen(a); },
      [&](const DebugHeard& a) { user_->debug_heard(a); },
      [&](const ToolHeard& a) { user_->tool_heard(a); },
      [&](const Examined& a) { user_->examined(a.checkup); },
      [&](const ReadInput& a) { user_->read_input(a); },
      [&](const KeepTree& a) { user_->keep_tree(a); },
      [&](const ReleaseKeys&) { user_->release_keys(); },
      [&](const StopSelf&) { stop_self(now() + kFlush); },
      [&](const ReadHosts& a) { user_->read_hosts(a.pes); },
      [&](const RunOver& a) { run_over(a.result); },
  }(action);
}

void Runner::drained(LinkId link) {
  if (const auto read = reads_.extract(link)) host_.execute(read.mapped());
  if (link == kParentLink) check_flow();
}

/// Whoever asks without end, and takes nothing, does not fill our memory; and what else is to be said does
/// not stand behind much.
void Runner::perform(const ReadPiece& action) {
  if (links_.backlog(action.link) > 2 * wire::kStagedPiece)
    reads_.insert_or_assign(action.link, action);
  else
    host_.execute(action);
}

void Runner::perform(const Prepare& action) {
  host_.execute(action);
  if (!action.job->repairs()) return;
  if (const auto open = links_.open_to_adopters(health::adoption_socket(*action.job, action.self.index));
      !open)
    return links_.execute(
        Send{kParentLink, wire::Note{action.self.index, "cannot be adopted: " + open.error().what}});
  spare_launchers();
}

/// Looks again and again: links say when they are empty only to whom waits for one of them.
void Runner::stop_self(Instant by) {
  constexpr auto kLook = std::chrono::milliseconds{2};
  stop_timer_.expires_after(kLook);
  stop_timer_.async_wait([this, by](error_code ec) {
    if (ec || finished_ || !node_.suspended()) return;
    if (links_.backlog() > 0 && now() < by) return stop_self(by);
    user_->stop_self();
  });
}

void Runner::show(Show& action) {
  shown_ += output_cost(action.output);
  user_->show(std::move(action));
}

void Runner::perform(const Finish& action) {
  finished_ = true;
  result_ = action;
  timer_.cancel();
  stop_timer_.cancel();
  if (user_ != nullptr) return io_.stop();
  links_.await_parent([this] { io_.stop(); });
}

/// Whatever of its output has yet to be written is no part of the next run's.
void Runner::run_over(const Finish& result) {
  shown_ = 0;
  user_->run_over(result);
}

void Runner::arm_timer() {
  const Instant deadline = node_.next_deadline();
  if (deadline == armed_) return;
  armed_ = deadline;
  if (deadline == kNever) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(to_steady(deadline));
  timer_.async_wait([this](error_code ec) {
    if (ec || finished_) return;
    armed_ = kNever;
    dispatch(Tick{});
  });
}

void Runner::check_flow() {
  if (finished_) return;
  if (user_ != nullptr) {
    if (shown_ > 0 && user_->backlog() <= kScreenRest) dispatch(OutputWritten{std::exchange(shown_, 0)});
    return;
  }
  const std::size_t backlog = links_.backlog(kParentLink);
  const bool pause = paused_ ? backlog > kLowWater : backlog > kHighWater;
  if (pause == paused_) return;
  paused_ = pause;
  links_.pause_children(pause);
  host_.pause_clients(pause);
}

}  // namespace charmtree::io
