// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/tool_client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

#include "charmrun/cli/label.hpp"
#include "charmrun/control/client.hpp"
#include "charmrun/control/service_link.hpp"
#include "charmrun/control/tool_message.hpp"
#include "charmrun/debug/dap.hpp"
#include "charmrun/debug/prompt.hpp"
#include "charmrun/view/display_rules.hpp"
#include "charmrun/view/own_line.hpp"
#include "charmrun/view/user_output.hpp"
#include "tree/io/user/user_streams.hpp"

namespace charmtree::control {

namespace {

using debug::ToolOrder;
using debug::ToolSaid;
using proto::Stream;

/// Limits of output on its way, in bytes: of all hosts together, and the least and most of one host.
constexpr std::size_t kMostOutput = 4U << 20, kLeastOutput = 16U << 10, kMostOfOne = 256U << 10;
/// Bytes for a debug adapter that it has not taken, when more of its own requests are to be answered.
constexpr std::size_t kMostRefusals = 1U << 20;
/// A line of a host that is longer is shown in pieces.
constexpr std::size_t kMostLine = 1U << 20;

struct Request {
  std::string processes;
  std::vector<std::string> words;
  bool is_dap = false;
};

DisplayRules rules_of(const Options& options) {
  DisplayRules rules = display_rules(options);
  if (rules.label.empty()) rules.label = *Label::parse("%h: ");
  if (rules.fold_label.empty()) rules.fold_label = *Label::parse("%h: ");
  return rules;
}

class ToolClient {
public:
  ToolClient(io::asio::io_context& io, Request request, const Options& options)
      : io_(io),
        request_(std::move(request)),
        input_(io, STDIN_FILENO, [this](std::string bytes, bool end) { read(std::move(bytes), end); }),
        output_(io, rules_of(options), false, {STDOUT_FILENO, STDERR_FILENO},
                {[] {}, [this](std::uint32_t process) { shown(process); }, [this] { end(output_.failure()); },
                 [](const std::string&) {}, [] { return false; }, [this] { end(EPIPE); }}) {}

  Result<int> run(Client client) {
    const auto started =
        link_.start(io_, std::move(client),
                    {[this](ToolMessage& message) { return receive(message); },
                     [this](const Error& error) { fail(error); },
                     [this] {
                       fail({Errc::link_lost, Phase::run, "the charmrun of the job has closed the connection",
                             "it is gone (charmrun ++list), or the output was read too slowly: what ran "
                             "beside the processes has ended"});
                     }});
    if (!started) return started.error();
    io_.run();
    link_.close();
    output_.finish({}, UserOutput::kNoHurry);
    output_.drain(UserOutput::kNoHurry);
    if (error_) return *error_;
    return status_;
  }

private:
  /// The tool of one host.
  struct Tool {
    std::string host;
    std::size_t unread = 0;                 // bytes of input that it has not taken
    std::uint32_t to_confirm = 0;           // bytes of output that are being shown
    std::map<Stream, std::string> begun{};  // lines, of several hosts
  };

  void fail(const Error& error) {
    if (!error_) error_ = error;
    io_.stop();
  }
  /// Ends as by SIGPIPE: the reader of the output has gone.
  void end(int failure) {
    if (failure != EPIPE) return fail({Errc::internal, Phase::run, "stdout cannot be written", {}});
    constexpr int kByPipe = 128 + SIGPIPE;
    status_ = kByPipe;
    io_.stop();
  }

