// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/known_hosts_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tree/io/clock.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

enum class Lock : std::uint8_t { ours, busy };

Error failure(std::string what) {
  return Error(Errc::host_key_unknown, Phase::host_key, std::move(what));
}

Error cannot(std::string_view verb, const std::string& path, int error) {
  return failure(fmt::format("cannot {} {}: {}", verb, path, std::strerror(error)));
}

/// No blanks or control characters, which would make it more than a word of a line.
bool is_word(std::string_view text) {
  return !text.empty() &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' ' || c == 0x7F; });
}

Lock lock(const UniqueFd& file) {
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Lock::busy;
    if (errno != EINTR) break;  // a file system without locks: better unlocked than not at all
  }
  return Lock::ours;
}

/// Why a key must not be added beside those that are `known` for its name; empty: it may be.
std::string conflict(const KnownKeys& known, const HostKey& key) {
  for (const HostKey& other : known.keys) {
    if (other.type == kRevokedMark && other.blob == key.blob) return "it is revoked there";
    if (other.type == key.type) return "another key of its type is there";
  }
  return {};
}

/// The lines for those hosts that the file, of which `text` is all, does not hold yet; whose key it must not
/// hold beside another one is told in `refused`.
Result<std::string> missing_lines(const std::string& text, const std::vector<NewKnownHost>& hosts,
                                  std::vector<std::string>& refused) {
  KnownHosts present;
  present.add_text(text);
  std::string lines;
  for (const NewKnownHost& host : hosts) {
    const KnownKeys known = present.lookup(host.name);
    const bool is_there = std::find(known.keys.begin(), known.keys.end(), host.key) != known.keys.end();
    refused.push_back(is_there ? std::string{} : conflict(known, host.key));
    if (is_there || !refused.back().empty()) continue;
    const auto name = known_hosts_field(host.name, host.style);
    if (!name) return name.error();
    const std::string line = fmt::format("{} {} {}\n", *name, host.key.type, encode_base64(host.key.blob));
    present.add_text(line);
    lines += line;
  }
  if (!lines.empty() && !text.empty() && text.back() != '\n') lines.insert(0, 1, '\n');
  return lines;
}

Result<Lock> append(const std::string& path, const std::vector<NewKnownHost>& hosts,
                    std::vector<std::string>& refused) {
  const std::string directory = std::filesystem::path(path).parent_path();
  if (!directory.empty() && mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return cannot("create", directory, errno);
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return cannot("open", path, errno);
  if (lock(file) == Lock::busy) return Lock::busy;
  const auto text = read_file(file, path, kMaxKnownHostsBytes);
  if (!text) return failure(text.error().what);
  const auto lines = missing_lines(*text, hosts, refused);
  if (!lines) return lines.error();
  if (!lines->empty() &&
      ::write(file.get(), lines->data(), lines->size()) != static_cast<ssize_t>(lines->size()))
    return cannot("write", path, errno);
  return Lock::ours;
}

}  // namespace

void KnownHostsWriter::add(const std::string& file, NewKnownHost host, Done done) {
  if (!is_word(host.name) || !is_word(host.key.type) || host.key.type != key_type(host.key.blob))
    return done(failure("not a name or key that known_hosts files can hold"));
  pending_[file].push_back({std::move(host), std::move(done), now() + kPatience});
  arm(kCollect);
}

void KnownHostsWriter::arm(Duration after) {
  if (std::exchange(armed_, true)) return;
  timer_.expires_after(after);
  timer_.async_wait([this](error_code ec) {
    if (ec) return;
    armed_ = false;
    write();
    if (!pending_.empty()) arm(kTryAgain);
  });
}

void KnownHostsWriter::finish() {
  for (write(); !pending_.empty(); write()) {
    poll(nullptr, 0, static_cast<int>(kTryAgain / 1ms));
  }
}

/// One try for each file. Whoever is told may add more: those wait for the next try.
void KnownHostsWriter::write() {
  for (auto& [file, waiting] : std::exchange(pending_, {})) {
    std::vector<NewKnownHost> hosts;
    std::vector<std::string> refused;
    for (const Pending& each : waiting) hosts.push_back(each.host);
    const auto outcome = append(file, hosts, refused);
    const bool busy = outcome.ok() && *outcome == Lock::busy;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      Pending& each = waiting[i];
      if (busy && now() < each.give_up_at) {
        pending_[file].push_back(std::move(each));
      } else if (busy) {
        each.done(cannot("lock", file, ETIMEDOUT));
      } else if (!outcome) {
        each.done(outcome.error());
      } else {
        each.done(refused[i].empty() ? Result<void>{} : failure(refused[i]));
      }
    }
  }
}

}  // namespace charmtree::io
