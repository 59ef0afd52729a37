// SPDX-License-Identifier: Apache-2.0
// What happens to a job, as NDJSON (++json, docs/manual/events.md): each function returns one line. Pure.
#pragma once

#include <string>

#include "charmrun/report/json_parts.hpp"
#include "tree/base/result.hpp"
#include "tree/turn/events.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

class EventLog {
public:
  /// Times are since `started`, when main began. Lines are written in the order of their `now`.
  explicit EventLog(Instant started) : started_(started) {}

  /// The first line. `pid` is the root launcher's.
  std::string job(const wire::JobSpec& job, int pid, Instant now) const;
  /// It has started its processes.
  std::string host_up(const std::string& host, Instant now) const;
  /// It was given up at `when`.
  std::string host_failed(const std::string& host, const Error& error, Instant when, Instant now) const;
  /// Without these the job goes on. `host`: where it happened.
  std::string lost(const proto::Loss& loss, const std::string& host, Instant now) const;
  /// A process on `host` is started again.
  std::string process_restart(const proto::Progress::ProcessRestart& restart, const std::string& host,
                              Instant now) const;
  /// It has registered.
  std::string process_back(std::uint32_t process, Instant now) const;
  /// A process on `host` is silent, or is so no more.
  std::string silence(const wire::Silence& told, const std::string& host, Instant now) const;
  /// A process on `host` has failed, and is not started again.
  std::string process_end(const proto::Progress::Failure& failure, const std::string& host,
                          Instant now) const;
  /// How all processes have ended.
  std::string ends(const proto::ProcessEnds& ends, Instant now) const;
  /// The program is started again, because of this.
  std::string restart(const proto::Ending& why, Instant now) const;
  std::string stage(const proto::JobStatus& status, Instant now) const;
  std::string output(const proto::Show& show, Instant now) const;
  /// What charmrun says, without its name.
  std::string message(proto::Tone tone, const std::string& text, Instant now) const;
  /// The last line. `host`: the one of Ending::host, if there is any.
  std::string end(const proto::Finish& finish, const std::string& host, Instant now) const;

private:
  std::string line(const char* event, Instant now, const Json& more) const;
  /// When a thing happened of which is told now.
  double at(Instant when) const { return rounded_seconds(when - started_); }

  Instant started_;
};

/// Where ++json writes: a file, stdout ("-"), or a descriptor that is open already ("fd:3").
struct EventPlace {
  std::string path;
  int fd = -1;  // not negative: that, and not the path
};
/// Error bad_input: "fd:" and no number from 0 to 1023.
Result<EventPlace> event_place(const std::string& text);

}  // namespace charmtree
