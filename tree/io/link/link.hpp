// SPDX-License-Identifier: Apache-2.0
// A byte stream to another launcher and the way to open one. A link is the stdin/stdout of the launcher that
// a transport started on a host (DESIGN D2): nothing listens, nothing connects back. What the bytes mean is
// decided elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/io/sock_diag.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::io {

/// What the far side of a link said when it ended, for the error message.
struct LinkEnd {
  int exit_status = -1;     // of the remote command; -1: unknown
  std::string exit_signal;  // "KILL"; empty: none
  std::string stderr_tail;  // what the remote shell wrote to stderr, the last 4 KiB at most
  std::string what;         // "closed by the other side", "connection reset"
};

class Link {
public:
  virtual ~Link() = default;

  /// Both handlers are called from the event loop, never from inside a call to this object. After on_end
  /// nothing more is called. The string_view is valid only during the call.
  struct Handlers {
    std::function<void(std::string_view bytes)> on_bytes;
    std::function<void(LinkEnd end)> on_end;
    std::function<void()> on_drained;  // backlog() fell to 0 after a send
  };
  virtual void start(Handlers handlers) = 0;

  /// Queues `bytes`; order is kept. The caller bounds the queue by looking at backlog().
  virtual void send(std::string bytes) = 0;

  /// Bytes queued and not yet handed to the kernel or to libssh2.
  virtual std::size_t backlog() const = 0;

  /// Stops (resumes) reading: the far side feels it once its buffers are full.
  virtual void pause_reading(bool paused) = 0;

  /// The connection that carries it, if that is one of TCP.
  virtual std::optional<TcpEnds> ends() const { return {}; }

  /// Returns the descriptor whose hang-up is the end of the link; -1: there is none.
  virtual int descriptor() const = 0;

  /// Ends the link: queued bytes are sent for at most `linger`, then everything is released. No handler is
  /// called any more.
  virtual void close(Duration linger) = 0;
};

/// When each step of one login ended (monotonic, of the launcher that logs in). kNever: did not happen.
struct LoginSteps {
  Instant begun = kNever, resolved = kNever, connected = kNever, handshaken = kNever, authenticated = kNever,
          executed = kNever;
};

/// Limits of one login. Each step has its own deadline, counted from its beginning.
struct LoginLimits {
  Duration resolve = 10s, connect = 10s, handshake = 15s, authenticate = 15s, exec = 15s;
};

struct LoginResult {
  std::unique_ptr<Link> link;  // null: failed
  Error error;                 // when failed
  LoginSteps times;
  HostKey accepted_key;  // a key taken on first use (accept_new); type empty: none
  std::string note;      // one line for ++verbose, e.g. why the ssh command is used
};

/// Starts `<profile.launcher> ++launcher` on a host and hands over its stdin/stdout as a Link.
class Transport {
public:
  virtual ~Transport() = default;

  using LoginId = std::uint64_t;
  /// Begins a login; `done` is called once from the event loop, never from inside login(). `command` is the
  /// complete, constant remote command line ("exec /path/charmrun ++launcher"). host and profile are copied
  /// if needed.
  virtual LoginId login(const Host& host, const Profile& profile, const std::string& command,
                        const LoginLimits& limits, std::function<void(LoginResult)> done) = 0;

  /// Gives a login up: `done` is not called any more and everything it holds is released in time. No effect
  /// on a finished one.
  virtual void cancel(LoginId id) = 0;
};

/// A transport whose logins can ask for signatures by Profile::forwarded_keys.
class SigningTransport : public Transport {
public:
  /// Sets what a login calls for a signature: from the event loop, not from inside login(). The answer comes
  /// by give_signature(). Without a signer such keys are not tried.
  virtual void set_signer(std::function<void(LoginId id, std::string data)> signer) = 0;
  /// Passes on the signature that a login asked for; empty: refused. No effect on a finished login.
  virtual void give_signature(LoginId id, std::string signature) = 0;
};

}  // namespace charmtree::io
