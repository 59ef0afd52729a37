// SPDX-License-Identifier: Apache-2.0
// The conversation with one registered Charm++ process: what each of its messages means, and when it may be
// written to. A client that waits for the reply to `printsyn` or `scanf` takes whatever comes next for it,
// and one that waits for its table takes nothing else; so what is for it meanwhile is held back here. One
// that waits for the user or for a slow output is kept from giving up (SlowReply). What is held back is
// bounded: the table (shared by all clients), one release for each kind of barrier, as many crashes as the
// root allows at a time, and as many CCS requests as CharmRequests holds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/clients/charm_requests.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/clients/client_silence.hpp"
#include "tree/clients/slow_reply.hpp"
#include "tree/wire/charm_message.hpp"

namespace charmtree::proto {

/// What Charm++ clients may cost us. Sizes of messages: tree/wire/charm_message.hpp.
struct CharmLimits {
  Duration first_message = 10s;  // from the connection to its complete `initnode`
  /// Without `initnode`, beyond one for each process; the oldest has to go. So many that a client, which does
  /// not try again, is not out before it gets the processor to say its first word.
  std::size_t spare_connections = 512;
  /// From the first `ending` of an SMP process to its last. Charm++ flushes its output first and then sends
  /// all of them from one loop, so what is missing after this is never worth waiting for: only a build that
  /// sends too few gets here.
  Duration further_endings = 1s;
  std::uint32_t barriers_ahead =
      64;  // entered again before the release; only `barrier0` is legally so, by processes other than 0
  /// Of a build that can shrink and expand: process 0 ends for all, and all wait to be let go.
  bool resizes = false;
  /// A fault-tolerant build: lost processes are started anew.
  bool restarts = false;
  /// A silence of so much is told; 0: none is.
  Duration silence{0};
  /// So many pings of a client must be missing at least.
  int pings = 2;
};

/// The table, expanded once for all clients of a host.
struct CharmTable {
  std::uint32_t processes = 0;
  std::uint32_t pes_per_process = 1;
  wire::Blob entries;
};

class CharmClient {
public:
  /// `limits` must outlive it.
  CharmClient(std::uint32_t process, ClientId client, const CharmLimits& limits)
      : process_(process), client_(client), limits_(&limits) {}

  /// It says something, whatever that is.
  void heard(Instant now, ClientOutputs& out);
  /// Its process was looked at, as Unheard asks.
  void seen(Sight sight, Instant now, ClientOutputs& out);
  /// Takes any message but initnode and reply_fw. Returns why the conversation cannot go on; empty: it can.
  std::string on(const wire::CharmMessage& message, Instant now, ClientOutputs& out);
  /// Before the table: lets it fork so many children, which connect under the numbers after its own.
  void fork(std::uint32_t children, ClientOutputs& out);
  /// The first table is sent; later ones have no effect.
  void table(std::shared_ptr<const CharmTable> table, ClientOutputs& out);
  /// `crashed` was lost and is back, as this table says. No effect on a process that has none yet. The table
  /// is sent at once where it can be, the rest by announce(): all processes of a host should get their tables
  /// back to back.
  void recover(std::shared_ptr<const CharmTable> table, std::uint32_t crashed, ClientOutputs& out);
  void announce(ClientOutputs& out);
  /// Tells the engine again which barriers the process waits in.
  void tell_barriers(ClientOutputs& out) const;
  /// Has an effect only if the process has entered that barrier.
  void release(BarrierKind kind, ClientOutputs& out);
  void printed(ClientOutputs& out);
  /// Returns why the answer cannot be given; empty: it has been.
  std::string scanned(std::string_view input, ClientOutputs& out);
  void queue_pairs(std::string_view pairs, ClientOutputs& out);
  /// A CCS request: payload of `req_fw`.
  void request(std::string payload, ClientOutputs& out);
  /// The connection is gone or is going to be closed for `why`. The last call.
  void lost(std::string why, ClientOutputs& out);
  /// Asks a process that has not ended to end, unless it would take that for something else. The last call.
  void finish(ClientOutputs& out);

  /// It is let go to execute itself anew or to leave. The last call.
  void regroup(ClientOutputs& out);

  /// When tick() has something to do.
  Instant deadline() const;
  void tick(Instant now, ClientOutputs& out);

  ClientId id() const { return client_; }
  std::uint32_t process() const { return process_; }
  void renumber(std::uint32_t process) { process_ = process; }

private:
  enum class Waiting : std::uint8_t { nothing, printed, scanned, queue_pairs };
  struct Barrier {
    bool entered = false;       // told the engine, not released
    bool release_held = false;  // released, but the client cannot be told yet
    std::uint32_t ahead = 0;    // entries of later rounds, told to the engine one per release
  };

  std::string print(const wire::CharmMessage& message, Instant now, ClientOutputs& out);
  std::string scan(std::string_view format, Instant now, ClientOutputs& out);
  std::string give_queue_pairs(std::string_view list, ClientOutputs& out);
  std::string enter(BarrierKind kind, ClientOutputs& out);
  std::string reply(std::string_view text, ClientOutputs& out);
  void ending(std::string_view payload, Instant now, ClientOutputs& out);
  void end(ClientOutputs& out);
  void abort(std::string_view payload, ClientOutputs& out);
  std::string ack(ClientOutputs& out);
  std::string answer(std::string_view payload, ClientOutputs& out);
  void refuse_requests(ClientOutputs& out);
  void fail(std::string_view request, std::string_view why, ClientOutputs& out) const;

  /// It waits for nothing from us, and so has no reason to be silent.
  bool owes_pings() const;
  Duration patience() const;
  /// May be written to unasked.
  bool listening() const { return waiting_ == Waiting::nothing && !ended_; }
  void send(std::string_view type, std::string_view payload, ClientOutputs& out);
  void send_held(ClientOutputs& out);
  void send_table(ClientOutputs& out);

  std::uint32_t process_;
  ClientId client_;
  const CharmLimits* limits_;
  Waiting waiting_ = Waiting::nothing;
  std::shared_ptr<const CharmTable> table_;
  bool table_sent_ = false;
  std::vector<std::uint32_t> crashes_;  // that it has yet to be told of
  std::uint32_t acks_due_ = 0;
  std::array<Barrier, kBarrierKinds> barriers_;
  CharmRequests requests_;
  std::uint32_t endings_ = 0;
  int code_ = 0;  // the first that is not 0
  bool ended_ = false;
  bool aborted_ = false;
  bool gave_queue_pairs_ = false;
  Instant end_by_ = kNever;              // if it does not send all its `ending`s
  std::optional<SlowReply> reply_ = {};  // printed, scanned: what it waits for
  ClientSilence silence_;
};

}  // namespace charmtree::proto
