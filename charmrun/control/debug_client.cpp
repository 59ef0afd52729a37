// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/debug_client.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "charmrun/control/client.hpp"
#include "charmrun/control/debug_message.hpp"
#include "charmrun/control/service_link.hpp"
#include "charmrun/debug/prompt.hpp"
#include "tree/io/user/user_streams.hpp"

namespace charmtree::control {

namespace {

constexpr std::string_view kJobOver = "the job has ended";
constexpr std::size_t kPiece = 64U << 10;
/// Time after which the answers so far are shown, though some are missing.
constexpr Duration kShownAfter = 2s;

/// Splits the text of ++debug-commands into lines.
std::vector<std::string> lines_of(std::string_view text) {
  constexpr std::string_view kBetween = "\\n";
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(kBetween), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + kBetween.size(), text.size()));
  }
  return lines;
}

/// From the connection to its end.
class GdbClient {
public:
  GdbClient(io::asio::io_context& io, std::string processes, const Options::Debug& options)
      : io_(io),
        processes_(std::move(processes)),
        options_(options),
        input_(io, STDIN_FILENO, [this](std::string text, bool end) { read(std::move(text), end); }),
        interrupts_(io, SIGINT),
        timer_(io) {}

  Result<std::string> run(Client client) {
    await_interrupt();
    for (const std::string& line : lines_of(options_.commands)) {
      typed_ += line + '\n';
      ++unseen_;
    }
    const auto started =
        link_.start(io_, std::move(client),
                    {[this](DebugMessage& message) { return receive(message); },
                     [this](const Error& error) { fail(error); }, [this] { end(std::string{kJobOver}); }});
    if (!started) return started.error();
    io_.run();
    link_.close();
    return how_;
  }

private:
  void end(Result<std::string> how) {
    if (!std::exchange(is_over_, true)) how_ = std::move(how);
    io_.stop();
  }
  void fail(const Error& error) { end(error); }

  bool receive(const DebugMessage& message) {
    std::visit([this](const auto& m) { on(m); }, message);
    return !is_over_;
  }
  void on(const DebugJob& job) {
    if (prompt_) return fail(not_understood());
    const auto set = read_processes(processes_, job.processes);
    if (!set) return fail(set.error());
    prompt_.emplace(*set);
    send(prompt_->begin(options_.debugger));
    await_news();
  }
  void on(const debug::DebugUp& up) {
    if (!prompt_) return;
    const bool was_waiting = prompt_->is_waiting();
    const std::string text = prompt_->heard(up);
    show(!was_waiting && !text.empty() && is_terminal_ ? "\n" + text : text);
    if (prompt_->is_over()) return end(std::string{"no process is left in this session"});
    if (prompt_->is_waiting()) return;
    timer_.cancel();
    if (was_waiting || !text.empty()) ask();
  }
  void on(const DebugOver&) { end(std::string{kJobOver}); }
  void on(const debug::DebugOrder&) { fail(not_understood()); }

  void send(const debug::DebugOrder& order) {
    if (auto sent = link_.send(order); !sent) fail(sent.error());
  }
  void show(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) end(std::string{});  // its reader has gone
  }

  /// The prompt, and the next line.
  void ask() {
    if (is_terminal_) show(prompt_->text());
    next_line();
  }
  void next_line() {
    while (!is_over_ && !prompt_->is_waiting()) {
      const std::size_t newline = typed_.find('\n');
      if (newline == std::string::npos && !at_end_) break;
      if (newline == std::string::npos && typed_.empty()) return end(std::string{});
      const std::string line = typed_.substr(0, newline);
      typed_.erase(0, newline == std::string::npos ? newline : newline + 1);
      if (unseen_ > 0 && is_terminal_) show(line + '\n');
      unseen_ -= std::min<std::size_t>(unseen_, 1);
      carry_out(prompt_->typed(line));
      if (is_terminal_ && !is_over_ && !prompt_->is_waiting()) show(prompt_->text());
    }
    if (is_over_ || prompt_->is_waiting() || std::exchange(is_reading_, true)) return;
    input_.read(kPiece);
  }
  void read(std::string text, bool end) {
    is_reading_ = false;
    typed_ += text;
    at_end_ = at_end_ || end;
    if (prompt_ && !prompt_->is_waiting()) next_line();
  }
  void carry_out(Prompt::Deed deed) {
    show(deed.text);
    if (deed.order) send(*deed.order);
    if (deed.leaves) return end(std::string{});
    if (prompt_->is_waiting()) await_news();
  }

  void await_news() {
    timer_.expires_after(kShownAfter);
    timer_.async_wait([this](io::error_code stopped) {
      if (stopped || is_over_ || !prompt_->is_waiting()) return;
      if (prompt_->has_news()) show(prompt_->so_far());
      await_news();
    });
  }
  void await_interrupt() {
    interrupts_.async_wait([this](io::error_code stopped, int) {
      if (stopped || is_over_) return;
      await_interrupt();
      if (!prompt_) return end(std::string{});
      const bool was_waiting = prompt_->is_waiting();
      show("\n");
      carry_out(prompt_->interrupted());
      if (!prompt_->is_waiting() && (was_waiting || is_terminal_)) ask();
    });
  }

  io::asio::io_context& io_;
  std::string processes_;
  const Options::Debug& options_;
  io::InputReader input_;
  io::asio::signal_set interrupts_;
  io::asio::steady_timer timer_;
  ServiceLink<DebugMessage> link_;
  std::optional<Prompt> prompt_;
  std::string typed_;
  std::size_t unseen_ = 0;  // the first lines of `typed_`, which are from ++debug-commands
  Result<std::string> how_{std::string{}};
  bool is_terminal_ = ::isatty(STDIN_FILENO) == 1;
  bool at_end_ = false, is_reading_ = false, is_over_ = false;
};

}  // namespace

Result<std::string> run_gdb(const std::string& job, const std::string& processes,
                            const Options::Debug& options) {
  ::signal(SIGPIPE, SIG_IGN);
  auto client = open_service(job, kDebugService);
  if (!client) return client.error();
  io::asio::io_context io;
  return GdbClient{io, processes, options}.run(std::move(*client));
}

}  // namespace charmtree::control
