// SPDX-License-Identifier: Apache-2.0
// hostile_launcher MODE [FILE]: the launcher of a host that has been taken over. It speaks the protocol of
// launchers, greets and answers as one does, and then lies as its mode says (kModes). What it got for its
// lies it writes into FILE, a line for each question.
//
// A wrapper that `++launcher` names runs it on one host, and charmrun on the others.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tree/node/services.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/greeting.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/ssh_blob.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree {
namespace {

constexpr int kBeatMs = 50;       // between two signs of life
constexpr unsigned kSilent = 20;  // s, while it takes no answer

/// What a launcher knows and does before and after it lies.
class Launcher {
public:
  Launcher() {
    write(wire::make_greeting());
    const auto welcome = await<wire::Welcome>();
    auto decoded = wire::decode_job(*welcome.job);
    if (!decoded) std::exit(3);
    job = std::move(*decoded);
    self = welcome.self;
    say(wire::Hello{now(), static_cast<std::uint32_t>(::getpid())});
  }

  void say(const wire::Message& message) {
    const auto frames = wire::encode_frames(message);
    if (!frames) std::exit(4);
    write(*frames);
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (written < 0 && errno == EAGAIN) {
        take_some();
        continue;
      }
      if (written <= 0) std::exit(0);  // nobody listens any more
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// The next message of this kind; those before it are looked at no further than every launcher must.
  template <class M>
  M await() {
    for (;;) {
      wire::Message message = hear();
      if (auto* wanted = get_if<M>(&message)) return std::move(*wanted);
    }
  }

  /// The next message. The end of the link ends us.
  wire::Message hear() {
    for (;;) {
      auto next = reader_.next();
      if (!next) std::exit(5);
      if (next->has_value()) {
        note(**next);
        return std::move(**next);
      }
      read();
    }
  }

  /// From now on takes its answers slowly, and only while it waits to write.
  void take_slowly() const { ::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK); }
  /// From now on takes no answer; it is killed soon.
  static void take_nothing() { ::alarm(kSilent); }

  /// All hosts that it is to start.
  const std::vector<Host>& given() {
    while (given_.empty()) hear();
    return given_;
  }

  /// Its host, and maybe others, are up: their processes run.
  void up(std::vector<std::uint32_t> others = {}) {
    wire::Facts facts;
    facts.hosts_up = std::move(others);
    facts.hosts_up.push_back(self.index);
    say(facts);
  }

  /// So many plain processes, from its first one on, have exited with 0.
  void exited(std::uint32_t processes) {
    wire::Facts facts;
    facts.exited_ok = processes;
    facts.first_ok = self.first_process;
    say(facts);
  }

  /// Its processes have registered as programs of the client library do.
  void registered() {
    wire::Facts facts;
    const std::vector<wire::Tuple> tuples(self.processes, wire::Tuple{0, "x"});
    facts.blocks.push_back({self.index, self.first_process, 0, tuples});
    facts.registered = self.processes;
    say(facts);
  }

  /// The hosts that it was given go back to who gave them.
  void hand_back() {
    wire::HandBack back;
    for (const Host& host : given())
      back.hosts.push_back({host.index, Error{Errc::not_authorised, Phase::authenticate, "no key"}});
    say(back);
  }

  /// Waits for the end and confirms it; its parent closes the link then.
  [[noreturn]] void end() {
    if (!ended) await<wire::End>();
    say(wire::Done{});
    for (;;) hear();
  }

  wire::JobSpec job;
  Host self;
  bool ended = false;  // the end has been announced
  std::uint64_t fences_over = 0;

private:
  static Instant now() {
    return Instant{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
  }

  void note(const wire::Message& message) {
    ended = ended || holds_alternative<wire::End>(message);
    if (holds_alternative<kvs::FenceDown>(message)) ++fences_over;
    const auto* more = get_if<wire::Assign>(&message);
    if (more != nullptr) given_.insert(given_.end(), more->hosts.begin(), more->hosts.end());
    // The one that is started to clean up behind us does so.
    if (holds_alternative<wire::Sweep>(message)) say(wire::Swept{0});
  }

  /// Takes 64 KiB in a while: 12 MB/s at most.
  void take_some() {
    constexpr int kPauseMs = 5;
    ::poll(nullptr, 0, kPauseMs);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 0) > 0) take();
    for (;;) {
      auto next = reader_.next();
      if (!next) std::exit(5);
      if (!next->has_value()) return;
      note(**next);
    }
  }

  /// What has come; says that it lives while nothing comes.
  void read() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (::poll(&input, 1, kBeatMs) == 0) {
      if (!job.id.empty()) say(wire::BeatUp{});
    }
    take();
  }
  void take() {
    std::array<char, 64 << 10> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0) std::exit(0);
    if (!reader_.append({bytes.data(), static_cast<std::size_t>(got)})) std::exit(6);
  }

  wire::LinkReader reader_{wire::LinkReader::From::parent, node::kMessageTypes};
  std::vector<Host> given_;
};