  bool receive(ToolMessage& message) {
    std::visit([this](auto& m) { on(m); }, message);
    return !error_ && !is_over_;
  }
  void on(const ToolJob& job) {
    const auto set = read_processes(request_.processes, job.processes);
    if (!set) return fail(set.error());
    which_ = set->ranges();
    send(ToolWhere{which_});
  }
  void on(const ToolPlaces& all) {
    if (all.places.empty())
      return fail({Errc::bad_input, Phase::run, "none of these processes has been started yet",
                   "charmrun ++status shows how far the job is"});
    for (const ProcessPlace& place : all.places) tools_[place.process].host = place.host;
    is_single_ = tools_.size() == 1;
    if (request_.is_dap) dap_.emplace(all.places.front().pid);
    const std::size_t window = std::clamp(kMostOutput / tools_.size(), kLeastOutput, kMostOfOne);
    send(ToolOrder{
        0, ToolOrder::What::begin, true, static_cast<std::uint32_t>(window), request_.words, {}, which_});
    read_more();
  }
  void on(const ToolOver&) {
    say("the job has ended, and what ran beside its processes");
    is_over_ = true;
    if (!dap_) status_ = std::max(status_, kJobOver);
    io_.stop();
  }
  void on(ToolSaid& said) {
    if (said.which.empty()) return;
    if (said.what == ToolSaid::What::failed) return failed(said);
    const auto tool = tools_.find(said.which.front().first);
    if (tool == tools_.end()) return;
    switch (said.what) {
      case ToolSaid::What::output:
        return show(*tool, Stream::out, std::move(said.bytes));
      case ToolSaid::What::error:
        return show(*tool, Stream::err, std::move(said.bytes));
      case ToolSaid::What::taken:
        tool->second.unread -= std::min<std::size_t>(tool->second.unread, said.number);
        return read_more();
      case ToolSaid::What::started:
      case ToolSaid::What::failed:  // handled above
        return;
      case ToolSaid::What::ended:
        status_ = std::max(status_, static_cast<int>(said.number));
        return over(tool->first);
    }
  }
  template <class M>
  void on(const M&) {
    fail(not_understood());
  }

  /// Reports the tools of a host, or of all hosts behind a lost link, as failed.
  void failed(const ToolSaid& said) {
    const wire::ProcessSet which{said.which};
    std::vector<std::uint32_t> firsts;
    for (const auto& [process, tool] : tools_) {
      if (which.contains(process)) firsts.push_back(process);
    }
    for (const std::uint32_t process : firsts) {
      complain(tools_.at(process).host + ": " + said.bytes);
      status_ = std::max(status_, kNotRun);
      over(process);
    }
  }
  void over(std::uint32_t process) {
    auto tool = tools_.extract(process);
    for (auto& [stream, line] : tool.mapped().begun) {
      if (!line.empty()) show_lines(tool.key(), tool.mapped().host, stream, line + '\n', false);
    }
    if (tools_.empty()) io_.stop();
    if (!tools_.empty()) read_more();
  }

  void show(std::pair<const std::uint32_t, Tool>& tool, Stream stream, std::string bytes) {
    tool.second.to_confirm += static_cast<std::uint32_t>(bytes.size());
    if (dap_ && stream == Stream::out) {
      DapSession::Out out;
      if (const auto taken = dap_->from_adapter(bytes, out); !taken) {
        output_.pass(std::move(out.to_editor));  // the messages before
        return fail(of_host(tool.second.host, taken.error()));
      }
      if (!out.to_adapter.empty() && tool.second.unread > kMostRefusals)
        return fail(of_host(tool.second.host, {Errc::bad_peer, Phase::run,
                                               "the debug adapter sends requests and reads no answers",
                                               "the session is over"}));
      give(out.to_adapter);
      bytes = std::move(out.to_editor);
    }
    std::string& begun = tool.second.begun[stream];
    begun += bytes;
    const std::size_t end = is_single_ || begun.size() > kMostLine ? begun.size() : begun.rfind('\n') + 1;
    if (end == 0) return shown(tool.first);
    show_lines(tool.first, tool.second.host, stream, begun.substr(0, end), true);
    begun.erase(0, end);
  }
  void show_lines(std::uint32_t process, const std::string& host, Stream stream, std::string text,
                  bool confirm) {
    wire::Output output{process, static_cast<std::uint8_t>(stream), confirm, std::move(text)};
    output.tail = wire::Tail::ended;
    output_.show({std::move(output), host, kMany, is_single_});
  }
  /// Confirms output that has been shown, so that more may come.
  void shown(std::uint32_t process) {
    const auto tool = tools_.find(process);
    if (tool == tools_.end() || tool->second.to_confirm == 0) return;
    send(ToolOrder{
        0, ToolOrder::What::taken, false, std::exchange(tool->second.to_confirm, 0), {}, {}, one(process)});
  }

