// SPDX-License-Identifier: Apache-2.0
// Outputs are collected as they come: bytes by client, what the tree hears in order. Each expectation takes
// its part away; before anything else happens nothing may be left.
#include "tests/unit/transcript.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/unit/charm_capture.hpp"
#include "tree/clients/charm_server.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::test {

using namespace proto;

namespace {

using Kind = TranscriptLine::Kind;

// ---- the text

/// A quoted text from its opening quote on; `at` is put behind the closing one.
std::string unquote(const std::string& text, std::size_t& at) {
  std::string bytes;
  for (++at; at < text.size() && text[at] != '\''; ++at) {
    if (text[at] != '\\') {
      bytes.push_back(text[at]);
      continue;
    }
    const char c = text.at(++at);
    bytes.push_back(c == 'n' ? '\n' : c == '0' ? '\0' : c);
  }
  if (at++ >= text.size()) throw std::runtime_error("a quote is not closed");
  return bytes;
}

std::size_t number_at(const std::string& text, std::size_t& at) {
  const std::size_t end = text.find_first_not_of("0123456789", at);
  const std::size_t value = std::stoul(text.substr(at, end - at));
  at = std::min(end, text.size());
  return value;
}

std::string parse_bytes(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == '|') {
      ++at;
      continue;
    }
    std::string piece;
    if (text[at] == '\'') {
      piece = unquote(text, at);
    } else {
      const std::size_t end = std::min(text.find_first_not_of("0123456789abcdef", at), text.size());
      if (end == at || (end - at) % 2 != 0) throw std::runtime_error("not bytes: " + text.substr(at));
      piece = charm_capture::hex(text.substr(at, end - at));
      at = end;
    }
    const char sign = at < text.size() ? text[at] : ' ';
    if (sign == '/') piece.resize(number_at(text, ++at), '\0');
    const std::size_t times = sign == '*' ? number_at(text, ++at) : 1;
    for (std::size_t i = 0; i < times; ++i) bytes += piece;
  }
  return bytes;
}

/// How many words belong to the event itself; what follows are bytes.
std::size_t words_of(const std::string& event, const std::string& text) {
  static const std::map<std::string, std::size_t> kWords{{"registered", 3}, {"print", 3}, {"scan", 2},
                                                         {"aborted", 3},    {"lost", 2},  {"refused", 2},
                                                         {"note", 1},       {"pairs", 2}, {"scanned", 2}};
  if (event == "print" && text.find(" sync ") < text.find('\'')) return 4;
  const auto it = kWords.find(event);
  return it == kWords.end() ? 99 : it->second;
}

void parse_event(const std::string& text, TranscriptLine& line) {
  std::istringstream words{text};
  std::string word;
  words >> word;
  const std::size_t most = words_of(word, text);
  do line.words.push_back(word);
  while (line.words.size() < most && words >> word);
  std::string rest;
  std::getline(words, rest);
  line.bytes = parse_bytes(rest);
}

TranscriptLine parse_line(const std::string& text) {
  TranscriptLine line{Kind::start, {}, {}, {}, Duration{0}, 0};
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string head = text.substr(0, blank), rest = text.substr(std::min(blank + 1, text.size()));
  if (head == "start") return line;
  if (head == "=>" || head == "<=") {
    line.kind = head == "=>" ? Kind::tree_hears : Kind::tree_says;
    parse_event(rest, line);
  } else if (head == "+") {
    line.kind = Kind::time_passes;
    line.pause = std::chrono::seconds{std::stol(rest)};
  } else if (head.starts_with("L>") || head.starts_with("L-")) {
    line.kind = head[1] == '>' ? Kind::hears : Kind::is_closed;
    line.name = head.substr(2);
    line.bytes = parse_bytes(rest);
  } else if (head.ends_with('>') || head.ends_with('!')) {
    line.kind = head.back() == '>' ? Kind::says : Kind::hangs_up;
    line.name = head.substr(0, head.size() - 1);
    line.bytes = parse_bytes(rest);
  } else {
    throw std::runtime_error("not a line of a transcript");
  }
  return line;
}