void write_down(const std::string& file, const std::string& line) {
  std::ofstream{file, std::ios::app} << line << '\n';
}

/// Keys of its own making for the hosts that it is to start, two for each, and one for its own.
void plant_keys(Launcher& me, const std::string&) {
  for (const char filling : {'1', '2'}) {
    HostKey key{"ssh-ed25519", {}};
    wire::append_string(key.blob, key.type);
    wire::append_string(key.blob, std::string(32, filling));
    for (const Host& host : me.given()) me.say(wire::NewHostKey{host.index, key});
  }
  me.hand_back();
  me.up();
  me.exited(me.self.processes);
}

/// How many of these logins to a host were signed.
int signatures(Launcher& me, const Host& host, int logins) {
  const Profile& profile = me.job.profiles.at(host.profile);
  int count = 0;
  for (int i = 0; i < logins; ++i) {
    const std::string session(32, static_cast<char>('a' + i));
    const std::string& key = profile.forwarded_keys.at(0);
    const wire::UserauthRequest login{session, profile.user, wire::key_type(key), key};
    me.say(wire::SignRequest{me.self.index, 1, host.index, wire::encode(login)});
    count += me.await<wire::SignReply>().signature.empty() ? 0 : 1;
  }
  return count;
}

/// Has logins to a host signed: one before it is up, and more when it is, and when the end has begun.
void sign_late(Launcher& me, const std::string& file) {
  const Host host = me.given().front();
  write_down(file, "down " + std::to_string(signatures(me, host, 1)));
  me.up({host.index});
  write_down(file, "up " + std::to_string(signatures(me, host, 3)));
  me.exited(me.self.processes + host.processes);
  me.await<wire::End>();
  write_down(file, "ending " + std::to_string(signatures(me, host, 3)));
}

/// Answers requests to its first process, and before that whatever somebody else may have been asked shortly
/// before or after: once as often as a broken program may do by mistake, and for each `guess` far more often.
void answer_for_others(Launcher& me, const std::string&) {
  constexpr std::uint32_t kFew = 40, kMany = 200;
  const auto answer = [&](std::uint32_t token, const std::string& text) {
    me.say(
        wire::CcsAnswer{me.self.first_process, token, true, static_cast<std::uint32_t>(text.size()), text});
  };
  me.up();
  me.registered();
  for (std::uint32_t few = kFew; !me.ended;) {
    const wire::Message message = me.hear();
    const auto* request = get_if<wire::CcsForward>(&message);
    const auto asked = wire::parse_ccs_delivery(request != nullptr ? request->bytes : std::string{});
    if (!asked) continue;
    const std::uint32_t guesses = asked->handler == "guess" ? kMany : std::exchange(few, 0);
    for (std::uint32_t near = 1; near <= guesses; ++near) {
      answer(asked->token - near, "lie");
      answer(asked->token + near, "lie");
    }
    answer(asked->token, "mine");
  }
}

/// A line of a process of another host, or of none.
void print_for_others(Launcher& me, const std::string&) {
  me.up();
  me.say(wire::Output{me.self.first_process + me.self.processes + 6, 1, false, "forged\n"});
}

/// Outputs as large as can be, and no credit for them.
void print_too_much(Launcher& me, const std::string&) {
  me.up();
  for (int i = 0; i < 31; ++i)
    me.say(wire::Output{me.self.first_process, 1, false, std::string(1U << 20, 'x')});
}

/// Lines that clear the screen and look as if charmrun said them, in every text that people read.
void forge_lines(Launcher& me, const std::string&) {
  const std::string forged =
      "x\x1b[2J\xc2\x9b"
      "2J\r\ncharmrun: error: forged";
  me.up();
  me.say(wire::Note{me.self.index, forged, true});
  wire::Facts facts;
  wire::ProcessExit exit;
  exit.process = me.self.first_process;
  exit.code = 3;
  exit.text = exit.last_words = forged;
  facts.exits = {exit};
  me.say(facts);
}

/// The message again and again, 256 MiB of it.
void flood(Launcher& me, const wire::Message& message) {
  constexpr std::size_t kFlood = 256U << 20;
  const std::string frame = wire::encode_frames(message).value();
  for (std::size_t sent = 0; sent < kFlood; sent += frame.size()) me.write(frame);
}

/// More lines for people than anybody reads; its processes end well.
void flood_notes(Launcher& me, const std::string&) {
  me.up();
  flood(me, wire::Note{me.self.index, std::string(4000, 'n'), true});
  me.exited(me.self.processes);
}

