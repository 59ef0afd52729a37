// SPDX-License-Identifier: Apache-2.0
// ~/.charmrunrc and the setup command are shell text that may set variables, so one bash runs both and prints
// the environment that results. Its own stdout is the pipe for that; what the text prints goes to stderr.
#include "tree/io/host/host_setup.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "tree/base/exit_status.hpp"
#include "tree/io/resolver.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kComplaint = 400;

proto::Environment split_at_nul(const std::string& text) {
  proto::Environment all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    if (text.find('=', at) < end) all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

std::string rc_file() {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return {};
  std::string path = std::string{home} + "/.charmrunrc";
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string{};
}

std::uint32_t parse_ipv4(const std::string& text) {
  in_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 ? ntohl(address.s_addr) : 0;
}

bool is_loopback(std::uint32_t address) {
  return address >> 24 == 127;
}

template <class Visit>
void for_each_interface(Visit visit) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET ||
        (entry->ifa_flags & IFF_UP) == 0)
      continue;
    sockaddr_in address{};
    std::memcpy(&address, entry->ifa_addr, sizeof address);
    visit(std::string_view{entry->ifa_name}, ntohl(address.sin_addr.s_addr));
  }
  ::freeifaddrs(list);
}

/// Third word of SSH_CONNECTION: the address at which sshd was reached.
std::uint32_t ssh_connection_address() {
  std::string address = ssh_connection_words()[2];
  if (address.starts_with("::ffff:")) address.erase(0, 7);
  return parse_ipv4(address);
}

/// The address from which packets to `peer` would leave; 0 if there is no way or it is not IPv4. Sends
/// nothing.
std::uint32_t source_towards(const asio::ip::address& peer) {
  if (!peer.is_v4()) return 0;
  const UniqueFd probe{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  sockaddr_in far{}, own{};
  far.sin_family = AF_INET;
  far.sin_port = htons(9);
  far.sin_addr.s_addr = htonl(peer.to_v4().to_uint());
  socklen_t size = sizeof own;
  const bool ok = ::connect(probe.get(), reinterpret_cast<sockaddr*>(&far), sizeof far) == 0 &&
                  ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
  return ok ? ntohl(own.sin_addr.s_addr) : 0;
}

/// Of a session's own environment what belongs to its login; all else comes with each run.
void leave_to_run(proto::Environment& environment) {
  const std::vector<std::string> all = proto::forwardable(environment);
  const std::set<std::string> gone{all.begin(), all.end()};
  std::erase_if(environment, [&](const std::string& entry) { return gone.contains(entry); });
}

}  // namespace

void HostSetup::run(const wire::JobSpec& job, const Profile& profile, Done done) {
  done_ = std::move(done);
  last_ = profile.environment;
  const bool remote = profile.via != Via::local;
  // A local launcher is a child of the root's, directly or not: its environment is that of charmrun's caller.
  environment_ = proto::without_launcher_variables(own_environment());
  if (!remote && job.session && !job.spawn.environment.empty()) leave_to_run(environment_);
  if (remote || job.session)
    proto::overlay(environment_, proto::without_launcher_variables(job.spawn.environment));
  std::error_code not_made;
  if (job.spawn.make_directory && !profile.directory.empty())
    std::filesystem::create_directories(profile.directory, not_made);
  const UniqueFd folder{
      profile.directory.empty() ? -1 : ::open(profile.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!profile.directory.empty() && !folder) {
    return finish(Error{Errc::no_directory, Phase::spawn,
                        fmt::format("working directory {}: {}", profile.directory,
                                    not_made ? not_made.message() : strerror(errno)),
                        "++make-wdir makes it there, ++wdir or pathfix in the nodelist names another one"});
  }
  if (profile.setup.empty() && (!remote || rc_file().empty())) return finish(std::move(environment_));
  run_shell(profile, remote, job);
}

void HostSetup::run_shell(const Profile& profile, bool remote, const wire::JobSpec& job) {
  auto out = open_pipe(), err = open_pipe();
  if (!out || !err) {
    return finish(Error{Errc::spawn_failed, Phase::spawn,
                        fmt::format("cannot create a pipe: {}", strerror(errno)), "raise ulimit -n there"});
  }
  for (const Pipe* pipe : {&*out, &*err}) set_non_blocking(pipe->read_end.get());
  output_.assign(out->read_end.release());
  error_.assign(err->read_end.release());

  std::string script = "exec 3>&1 1>&2\n";
  if (remote && !rc_file().empty()) script += ". ~/.charmrunrc 3>&-\n";
  if (!profile.setup.empty())
    script += "{ :\n" + profile.setup + "\n} 3>&-\nct_status=$?; [ $ct_status -eq 0 ] || exit $ct_status\n";
  script += "exec env -0 >&3";
  SpawnRequest request;
  request.program = "bash";
  // Below sshd it would read ~/.bashrc again, as the login has done, over what was forwarded.
  request.arguments = {"bash", "--norc", "-c", script};
  request.environment = environment_;
  request.directory = profile.directory;
  request.output = out->write_end.get();
  request.error = err->write_end.get();
  auto pid = spawn(request);
  if (!pid) return finish(pid.error());
  shell_ = *pid;
  watch_.add(shell_, [this](ChildStatus status) { shell_ended(status); });
  read_output();
  read_error();
  timer_.expires_after(job.timeout);
  timer_.async_wait([this](error_code ec) {
    if (ec || !done_) return;
    cancel_shell();
    finish(Error{Errc::spawn_failed, Phase::spawn, "~/.charmrunrc or the setup command did not end in time",
                 "see ++timeout"});
  });
}

void HostSetup::read_output() {
  output_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (!ec && done_ && take_output()) read_output();
  });
}

