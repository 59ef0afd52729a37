// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/runner.hpp"

#include "health/adoption_socket.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/base/type_functions.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/link/guardian.hpp"
#include "tree/job/output_queue.hpp"
#include "tree/node/node.hpp"

namespace charmtree::io {

using namespace proto;

Runner::Runner(asio::io_context& io, Node& node, Transports transports, ChildWatch& watch, UserSide* user)
    : io_(io),
      node_(node),
      user_(user),
      links_(
          io, node::kMessageTypes, transports, [this](Event event) { dispatch(std::move(event)); },
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

/// Carries out an action here, by the links, by the host or, at a root, by the user side. An action without
/// one of these does not compile.
void Runner::execute(Action& action) {
  charmtree::dispatch(
      node::Actions{},
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
      [this](Show& a) { show(a); },
      [this](StopSelf&) { stop_self(now() + kFlush); },
      [this](RunOver& a) { run_over(a); },
      [this]<OneOf<AnyUserAction> B>(B& a) { user_->perform(std::move(a)); },
  }(action);
}

void Runner::drained(LinkId link) {
  if (const auto read = reads_.extract(link)) host_.execute(read.mapped());
  if (link == kParentLink) check_flow();
}

/// Whoever asks without end, and takes nothing, does not fill our memory; and what else is to be said does
/// not stand behind much.
void Runner::perform(const staging::ReadPiece& action) {
  if (links_.backlog(action.link) > 2 * staging::kPiece)
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
    user_->perform(StopSelf{});
  });
}

void Runner::show(Show& action) {
  shown_ += output_cost(action.output);
  user_->perform(std::move(action));
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
void Runner::run_over(const RunOver& action) {
  shown_ = 0;
  user_->perform(action);
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

template struct charmtree::FunctionsOf<charmtree::io::AnyUserAction>;