/// Hosts without end that could not be started, with a long reason for each: again and again its own.
void flood_failures(Launcher& me, const std::string&) {
  wire::Facts facts;
  for (int i = 0; i < 200; ++i)
    facts.hosts_failed.push_back(
        {me.self.index, Error{Errc::internal, Phase::spawn, std::string(4000, 'f')}});
  flood(me, facts);
}

/// A frame that is announced to be as large as any may be, of elements that take a byte each.
void flood_counts(Launcher& me, const std::string&) {
  me.up();
  constexpr std::size_t kSize = 30U << 20;
  me.write(wire::make_frame_header(wire::Facts::kNumber, kSize));
  me.write(std::string(kSize, '\x01'));
}

/// All of a file again and again, of which it takes nothing.
void hoard_pieces(Launcher& me, const std::string&) {
  constexpr int kTimes = 20;
  const std::uint64_t size = me.job.spawn.staged.files.at(0).size;
  for (int i = 0; i < kTimes; ++i) {
    for (std::uint64_t at = 0; at + staging::kWindow <= size; at += staging::kWindow / 2)
      me.say(staging::PieceWanted{0, at, at + staging::kWindow});
  }
  me.up();
  me.exited(me.self.processes);
}

// ---- requests whose answers it does not take, or takes slowly

enum class Takes : std::uint8_t { nothing, slowly };
constexpr std::size_t kRequested = 24U << 20;  // bytes of answers, if it takes them slowly

void take(Launcher& me, Takes how) {
  me.up();
  how == Takes::slowly ? me.take_slowly() : Launcher::take_nothing();
}

/// Bytes that nothing packs.
std::string noise(std::size_t size, std::uint32_t seed) {
  std::string bytes(size, '\0');
  std::uint32_t state = seed * 2654435761U + 1;
  for (char& byte : bytes) {
    state ^= state << 13U;
    state ^= state >> 17U;
    state ^= state << 5U;
    byte = static_cast<char>(state);
  }
  return bytes;
}

/// Says `request(i)` until its answers, each of that size, come to enough.
template <class Request>
void request(Launcher& me, Takes how, std::size_t answer, Request&& make) {
  const std::size_t most = how == Takes::slowly ? kRequested : 40 * kRequested;
  std::uint32_t i = 0;
  for (std::size_t answers = 0; answers < most; answers += answer) me.say(make(i++));
  me.exited(me.self.processes);
}

/// Replies to itself, which nobody has asked for.
void reply_to_itself(Launcher& me, Takes how) {
  take(me, how);
  wire::InquiryReply reply{me.self.first_process, me.self.first_process, {1, 7}, {}, noise(1'000'000, 3)};
  request(me, how, reply.bytes.size(), [&](std::uint32_t) { return reply; });
}