/// Reads the pipe empty; false at its end.
bool HostSetup::take_output() {
  std::array<char, 16384> buffer;
  ssize_t got = 0;
  while ((got = ::read(output_.native_handle(), buffer.data(), buffer.size())) > 0) {
    if (text_.size() < kMaxEnvironment) text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

void HostSetup::read_error() {
  error_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (!ec && done_ && take_complaint()) read_error();
  });
}

bool HostSetup::take_complaint() {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(error_.native_handle(), buffer.data(), buffer.size());
  if (got > 0) complaint_.append(buffer.data(), static_cast<std::size_t>(got));
  if (complaint_.size() > kComplaint) complaint_.erase(0, complaint_.size() - kComplaint);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void HostSetup::shell_ended(ChildStatus status) {
  shell_ = 0;
  status_ = status;
  if (!done_) return;
  // To the last byte, not to the end: what the shell left running may hold the pipes.
  take_output();
  take_complaint();
  shell_result();
}

void HostSetup::shell_result() {
  if (status_.code == 0 && status_.signal == 0) {
    proto::Environment result = proto::without_launcher_variables(split_at_nul(text_));
    return finish(std::move(result));
  }
  while (!complaint_.empty() && complaint_.back() == '\n') complaint_.pop_back();
  const std::size_t newline = complaint_.rfind('\n');
  finish(Error{Errc::spawn_failed, Phase::spawn,
               fmt::format("~/.charmrunrc or the setup command failed with status {}{}{}",
                           status_.signal != 0 ? status_of_signal(status_.signal) : status_.code,
                           complaint_.empty() ? "" : ": ",
                           complaint_.substr(newline == std::string::npos ? 0 : newline + 1)),
               "run it there by hand"});
}

void HostSetup::cancel_shell() {
  if (shell_ == 0) return;
  watch_.signal_group(shell_, SIGKILL);
  watch_.forget(shell_);
  shell_ = 0;
}

void HostSetup::cancel() {
  done_ = nullptr;
  cancel_shell();
  timer_.cancel();
}

void HostSetup::finish(Result<std::vector<std::string>> result) {
  timer_.cancel();
  error_code ignored;
  output_.close(ignored);
  if (result) proto::overlay(*result, proto::without_launcher_variables(last_));
  if (done_) std::exchange(done_, nullptr)(std::move(result));
}

std::uint32_t interface_address() {
  std::uint32_t best = 0, second = 0;
  for_each_interface([&](std::string_view name, std::uint32_t address) {
    if (is_loopback(address)) return;
    const bool internal = name.starts_with("docker") || name.starts_with("virbr") ||
                          name.starts_with("br-") || name.starts_with("lxc");
    std::uint32_t& place = internal ? second : best;
    if (place == 0) place = address;
  });
  return best != 0 ? best : second;
}

std::uint32_t reachable_address(const wire::JobSpec& job, const Host& self) {
  if (job.private_network) return INADDR_LOOPBACK;
  const Via via = job.profiles[self.profile].via;
  std::uint32_t address = via == Via::ssh ? 0 : parse_ipv4(self.address);
  if (address == 0 && via != Via::local) address = ssh_connection_address();
  if (address != 0 && !is_loopback(address)) return address;
  const std::vector<std::uint32_t> addresses = own_addresses();
  return addresses.empty() ? INADDR_LOOPBACK : addresses.front();
}

std::vector<std::uint32_t> own_addresses() {
  std::vector<std::uint32_t> addresses, last;
  for_each_interface([&](std::string_view name, std::uint32_t address) {
    if (is_loopback(address)) return;
    const bool internal = name.starts_with("docker") || name.starts_with("virbr") ||
                          name.starts_with("br-") || name.starts_with("lxc");
    (internal ? last : addresses).push_back(address);
  });
  addresses.insert(addresses.end(), last.begin(), last.end());
  return addresses;
}

std::uint32_t address_towards(const std::vector<std::string>& hosts) {
  constexpr std::size_t kAsked = 16;
  constexpr Duration kPatience = 2s;
  asio::io_context io{1};
  Resolver resolver{io};  // names that time out must not hold up the others
  std::uint32_t own = 0;
  for (std::size_t i = 0; i < hosts.size() && i < kAsked; ++i) {
    resolver.resolve(hosts[i], kPatience, [&](const Result<Addresses>& found) {
      for (std::size_t k = 0; found.ok() && k < found->size() && own == 0; ++k)
        own = source_towards((*found)[k]);
      if (own != 0) io.stop();
    });
  }
  io.run();
  return own;
}

bool is_own_address(std::uint32_t ipv4) {
  bool own = is_loopback(ipv4);
  for_each_interface([&](std::string_view, std::uint32_t address) { own = own || address == ipv4; });
  return own;
}

}  // namespace charmtree::io
