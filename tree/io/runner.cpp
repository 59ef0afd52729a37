// SPDX-License-Identifier: Apache-2.0
#include "tree/io/runner.hpp"

#include "charmrun/node/adoption_socket.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/guardian.hpp"
#include "tree/proto/output_queue.hpp"

namespace charmtree::io {

using namespace proto;

Runner::Runner(asio::io_context& io, Node& node, Transports transports, ChildWatch& watch, UserSide* user)
    : io_(io),
      node_(node),
      user_(user),
      links_(
          io, transports, [this](Event event) { dispatch(std::move(event)); }, [this] { check_flow(); },
          [this](LinkId link) { return node_.remit(link); }),
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
  node_.on(std::move(event), now(), actions_);
  for (Action& action : actions_) execute(action);
}

void Runner::execute(Action& action) {
  if (auto* a = std::get_if<Login>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<CancelLogin>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<Signed>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<Send>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<CloseLink>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<Probe>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<Relay>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<ReplaceParent>(&action)) return links_.execute(*a);
  if (auto* a = std::get_if<Prepare>(&action)) return prepare(*a);
  if (auto* a = std::get_if<Spawn>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<Signal>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<KillLeftovers>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<ClientSend>(&action)) return host_.execute(std::move(*a));
  if (auto* a = std::get_if<ClientClose>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<DrainOutput>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<PauseOutput>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<PauseClient>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<LookAtClient>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<SpoolWrite>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<SpoolRead>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<WriteInput>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<RecallPipe>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<ResizeTerminal>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<Adopt>(&action)) return host_.execute(*a);
  if (auto* a = std::get_if<Finish>(&action)) return execute(*a);
  if (user_ == nullptr) return;
  if (auto* a = std::get_if<Show>(&action)) return show(*a);
  if (auto* a = std::get_if<Say>(&action)) return user_->say(a->tone, a->text);
  if (auto* a = std::get_if<Sign>(&action)) return user_->sign(*a);
  if (auto* a = std::get_if<StoreHostKey>(&action)) return user_->store_host_key(a->host, a->key);
  if (auto* a = std::get_if<Record>(&action)) return user_->record(*a);
  if (auto* a = std::get_if<Progress>(&action)) return user_->progress(*a);
  if (auto* a = std::get_if<Examined>(&action)) return user_->examined(a->checkup);
  if (auto* a = std::get_if<ReadInput>(&action)) return user_->read_input(*a);
  if (auto* a = std::get_if<RunOver>(&action)) return execute(*a);
  if (auto* a = std::get_if<KeepTree>(&action)) return user_->keep_tree(*a);
  if (std::holds_alternative<ReleaseKeys>(action)) return user_->release_keys();
  if (std::holds_alternative<StopSelf>(action)) return stop_self(now() + kFlush);
  if (auto* a = std::get_if<ReadHosts>(&action)) return user_->read_hosts(a->pes);
}

void Runner::prepare(const Prepare& action) {
  host_.execute(action);
  if (!action.job->repairs()) return;
  if (const auto open = links_.open_to_adopters(adoption_socket(*action.job, action.self.index)); !open)
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

void Runner::execute(const Finish& action) {
  finished_ = true;
  result_ = action;
  timer_.cancel();
  stop_timer_.cancel();
  if (user_ != nullptr) return io_.stop();
  links_.await_parent([this] { io_.stop(); });
}

/// Whatever of its output has yet to be written is no part of the next run's.
void Runner::execute(const RunOver& action) {
  shown_ = 0;
  user_->run_over(action.result);
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
  const std::size_t backlog = links_.parent_backlog();
  const bool pause = paused_ ? backlog > kLowWater : backlog > kHighWater;
  if (pause == paused_) return;
  paused_ = pause;
  links_.pause_children(pause);
  host_.pause_clients(pause);
}

}  // namespace charmtree::io
