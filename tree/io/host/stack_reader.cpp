// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/stack_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "stacks/members.hpp"
#include "stacks/stack_set.hpp"
#include "tree/io/sealed_file.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree::io {

void StackReader::read(Question question, Duration within, Done done) {
  if (done_) end("others asked meanwhile");
  question_ = std::move(question);
  done_ = std::move(done);
  heard_.clear();
  if (question_.pids.empty() && question_.cores.empty()) return end({});
  if (const auto started = start(); !started) return end(started.error().what);
  timer_.expires_after(within);
  timer_.async_wait([this](error_code stopped) {
    if (!stopped) end("it could not be looked at in time");
  });
  hear();
}

Result<void> StackReader::start() {
  const Error none{Errc::spawn_failed, Phase::spawn, "out of file descriptors", "raise ulimit -n there"};
  std::string list;
  for (const auto& [process, pid] : question_.pids) list += fmt::format("{} {}\n", process, pid);
  for (const auto& [process, core] : question_.cores) {
    if (core.path.find('\n') == std::string::npos)
      list += fmt::format("{} {} {}\n", process, core.pid, core.path);
  }
  const UniqueFd input = sealed_file("processes", list);
  std::array<int, 2> ends{-1, -1};
  if (!input || ::pipe2(ends.data(), O_CLOEXEC) != 0) return none;
  UniqueFd ours{ends[0]}, theirs{ends[1]};
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"charmrun", std::string{kStackHelperWord},
                       std::string{question_.raw ? kRawFrames : kFoldedFrames}};
  request.input = input.get();
  request.output = theirs.get();
  const auto pid = spawn(request);
  if (!pid) return pid.error();
  helper_ = *pid;
  watch_.add(helper_, [this, helper = helper_](ChildStatus) {
    if (helper_ == helper) helper_ = 0;
  });
  pipe_.assign(ours.release());
  pipe_.non_blocking(true);
  return {};
}

void StackReader::hear() {
  pipe_.async_read_some(asio::buffer(piece_), [this](error_code ec, std::size_t size) {
    if (ec == asio::error::operation_aborted) return;
    heard_.append(piece_.data(), size);
    if (ec) return end("what looked at it has failed");
    heard_.size() > stacks::kMaxStacks ? end("too much was found") : hear();
  });
}

/// A helper that is killed while it takes hold of a process leaves it stopped.
void StackReader::end(std::string_view failure) {
  timer_.cancel();
  error_code ignored;
  if (pipe_.is_open()) pipe_.close(ignored);
  stacks::Stacks stacks;
  auto told = wire::decode_whole<stacks::Stacks>(heard_);
  if (told) {
    stacks = std::move(*told);
  } else {
    if (helper_ != 0) watch_.signal_group(helper_, SIGKILL);
    stacks::StackSet::Ranges all;
    for (const auto& [process, pid] : question_.pids) {
      watch_.signal_group(pid, SIGCONT);
      all.push_back({process, process});
    }
    for (const auto& [process, core] : question_.cores) all.push_back({process, process});
    stacks::StackSet set;
    set.add_unread(all, failure);
    stacks = set.take();
  }
  std::exchange(done_, nullptr)(std::move(stacks));
}

}  // namespace charmtree::io
