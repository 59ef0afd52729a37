// SPDX-License-Identifier: Apache-2.0
// All links of one launcher: the logins that lead to children, the children's links and the one to the
// parent. Turns bytes into messages and back, waits (bounded) for a child's greeting, and reports what
// happens as events. Does not read children that do not take what is sent to them (proto::LinkFlow).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tree/io/asio.hpp"
#include "tree/io/link/link.hpp"
#include "tree/io/link/staging.hpp"
#include "tree/io/listener.hpp"
#include "tree/overlay/link_flow.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::io {

/// One transport per Via; all must outlive Links.
struct Transports {
  Transport* local = nullptr;
  SigningTransport* ssh = nullptr;
  Transport* command = nullptr;
  Transport& of(Via via) const;
};

class Links {
public:
  /// From the start of the remote command to its greeting: a login shell with heavy rc files may need
  /// seconds.
  static constexpr Duration kGreetingLimit = 30s;
  /// What may still be sent when a link is closed.
  static constexpr Duration kLinger = 2s;
  /// From one sign of life to the next, for the guardian, once the link to the parent has ended.
  static constexpr Duration kSignOfLife = 500ms;

  using Remits = std::function<wire::Remit(proto::LinkId)>;

  /// `types`: the messages that are known; must outlive the object. Calls `on_drained` when everything queued
  /// on a link has been sent; `remit` returns how many hosts and processes a link's sender may speak for.
  Links(asio::io_context& io, const wire::MessageTypes& types, Transports transports,
        std::function<void(proto::Event)> sink, std::function<void(proto::LinkId)> on_drained, Remits remit);
  ~Links();

  /// Who comes to `socket` to adopt this launcher is let in, from the first call on: kAdopterLink. Error: why
  /// nobody can.
  Result<void> open_to_adopters(const std::string& socket);
  /// This launcher's own parent: greets it, then reads.
  void open_parent(std::unique_ptr<Link> link);

  void execute(const proto::Login& action);
  void execute(const proto::CancelLogin& action);
  void execute(const proto::Signed& action);
  void execute(const proto::Send& action);
  void execute(const proto::CloseLink& action);
  void execute(const proto::Relay& action);
  void execute(const proto::ReplaceParent& action);
  void execute(const proto::Probe& action);

  /// Bytes queued on all links.
  std::size_t backlog() const;
  /// Bytes queued on that one.
  std::size_t backlog(proto::LinkId link) const;
  /// Stops (resumes) reading from all children.
  void pause_children(bool paused);
  /// Calls `done` from the event loop when the parent has ended its link, as it does when it has all that is
  /// queued towards it, or after kLinger.
  void await_parent(std::function<void()> done);

private:
  struct Port;
  using PortPtr = std::shared_ptr<Port>;
  void logged_in(const PortPtr& port, LoginResult result);
  void received(const PortPtr& port, std::string_view bytes);
  void greeted(Port& port);
  void take_messages(const PortPtr& port);
  bool is_held(const Port& port) const;
  void read_or_pause(Port& port) const;
  void note_sent(Port& port, std::size_t size);
  void look_at_full();
  void probe_held(const PortPtr& port, const proto::Probe& action);
  void await_greeting(const PortPtr& port);
  std::string stage(Port& port, const proto::Login& action);
  void send_staged(const PortPtr& port, std::string bytes);
  void ended(const PortPtr& port, const LinkEnd& end);
  void fail(const PortPtr& port, Error error);
  void drop(const PortPtr& port);
  void want_signature(Transport::LoginId login, std::string data);
  void start(const PortPtr& port);
  void admit_adopter(int fd);
  void drained(const PortPtr& port);
  void end_relay(const PortPtr& port);
  PortPtr local_port(UniqueFd fd);
  void live_without_parent();

  asio::io_context& io_;
  const wire::MessageTypes& types_;
  Transports transports_;
  std::function<void(proto::Event)> sink_;
  std::function<void(proto::LinkId)> on_drained_;
  Remits remit_;
  std::map<proto::LinkId, PortPtr> ports_;
  std::shared_ptr<OwnFile> own_file_;
  std::unique_ptr<Listener> adopters_;
  bool paused_ = false;
  proto::LinkFlow flow_;
  std::optional<proto::LinkId> handled_;  // the child whose message is being handled
  asio::steady_timer look_;               // at full links
  asio::steady_timer linger_;
  std::function<void()> parent_ended_;  // set while only the end of the parent is awaited
  asio::steady_timer life_;             // signs of life, while there is no parent
};

}  // namespace charmtree::io