/// `hosts=2@7f000001,1@0a000001`: processes and address of each.
std::vector<wire::TupleBlock> parse_hosts(const std::string& text) {
  std::vector<wire::TupleBlock> hosts;
  std::istringstream list{text};
  std::uint32_t first = 0;
  for (std::string host; std::getline(list, host, ',');) {
    const std::uint32_t count = static_cast<std::uint32_t>(std::stoul(host));
    const auto address = static_cast<std::uint32_t>(std::stoul(host.substr(host.find('@') + 1), nullptr, 16));
    wire::TupleBlock block{static_cast<std::uint32_t>(hosts.size()), first, address, {}};
    for (std::uint32_t i = 0; i < count; ++i)
      block.tuples.push_back({static_cast<std::uint16_t>(1000 + first + i), {}});
    hosts.push_back(std::move(block));
    first += count;
  }
  return hosts;
}

void parse_job(const std::string& text, Transcript& transcript) {
  std::istringstream words{text.substr(4)};
  for (std::string word; words >> word;) {
    const std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    if (key == "hosts") {
      transcript.hosts = parse_hosts(value);
      continue;
    }
    const auto number = static_cast<std::uint32_t>(std::stoul(value));
    (key == "first"   ? transcript.local.first
     : key == "count" ? transcript.local.count
     : key == "total" ? transcript.local.total
                      : transcript.pes) = number;
  }
}

// ---- the replay

