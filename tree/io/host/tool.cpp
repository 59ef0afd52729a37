// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/base/join.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"

namespace charmtree::io {

using What = debug::ToolSaid::What;

namespace {

/// As a shell has it.
std::uint32_t status_of(const ChildStatus& end) {
  constexpr int kBySignal = 128;
  return static_cast<std::uint32_t>(end.signal != 0 ? kBySignal + end.signal : end.code);
}

}  // namespace

Tool::Tool(asio::io_context& io, ChildWatch& watch, Say say, const debug::ToolOrder& begin,
           const std::vector<pid_t>& pids, const std::string& directory)
    : io_(io),
      say_(std::move(say)),
      session_(begin.session),
      process_(begin.which.front().first),
      window_(std::max<std::uint32_t>(begin.number, 1)),
      process_here_(std::make_shared<PipedProcess>(
          io, watch,
          PipedProcess::Hooks{
              [this](std::string_view bytes) { heard(What::output, bytes); },
              [this](std::string_view bytes) { heard(What::error, bytes); },
              [this](std::size_t bytes) { this->say(What::taken, {}, static_cast<std::uint32_t>(bytes)); },
              [this](ChildStatus end) { this->say(What::ended, {}, status_of(end)); }})) {
  start(begin, pids, directory);
}

Tool::~Tool() {
  *is_here_ = false;
  process_here_->leave(kGrace);
}

void Tool::start(const debug::ToolOrder& begin, const std::vector<pid_t>& pids,
                 const std::string& directory) {
  if (begin.words.empty()) return say(What::failed, "there is no command");
  SpawnRequest request;
  request.program = begin.words.front();
  request.arguments = begin.words;
  request.environment = own_environment();
  request.directory = directory;
  std::vector<std::string> workers;
  workers.reserve(pids.size());
  for (const pid_t pid : pids) workers.push_back(std::to_string(worker_of(pid)));
  proto::overlay(request.environment,
                 {fmt::format("{}={}", kPids, join(workers, " ")),
                  fmt::format("{}={}", kNumbers, wire::ProcessSet{begin.which}.print())});
  const auto started = process_here_->start(std::move(request), begin.has_input);
  started ? say(What::started, {}) : say(What::failed, to_string(started.error()));
}

void Tool::order(const debug::ToolOrder& order) {
  switch (order.what) {
    case debug::ToolOrder::What::input:
      return order.bytes.empty() ? process_here_->end_input() : process_here_->write(order.bytes);
    case debug::ToolOrder::What::taken:
      on_its_way_ -= std::min<std::uint64_t>(on_its_way_, order.number);
      return process_here_->pause(on_its_way_ >= window_);
    case debug::ToolOrder::What::begin:
    case debug::ToolOrder::What::end:
      break;
  }
}

void Tool::heard(What what, std::string_view bytes) {
  on_its_way_ += bytes.size();
  process_here_->pause(on_its_way_ >= window_);
  for (std::size_t from = 0; from < bytes.size(); from += debug::kMostToolBytes)
    say(what, std::string{bytes.substr(from, debug::kMostToolBytes)});
}

void Tool::say(What what, std::string bytes, std::uint32_t number) {
  debug::ToolSpoke spoke{{session_, what, number, std::move(bytes), {{process_, process_}}}};
  asio::post(io_, [this, is_here = is_here_, spoke = std::move(spoke)] {
    if (*is_here) say_(spoke);
  });
}

}  // namespace charmtree::io
