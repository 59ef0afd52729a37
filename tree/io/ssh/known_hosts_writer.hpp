// SPDX-License-Identifier: Apache-2.0
// Writes host keys that were taken on first use into known_hosts files, without holding up the event loop:
// keys are collected for a moment; then each file is locked, read and appended to once. A file that somebody
// else has locked is tried again by a timer.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/ssh/known_hosts.hpp"

namespace charmtree::io {

/// A line to be: a name (see known_hosts_name) and its key.
struct NewKnownHost {
  std::string name;
  HostKey key;
  NameStyle style = NameStyle::plain;
};

class KnownHostsWriter {
public:
  /// How long keys are collected, between two tries for a lock, and in all until a key is given up.
  static constexpr Duration kCollect = 50ms, kTryAgain = 20ms, kPatience = 2s;

  explicit KnownHostsWriter(asio::io_context& io) : timer_(io) {}

  /// Error of phase host_key: why the key is not in the file.
  using Done = std::function<void(Result<void>)>;
  /// Appends a line to `file`, unless that holds the key for that name already. Creates the file (0600) and
  /// its directory (0700). Refuses what is no single word or no such key, what is revoked there, and what
  /// would be a second key of its type for that name. `done` is called once, by this call, the loop or
  /// finish().
  void add(const std::string& file, NewKnownHost host, Done done);

  /// Does now what is left to do; waits for locks as long as the timer would have. For the end, when the loop
  /// does not run any more.
  void finish();

private:
  struct Pending {
    NewKnownHost host;
    Done done;
    Instant give_up_at = kNever;
  };
  void arm(Duration after);
  void write();

  asio::steady_timer timer_;
  bool armed_ = false;
  std::map<std::string, std::vector<Pending>> pending_;  // by file
};

}  // namespace charmtree::io