/// A text for people: printable and not long.
std::string shown(std::string_view bytes) {
  constexpr std::size_t kMost = 100;
  std::string text;
  for (const char c : bytes.substr(0, kMost)) {
    const bool plain = c >= ' ' && c <= '~';
    text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("'{}'{} ({} bytes)", text, bytes.size() > kMost ? "..." : "", bytes.size());
}

class Player {
public:
  Player(const Transcript& transcript, Replay how)
      : transcript_(transcript), how_(how), hosts_(transcript.hosts), server_(transcript.local) {}

  std::string play() {
    const auto& lines = transcript_.lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const TranscriptLine& line = lines[i];
      const bool expects =
          line.kind == Kind::hears || line.kind == Kind::is_closed || line.kind == Kind::tree_hears;
      if (!expects && !settled(line.number)) return fault_;
      if (!expects && how_ == Replay::disturbed) disturb();
      if (line.kind == Kind::says) {
        std::string bytes = line.bytes;
        while (how_ == Replay::merged && i + 1 < lines.size() && lines[i + 1].kind == Kind::says &&
               lines[i + 1].name == line.name)
          bytes += lines[++i].bytes;
        say(line.name, bytes);
      } else {
        take(line);
      }
      if (!fault_.empty()) return fault_;
    }
    settled(0);
    return fault_;
  }

private:
  void wrong(int number, const std::string& what) {
    if (fault_.empty()) fault_ = fmt::format("line {}: {}", number, what);
  }

  ClientId client(const std::string& name) {
    const auto [it, is_new] = clients_.try_emplace(name, next_);
    if (is_new) {
      ++next_;
      server_.opened(it->second, now_, outputs_);
      collect();
    }
    return it->second;
  }

  void say(const std::string& name, const std::string& bytes) {
    const ClientId id = client(name);
    const std::size_t piece = how_ == Replay::dribbled ? 1 : bytes.size();
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      if (closed_.contains(id)) return;
      server_.received(id, std::string_view{bytes}.substr(at, piece), now_, outputs_);
      collect();
    }
  }

  void take(const TranscriptLine& line) {
    switch (line.kind) {
      case Kind::start:
        return start();
      case Kind::hears: {
        std::string& got = heard_[client(line.name)];
        if (!got.starts_with(line.bytes))
          return wrong(line.number,
                       fmt::format("{} got {}, not {}", line.name, shown(got), shown(line.bytes)));
        got.erase(0, line.bytes.size());
        return;
      }
      case Kind::is_closed:
        if (!closing_.erase(client(line.name))) wrong(line.number, line.name + " was not closed");
        return;
      case Kind::tree_hears:
        return expect(line);
      case Kind::tree_says:
        tree_says(line);
        return collect();
      case Kind::hangs_up:
        server_.closed(client(line.name), now_, outputs_);
        closed_.insert(client(line.name));
        return collect();
      case Kind::time_passes:
        return pass(line.pause);
      case Kind::says:
        return;
    }
  }

  void start() {
    for (std::uint32_t i = 0; i < transcript_.local.count; ++i) {
      const std::uint32_t process = transcript_.local.first + i;
      say(fmt::format("C{}", process), charm_capture::header("00000028", "initnode") +
                                           charm_capture::hex(fmt::format("{:08x}{:048x}{:08x}{:08x}{:08x}",
                                                                          process, 0, 1000 + process, 0, 0)));
    }
    server_.table(table(), outputs_);
    collect();
    heard_.clear();
    told_.clear();
  }

  wire::Blob table() { return wire::encode(wire::NodeTable{0, transcript_.pes, hosts_}); }

  void tree_says(const TranscriptLine& line) {
    const std::string& order = line.words[0];
    const auto process =
        static_cast<std::uint32_t>(line.words.size() > 1 ? std::atoi(line.words[1].c_str()) : 0);
    if (order == "table") server_.table(table(), outputs_);
    if (order == "fork")
      server_.fork(process, static_cast<std::uint32_t>(std::stoul(line.words.at(2))), outputs_);
    if (order == "release")
      server_.release(line.words.at(1) == "all" ? BarrierKind::all : BarrierKind::root, outputs_);
    if (order == "printed") server_.printed(process, outputs_);
    if (order == "scanned") server_.scanned(process, line.bytes, outputs_);
    if (order == "pairs") server_.queue_pairs(process, line.bytes, outputs_);
    if (order == "finish") server_.finish(outputs_);
  }

  void pass(Duration pause) {
    const Instant end = now_ + pause;
    while (server_.next_deadline() <= end) {
      now_ = std::max(now_, server_.next_deadline());
      server_.tick(now_, outputs_);
      collect();
    }
    now_ = end;
  }

  /// Nobody of these is a process; what they get does not count, but nobody else may notice them.
  void disturb() {
    const std::vector<std::string> words{
        "",
        "GET / HTTP/1.1\r\n\r\n",
        std::string(200, '\xFF'),
        charm_capture::header("ffffffff", "initnode"),
        charm_capture::header("00000028", "initnode"),
        charm_capture::header("00000028", "initnode") + std::string(40, '\x7F'),
        charm_capture::header("00000018", "initnode") + std::string(24, '\x7F'),
        charm_capture::header("00000000", "ending"),
        charm_capture::header("00000000", "abort") + charm_capture::header("00000000", "die")};
    for (const std::string& each : words) {
      const ClientId id = next_++;
      nobodies_.insert(id);
      server_.opened(id, now_, outputs_);
      if (!each.empty()) server_.received(id, each, now_, outputs_);
      collect();
      if (id % 3 == 0 && closed_.insert(id).second) server_.closed(id, now_, outputs_);
      collect();
    }
  }

  void expect(const TranscriptLine& line) {
    if (how_ == Replay::disturbed && line.words[0] == "note") return;  // each kind is told once
    const std::string wanted = fmt::format("{}", fmt::join(line.words, " "));
    if (told_.empty()) return wrong(line.number, "the tree heard nothing, not " + wanted);
    const auto [words, bytes] = told_.front();
    told_.pop_front();
    const bool any = wanted == "note" && line.bytes.empty();
    if (words != wanted || (!any && bytes != line.bytes))
      wrong(line.number,
            fmt::format("the tree heard {} {}, not {} {}", words, shown(bytes), wanted, shown(line.bytes)));
  }

  /// Nothing is left that was not expected.
  bool settled(int number) {
    if (!told_.empty())
      wrong(number,
            fmt::format("before: the tree heard {} {}", told_.front().first, shown(told_.front().second)));
    for (const auto& [name, id] : clients_) {
      if (!heard_[id].empty()) wrong(number, fmt::format("before: {} got {}", name, shown(heard_[id])));
      if (closing_.contains(id)) wrong(number, "before: closed " + name);
    }
    return fault_.empty();
  }

  void collect() {
    for (const ClientOutput& output : std::exchange(outputs_, {})) {
      if (const auto* to = get_if<ToClient>(&output)) {
        if (!nobodies_.contains(to->client)) heard_[to->client] += to->bytes + (to->tail ? *to->tail : "");
      } else if (const auto* close = get_if<CloseClient>(&output)) {
        closed_.insert(close->client);
        if (!nobodies_.contains(close->client)) closing_.insert(close->client);
      } else {
        tell(output);
      }
    }
  }

  void tell(const ClientOutput& output) {
    const auto add = [&](const std::string& words, const std::string& bytes = {}) {
      told_.emplace_back(words, bytes);
    };
    if (const auto* e = get_if<Registered>(&output)) {
      for (wire::TupleBlock& host : hosts_) {
        if (e->process >= host.first_process && e->process - host.first_process < host.tuples.size())
          host.tuples[e->process - host.first_process] = e->tuple;
      }
      add(fmt::format("registered {} {:x}", e->process, e->tuple.port));
    } else if (const auto* e1 = get_if<Refused>(&output)) {
      add(fmt::format("refused {}", e1->process), e1->why);
    } else if (const auto* e2 = get_if<BarrierEntered>(&output)) {
      add(fmt::format("barrier {} {}", e2->kind == BarrierKind::all ? "all" : "root", e2->process));
    } else if (const auto* e3 = get_if<Printed>(&output)) {
      add(fmt::format("print {} {}{}", e3->process, e3->stream == Stream::out ? "out" : "err",
                      e3->wants_receipt ? " sync" : ""),
          e3->text);
    } else if (const auto* e4 = get_if<ScanRequested>(&output)) {
      add(fmt::format("scan {}", e4->process), e4->format);
    } else if (const auto* e5 = get_if<Ended>(&output)) {
      add(fmt::format("ended {} {}", e5->process, e5->code));
    } else if (const auto* e6 = get_if<Aborted>(&output)) {
      add(fmt::format("aborted {} {}", e6->process, e6->code), e6->text);
    } else if (const auto* e7 = get_if<ClientLost>(&output)) {
      add(fmt::format("lost {}", e7->process), e7->why);
    } else if (const auto* e8 = get_if<TableDelivered>(&output)) {
      add(fmt::format("delivered {}", e8->process));
    } else if (const auto* e9 = get_if<QueuePairsGiven>(&output)) {
      add(fmt::format("pairs {}", e9->process), e9->pairs);
    } else if (const auto* note = get_if<ClientNote>(&output)) {
      if (how_ != Replay::disturbed) add("note", note->text);
    }
  }

  const Transcript& transcript_;
  Replay how_;
  std::vector<wire::TupleBlock> hosts_;
  CharmServer server_;
  Instant now_{Duration{0}};
  ClientOutputs outputs_;
  std::map<std::string, ClientId> clients_;
  ClientId next_ = 1;
  std::set<ClientId> closed_, closing_, nobodies_;  // closing_: not yet expected
  std::map<ClientId, std::string> heard_;
  std::deque<std::pair<std::string, std::string>> told_;
  std::string fault_;
};

}  // namespace

Transcript parse_transcript(const std::string& text) {
  Transcript transcript;
  std::istringstream lines{text};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    try {
      if (line.starts_with("job ")) {
        parse_job(line, transcript);
        continue;
      }
      transcript.lines.push_back(parse_line(line));
      transcript.lines.back().number = number;
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("line {}: {}", number, error.what()));
    }
  }
  return transcript;
}

std::string replay(const Transcript& transcript, Replay how) {
  return Player{transcript, how}.play();
}

}  // namespace charmtree::test
