// SPDX-License-Identifier: Apache-2.0
// The root's user: the program's output, our own lines, stdin, and what is written down (host keys, start-up
// times).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "charmrun/job.hpp"
#include "charmrun/login_log.hpp"
#include "charmrun/options.hpp"
#include "charmrun/startup_record.hpp"
#include "tree/io/known_hosts_writer.hpp"
#include "tree/io/runner.hpp"
#include "tree/io/signer.hpp"
#include "tree/io/user_streams.hpp"
#include "tree/io/user_terminal.hpp"

namespace charmtree {

class Console : public io::UserSide {
public:
  /// `job` must outlive the console; `started` is when main began.
  Console(io::asio::io_context& io, const Options& options, const Job& job, Instant started);

  /// Where events of the user go: InputRead, and UserSignal{SIGPIPE} when nobody reads stdout any more. Set
  /// once, before the loop runs.
  void attach(io::Runner& runner) { runner_ = &runner; }
  /// Who signs for other launchers; without one nobody does. Must outlive the console.
  void set_signer(io::Signer& signer) { signer_ = &signer; }

  void show(proto::Stream stream, std::string bytes) override;
  void say(proto::Tone tone, const std::string& line) override;
  void sign(const proto::Sign& action) override;
  void store_host_key(std::uint32_t host, const HostKey& key) override;
  void record(const proto::Record& record) override;
  void confirm(const proto::Confirm& action) override;
  void read_input(const proto::ReadInput& action) override;
  void release_keys() override;
  void read_hosts(std::uint32_t pes) override;
  std::size_t backlog() const override { return out_.backlog() + err_.backlog(); }

  /// The end: everything shown has been written, or nobody reads it any more. Host keys too, as far as they
  /// can.
  bool drain(Duration limit);
  /// Why stdout could not be written, an errno; 0 if it could.
  int output_failure() const { return out_.failure(); }
  /// The start-up record so far.
  const StartupRecord& startup() const { return startup_.record(); }
  /// The root's logins; none until every host is up.
  const LoginLog& logins() const { return logins_; }

private:
  io::OutputWriter& writer(proto::Stream stream) { return stream == proto::Stream::err ? err_ : out_; }
  void write_lines(proto::Stream stream, std::string lines);

  const Options& options_;
  const Job& job_;
  io::Runner* runner_ = nullptr;
  io::Signer* signer_ = nullptr;
  StartupRecorder startup_;
  LoginLog logins_;
  Duration cpu_at_start_;
  io::OutputWriter out_, err_;
  io::InputReader input_;
  std::optional<io::UserTerminal> terminal_;  // if the job's input process has one
  io::KnownHostsWriter known_hosts_;
};

}  // namespace charmtree