/// Short look-ups of a name with a long value.
void look_up(Launcher& me, Takes how) {
  take(me, how);
  using Deed = wire::NameInquiry::Deed;
  const std::string value = noise(16'000, 5);
  me.say(wire::NameInquiry{me.self.first_process, {1, 1}, Deed::publish, "n", value});
  request(me, how, value.size(), [&](std::uint32_t i) {
    return wire::NameInquiry{me.self.first_process, {1, i + 2}, Deed::look_up, "n", {}};
  });
}

/// As many long names as it can publish.
void publish_names(Launcher& me, Takes how) {
  take(me, how);
  request(me, how, 17'000, [&](std::uint32_t i) {
    const std::string name = std::to_string(i) + std::string(900, 'n');
    const auto deed = wire::NameInquiry::Deed::publish;
    return wire::NameInquiry{me.self.first_process, {1, i}, deed, name, noise(16'000, i)};
  });
}

/// Fences of one process, one after the other.
kvs::FenceUp own_fence(const Launcher& me) {
  kvs::FenceUp fence;
  fence.processes = 1;
  fence.fence = {1, {{me.self.first_process, me.self.first_process}}, 1, {}};
  return fence;
}
void fence_alone(Launcher& me, Takes how) {
  take(me, how);
  kvs::FenceUp fence = own_fence(me);
  fence.given = noise(17'000, 9);
  request(me, how, fence.given.size(), [&](std::uint32_t i) {
    fence.fence.number = i + 1;
    return fence;
  });
}
/// The same with the process `other`, which may be its own.
kvs::FenceUp fence_with(const Launcher& me, const std::string& other) {
  kvs::FenceUp fence = own_fence(me);
  const auto own = me.self.first_process, its = static_cast<std::uint32_t>(std::stoul(other));
  if (its != own) fence.fence.processes.push_back({its, its});
  wire::fold(fence.fence.processes);
  return fence;
}
/// Takes what comes, and enters the next fence as soon as one is over, until the job ends.
void fence_on(Launcher& me, const std::string& other) {
  me.up();
  kvs::FenceUp fence = fence_with(me, other);
  fence.given = noise(17'000, 9);
  for (std::uint64_t begun = 0; !me.ended;) {
    for (; begun < me.fences_over + 2; ++begun) {
      me.say(fence);
      ++fence.fence.number;
    }
    me.hear();
  }
}
/// Takes nothing, and enters these fences blindly; `other` none: it shows signs of life alone.
void take_none(Launcher& me, const std::string& other) {
  constexpr int kPaceMs = 2;
  me.up();
  Launcher::take_nothing();
  kvs::FenceUp fence = fence_with(me, other.empty() ? "0" : other);
  for (;;) {
    if (other.empty()) {
      me.say(wire::BeatUp{});
      ::poll(nullptr, 0, kBeatMs);
    } else {
      me.say(fence);
      ++fence.fence.number;
      ::poll(nullptr, 0, kPaceMs);
    }
  }
}
/// ... each of another name.
void fence_names(Launcher& me, Takes how) {
  take(me, how);
  kvs::FenceUp fence = own_fence(me);
  request(me, how, 1950, [&](std::uint32_t i) {
    fence.fence.name = std::to_string(i) + std::string(1900, static_cast<char>('a' + i % 26));
    return fence;
  });
}

/// Requests a program on all hosts for its first process: when its own host is ready, and when its processes
/// run. Each reply is a line of the file, and so is each start of the program.
void start_programs(Launcher& me, const std::string& file) {
  constexpr std::uint32_t kEarly = 1, kRunning = 2;
  const auto request = [&](std::uint32_t number) {
    wire::ProgramWanted wanted;
    wanted.program.arguments = {"/bin/sh", "-c", "echo started on $(hostname) >> " + file};
    wanted.processes = me.job.hosts;
    me.say(wire::WorldWanted{me.self.first_process, {1, number}, {wanted}, {}});
  };
  std::uint32_t replies = 0;
  me.up();
  request(kEarly);
  while (!me.ended) {
    const wire::Message message = me.hear();
    if (holds_alternative<wire::Numbers>(message)) {
      me.up();
      request(kRunning);
    } else if (const auto* begun = get_if<wire::WorldBegun>(&message)) {
      for (const wire::Share& share : begun->shares) {
        if (share.host != me.self.index) continue;
        wire::Facts facts;
        facts.exited_ok = share.processes;
        facts.first_ok = share.first_process;
        me.say(facts);
      }
    } else if (const auto* reply = get_if<wire::Answered>(&message)) {
      const std::string what = reply->failure.empty() ? "number " + reply->bytes : reply->failure;
      write_down(file, (reply->id.number == kEarly ? "early: " : "running: ") + what);
      if (++replies == kRunning) me.exited(me.self.processes);
    }
  }
}

template <void (*kRequest)(Launcher&, Takes), Takes kHow>
void with(Launcher& me, const std::string&) {
  kRequest(me, kHow);
}

const std::map<std::string, std::function<void(Launcher&, const std::string&)>> kModes = {
    {"replies-unread", with<reply_to_itself, Takes::nothing>},
    {"replies-slow", with<reply_to_itself, Takes::slowly>},
    {"look-ups-unread", with<look_up, Takes::nothing>},
    {"look-ups-slow", with<look_up, Takes::slowly>},
    {"names-unread", with<publish_names, Takes::nothing>},
    {"names-slow", with<publish_names, Takes::slowly>},
    {"fences-unread", with<fence_alone, Takes::nothing>},
    {"fences-slow", with<fence_alone, Takes::slowly>},
    {"fence-names-unread", with<fence_names, Takes::nothing>},
    {"fence-names-slow", with<fence_names, Takes::slowly>},
    {"start-programs", start_programs},
    {"fence-on", fence_on},
    {"take-none", take_none},
    {"plant-keys", plant_keys},
    {"sign-late", sign_late},
    {"answer-for-others", answer_for_others},
    {"print-for-others", print_for_others},
    {"print-too-much", print_too_much},
    {"forge-lines", forge_lines},
    {"flood-notes", flood_notes},
    {"flood-failures", flood_failures},
    {"flood-counts", flood_counts},
    {"hoard-pieces", hoard_pieces},
};

}  // namespace
}  // namespace charmtree

int main(int argc, char** argv) {
  const auto mode = charmtree::kModes.find(argc > 1 ? argv[1] : "");
  if (mode == charmtree::kModes.end()) {
    std::fputs("usage: hostile_launcher MODE [FILE or PROCESS]\n", stderr);
    return 2;
  }
  charmtree::Launcher me;
  mode->second(me, argc > 2 ? argv[2] : "");
  me.end();
}