  void read_more() {
    if (is_reading_ || at_end_ || is_over_) return;
    for (const auto& [process, tool] : tools_) {
      if (tool.unread + debug::kMostToolBytes > debug::kMostToolInput) return;
    }
    is_reading_ = true;
    input_.read(debug::kMostToolBytes);
  }
  void read(std::string bytes, bool end) {
    is_reading_ = false;
    at_end_ = end;
    if (dap_) {
      DapSession::Out out;
      if (const auto taken = dap_->from_editor(bytes, out); !taken) return fail(taken.error());
      bytes = std::move(out.to_adapter);
      if (!out.to_editor.empty()) output_.pass(std::move(out.to_editor));
    }
    give(bytes);
    if (end) give_piece({});
    read_more();
  }
  void give(const std::string& bytes) {
    for (std::size_t from = 0; from < bytes.size(); from += debug::kMostToolBytes)
      give_piece(bytes.substr(from, debug::kMostToolBytes));
  }
  /// Sends a piece of the input; an empty one is its end.
  void give_piece(std::string bytes) {
    for (auto& [process, tool] : tools_) tool.unread += bytes.size();
    send(ToolOrder{0, ToolOrder::What::input, false, 0, {}, std::move(bytes), which_});
  }

  static Error of_host(const std::string& host, Error error) {
    error.what = host + ": " + error.what;
    return error;
  }
  static std::vector<wire::ProcessSet::Range> one(std::uint32_t process) { return {{process, process}}; }
  void send(const ToolMessage& message) {
    if (auto sent = link_.send(message); !sent) fail(sent.error());
  }
  void say(const std::string& line) { output_.say(Stream::err, own_line(proto::Tone::info, line)); }
  void complain(const std::string& line) { output_.say(Stream::err, own_line(proto::Tone::error, line)); }

  static constexpr int kJobOver = 125, kNotRun = 127;
  static constexpr std::uint32_t kMany = 1000;  // enough of them for lines to be labelled and folded

  io::asio::io_context& io_;
  Request request_;
  io::InputReader input_;
  UserOutput output_;
  ServiceLink<ToolMessage> link_;
  std::vector<wire::ProcessSet::Range> which_;
  std::map<std::uint32_t, Tool> tools_;  // the running ones, by the first process of their host
  std::optional<DapSession> dap_;
  std::optional<Error> error_;
  int status_ = 0;
  bool is_single_ = false, is_reading_ = false, at_end_ = false, is_over_ = false;
};

/// Checks that the command fits into one message, as the other side takes it.
Result<void> check_command(const std::vector<std::string>& words) {
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1;
  if (size <= debug::kMostToolCommand) return {};
  return Error{Errc::bad_input, Phase::options,
               fmt::format("the command has {} bytes, and may have {}", size, debug::kMostToolCommand),
               "put it into a script that the hosts have, or feed it to sh by stdin"};
}

Result<int> run_tool(const std::string& job, Request request, const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  if (const auto fits = check_command(request.words); !fits) return fits.error();
  auto client = open_service(job, kToolService);
  if (!client) return client.error();
  io::asio::io_context io;
  return ToolClient{io, std::move(request), options}.run(std::move(*client));
}

}  // namespace

Result<int> run_exec(const std::string& job, const std::string& processes,
                     const std::vector<std::string>& words, const Options& options) {
  return run_tool(job, {processes, words}, options);
}

Result<int> run_dap(const std::string& job, const std::string& process, const Options& options) {
  return run_tool(job, {process, dap_adapter(options.debug.debugger), true}, options);
}

}  // namespace charmtree::control
