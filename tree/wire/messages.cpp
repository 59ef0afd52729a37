// SPDX-License-Identifier: Apache-2.0
// One `put` and one `get` overload per struct, in the order of its members; the frame type is the variant's
// index. Adding a message at the end keeps older frames readable; anything else needs a new kProtocol
// (greeting.hpp).
#include "tree/wire/messages.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tree/wire/frame.hpp"
#include "tree/wire/message_limits.hpp"

namespace charmtree::wire {

namespace {

// ---- scalars and containers

void put(Writer& out, std::uint8_t v) {
  out.varint(v);
}
void put(Writer& out, std::uint16_t v) {
  out.varint(v);
}
void put(Writer& out, std::uint32_t v) {
  out.varint(v);
}
void put(Writer& out, std::uint64_t v) {
  out.varint(v);
}
void put(Writer& out, std::int32_t v) {
  out.svarint(v);
}
void put(Writer& out, std::int64_t v) {
  out.svarint(v);
}
void put(Writer& out, bool v) {
  out.varint(v ? 1 : 0);
}
void put(Writer& out, const std::string& v) {
  out.string(v);
}
void put(Writer& out, Duration v) {
  out.svarint(v.count());
}
void put(Writer& out, Instant v) {
  out.varint(v == kNever ? 0 : 1);
  if (v != kNever) out.svarint(v.time_since_epoch().count());
}
void put(Writer& out, const Blob& v) {
  out.string(v ? *v : std::string{});
}
void put(Writer& out, const std::vector<TupleBlock>& v) {
  encode(out, v);
}
template <class E>
requires std::is_enum_v<E>
void put(Writer& out, E v) {
  out.varint(static_cast<std::uint64_t>(v));
}

void get(Reader& in, std::uint8_t& v) {
  v = static_cast<std::uint8_t>(in.bounded(UINT8_MAX));
}
void get(Reader& in, std::uint16_t& v) {
  v = static_cast<std::uint16_t>(in.bounded(UINT16_MAX));
}
void get(Reader& in, std::uint32_t& v) {
  v = in.u32();
}
void get(Reader& in, std::uint64_t& v) {
  v = in.varint();
}
void get(Reader& in, std::int64_t& v) {
  v = in.svarint();
}
void get(Reader& in, std::int32_t& v) {
  v = static_cast<std::int32_t>(in.sbounded(INT32_MIN, INT32_MAX));
}
void get(Reader& in, bool& v) {
  v = in.boolean();
}
void get(Reader& in, std::string& v) {
  v = in.string(kMaxLinkFrame);
}
Duration get_time(Reader& in) {
  constexpr std::int64_t kMost = kFarthest.time_since_epoch().count();
  return Duration{in.sbounded(-kMost, kMost)};
}
void get(Reader& in, Duration& v) {
  v = get_time(in);
}
void get(Reader& in, Instant& v) {
  v = in.boolean() ? Instant{get_time(in)} : kNever;
}
void get(Reader& in, Blob& v) {
  v = std::make_shared<const std::string>(in.string(kMaxLinkFrame));
}
void get(Reader& in, std::vector<TupleBlock>& v) {
  v = decode_blocks(in);
}
void get(Reader& in, Via& v) {
  v = static_cast<Via>(in.bounded(2));
}
void get(Reader& in, HostKeyPolicy& v) {
  v = static_cast<HostKeyPolicy>(in.bounded(2));
}
void get(Reader& in, OnHostFailure& v) {
  v = static_cast<OnHostFailure>(in.bounded(2));
}
void get(Reader& in, OnFailure& v) {
  v = static_cast<OnFailure>(in.bounded(2));
}
void get(Reader& in, CpuUnit& v) {
  v = static_cast<CpuUnit>(in.bounded(kCpuUnitCount - 1));
}
void get(Reader& in, Binding::By& v) {
  v = static_cast<Binding::By>(in.bounded(2));
}
void get(Reader& in, Silence::State& v) {
  v = static_cast<Silence::State>(in.bounded(2));
}
void get(Reader& in, EndMode& v) {
  v = static_cast<EndMode>(in.bounded(2));
}
void get(Reader& in, Tail& v) {
  v = static_cast<Tail>(in.bounded(3));
}
void get(Reader& in, ForkClients& v) {
  v = static_cast<ForkClients>(in.bounded(2));
}
void get(Reader& in, Errc& v) {
  v = static_cast<Errc>(in.bounded(kErrcCount - 1));
}
void get(Reader& in, Phase& v) {
  v = static_cast<Phase>(in.bounded(kPhaseCount - 1));
}

void get(Reader& in, ProcessSet::Range& range) {
  range.first = in.u32();
  range.last = in.u32();
  if (range.last < range.first) in.poison();
}

// A struct is described once, by its members in order; Writer and Reader both walk that description.
template <class S>
struct Members;

template <class S>
concept Described = requires {
  Members<std::remove_const_t<S>>::of(std::declval<S&>());
};

template <Described S>
void put(Writer& out, const S& value);
template <Described S>
void get(Reader& in, S& value);

template <class T>
void put(Writer& out, const std::vector<T>& v) {
  out.varint(v.size());
  for (const T& item : v) put(out, item);
}
/// So many bytes a T takes at least.
template <class T>
struct Least : std::integral_constant<std::size_t, 1> {};
template <class... Each>
struct Least<std::tuple<Each&...>> : std::integral_constant<std::size_t, (Least<Each>::value + ... + 0)> {};
template <Described S>
struct Least<S> : Least<decltype(Members<S>::of(std::declval<S&>()))> {};

/// No memory is taken before it is known that so much can follow, and may.
template <class T>
void get(Reader& in, std::vector<T>& v) {
  const std::size_t size = in.count();
  v.clear();
  if (size > in.left() / Least<T>::value || size > in.remit().most_elements()) return in.poison();
  v.reserve(size);
  for (std::size_t i = 0; i < size && in.ok(); ++i) get(in, v.emplace_back());
}
template <class T>
void put(Writer& out, const std::optional<T>& v) {
  put(out, v.has_value());
  if (v) put(out, *v);
}
template <class T>
void get(Reader& in, std::optional<T>& v) {
  if (in.boolean()) get(in, v.emplace());
}
template <class T, std::size_t N>
void put(Writer& out, const std::array<T, N>& v) {
  for (const T& item : v) put(out, item);
}
template <class T, std::size_t N>
void get(Reader& in, std::array<T, N>& v) {
  for (T& item : v) get(in, item);
}

#define CT_MEMBERS(Type, ...)                                         \
  template <>                                                         \
  struct Members<Type> {                                              \
    [[maybe_unused]] static constexpr std::string_view kName = #Type; \
    template <class S>                                                \
    static auto of([[maybe_unused]] S& s) {                           \
      return std::tie(__VA_ARGS__);                                   \
    }                                                                 \
  };

CT_MEMBERS(Error, s.code, s.phase, s.what, s.fix)
CT_MEMBERS(HostKey, s.type, s.blob)
CT_MEMBERS(SshAlgorithms, s.key_exchanges, s.host_keys, s.ciphers, s.macs, s.user_keys)
CT_MEMBERS(Profile, s.via, s.shell, s.user, s.port, s.identity_files, s.identities_only, s.agent,
           s.algorithms, s.forwarded_keys, s.host_keys, s.ssh_command_only, s.launcher, s.program,
           s.directory, s.setup, s.environment, s.extra_arguments)
CT_MEMBERS(Host, s.index, s.name, s.address, s.profile, s.machine, s.first_process, s.processes, s.known_keys,
           s.known_key_revoked)
CT_MEMBERS(Shape, s.branching, s.levels)
CT_MEMBERS(LaunchRules, s.shape, s.batch, s.max_logins, s.login_rate, s.on_failure, s.patience, s.wait,
           s.login_occupancy, s.login_latency)
CT_MEMBERS(Provision, s.process_unit, s.processes, s.thread_unit, s.same_everywhere, s.hints)
CT_MEMBERS(Topology, s.sockets, s.cores, s.pus)
CT_MEMBERS(HostTopology, s.first_host, s.hosts, s.topology)
CT_MEMBERS(Binding, s.by, s.unit, s.first, s.count, s.pus)
CT_MEMBERS(Share, s.host, s.first_process, s.processes)
CT_MEMBERS(WindowSize, s.rows, s.columns)
CT_MEMBERS(Terminal, s.size, s.typed_into)
CT_MEMBERS(Heartbeat, s.interval, s.gone_after, s.orphan_after)
CT_MEMBERS(SilenceRules, s.after, s.kills)
CT_MEMBERS(JobSpec, s.id, s.secret, s.arguments, s.environment, s.hosts, s.processes, s.pes_per_process,
           s.input_process, s.input_to_all, s.input_is_typed, s.magic, s.launch, s.timeout, s.grace,
           s.keep_address_randomisation, s.stamps, s.verbose, s.partial_line, s.raw_output, s.labelled,
           s.private_network, s.umask, s.runscript, s.profiles, s.checkup, s.restarts_processes, s.terminal,
           s.provision, s.bind, s.report_bindings, s.resizes, s.fork_clients, s.spool, s.watched,
           s.on_failure, s.restarts_in_place, s.restarts, s.heartbeat, s.silence, s.session, s.keep_alive,
           s.starts_together)
CT_MEMBERS(NodeTable, s.epoch, s.pes_per_process, s.blocks)
CT_MEMBERS(Welcome, s.job, s.self, s.level)
CT_MEMBERS(Assign, s.hosts, s.login_rate)
CT_MEMBERS(Numbers, s.shares, s.pes_per_process)
CT_MEMBERS(TableDown, s.table)
CT_MEMBERS(Release, s.kind)
CT_MEMBERS(Receipt, s.process)
CT_MEMBERS(ScanReply, s.process, s.input)
CT_MEMBERS(Input, s.bytes, s.end)
CT_MEMBERS(RecallInput, )
CT_MEMBERS(End, s.mode, s.signal, s.stay)
CT_MEMBERS(Relaunch, s.job)
CT_MEMBERS(ForwardSignal, s.signal)
CT_MEMBERS(Suspend, s.on)
CT_MEMBERS(Sweep, s.id, s.host)
CT_MEMBERS(SignReply, s.launcher, s.login, s.signature)
CT_MEMBERS(Restart, s.process, s.phase, s.restarts, s.input_ended, s.awaited)
CT_MEMBERS(Moved, s.shares)
CT_MEMBERS(Recover, s.crashed, s.joining, s.table)
CT_MEMBERS(Admit, s.process)
CT_MEMBERS(Lost, s.epoch, s.processes)
CT_MEMBERS(Renewed, s.epoch, s.blocks)
CT_MEMBERS(Readmit, s.process, s.barriers, s.table)
CT_MEMBERS(CcsForward, s.process, s.last, s.bytes)
CT_MEMBERS(CcsMerge, s.code)
CT_MEMBERS(CcsSpread, s.token, s.first, s.last, s.everybody, s.processes, s.bytes)
CT_MEMBERS(OutputTaken::Taken, s.process, s.number)
CT_MEMBERS(OutputTaken, s.processes)
CT_MEMBERS(Resend, s.by_new_root)
CT_MEMBERS(Adopt, s.id, s.host, s.socket)
CT_MEMBERS(Relayed, s.connection)
CT_MEMBERS(Claim, s.nonce, s.proof, s.level, s.epoch, s.lost, s.releases, s.suspended, s.by_new_root)
CT_MEMBERS(Waiting, s.host, s.nonce)
CT_MEMBERS(Claimed, s.proof, s.epoch, s.lost, s.releases, s.has_table)
CT_MEMBERS(Taken, s.proof)
CT_MEMBERS(Reached, s.host, s.processes)
CT_MEMBERS(Beat, )
CT_MEMBERS(Punctual, s.yes)
CT_MEMBERS(BeatUp, )
CT_MEMBERS(WasPunctual, )
CT_MEMBERS(Resize, s.size)
CT_MEMBERS(Regroup, )
CT_MEMBERS(Reshape, s.shares, s.arguments)
CT_MEMBERS(QueuePairs, s.first_source, s.sources, s.first_target, s.targets, s.pairs)
CT_MEMBERS(QueuePairsDown, s.block)
CT_MEMBERS(QueuePairsUp, s.block)
CT_MEMBERS(OutputCredit, s.bytes)
CT_MEMBERS(Hello, s.clock, s.pid)
CT_MEMBERS(HostFailure, s.host, s.error)
CT_MEMBERS(ProcessExit, s.process, s.code, s.signal, s.core, s.registered, s.ended, s.lost_connection,
           s.restartable, s.refused, s.text, s.last_words, s.hung, s.asked)
CT_MEMBERS(Code, s.process, s.code)
CT_MEMBERS(ProcessSet::Range, s.first, s.last)
CT_MEMBERS(StartedBy, s.host, s.by)
CT_MEMBERS(Facts, s.hosts_up, s.hosts_failed, s.blocks, s.epoch, s.barrier, s.crash_acks, s.registered,
           s.ended, s.code, s.exited_ok, s.first_ok, s.exits, s.topologies, s.random_layout, s.blind,
           s.who_ended, s.started_by)
CT_MEMBERS(Output, s.process, s.stream, s.wants_receipt, s.text, s.tail, s.read, s.number, s.is_oldest)
CT_MEMBERS(ScanUp, s.process, s.format)
CT_MEMBERS(AbortUp, s.process, s.code, s.text, s.last_words)
CT_MEMBERS(HandBack, s.hosts)
CT_MEMBERS(NewHostKey, s.host, s.key)
CT_MEMBERS(Note, s.host, s.text, s.for_everybody)
CT_MEMBERS(InputTaken, s.bytes)
CT_MEMBERS(InputReturned, s.bytes)
CT_MEMBERS(Stamps, s.host, s.parent, s.level, s.attempts, s.times)
CT_MEMBERS(LinkLost, s.host, s.error, s.processes, s.lives, s.hosts, s.unbounded)
CT_MEMBERS(Fenced, s.host)
CT_MEMBERS(Done, s.unconfirmed)
CT_MEMBERS(Swept, s.killed)
CT_MEMBERS(Idle, s.unconfirmed, s.unbounded)
CT_MEMBERS(Confirmed, s.hosts)
CT_MEMBERS(Ask, s.hosts, s.login_rate)
CT_MEMBERS(SignRequest, s.launcher, s.login, s.host, s.data)
CT_MEMBERS(Checkup, s.host, s.clock, s.wall_ms, s.address, s.machine, s.open_files, s.most_open_files,
           s.processes, s.processes_now, s.errors)
CT_MEMBERS(Rejoined, s.process, s.port, s.address, s.tuple)
CT_MEMBERS(CcsAnswer, s.process, s.token, s.answered, s.length, s.bytes, s.failure, s.merge)
CT_MEMBERS(Bindings, s.host, s.processes)
CT_MEMBERS(PesWanted, s.process, s.pes)
CT_MEMBERS(Left, s.process)
CT_MEMBERS(Silence, s.process, s.state, s.lasted)
#undef CT_MEMBERS

template <class S, class M>
void put_member(Writer& out, const M& member) {
  if constexpr (std::is_same_v<M, std::string> && kIsForPeople<S>)
    out.string(std::string_view{member}.substr(0, kMostText<S>));
  else
    put(out, member);
}
template <class S, class M>
void get_member(Reader& in, M& member) {
  if constexpr (std::is_same_v<M, std::string>)
    member = in.string(kMostText<S>);
  else
    get(in, member);
}

template <Described S>
void put(Writer& out, const S& value) {
  std::apply([&](const auto&... member) { (put_member<S>(out, member), ...); }, Members<S>::of(value));
}
template <Described S>
void get(Reader& in, S& value) {
  std::apply([&](auto&... member) { (get_member<S>(in, member), ...); }, Members<S>::of(value));
}
template <class T>
Result<T> decode_whole(std::string_view bytes, std::string_view what, const Remit& remit = {}) {
  Reader in{bytes, remit};
  T value;
  get(in, value);
  if (!in.finished()) return Error{Errc::bad_peer, Phase::run, fmt::format("malformed {}", what)};
  return value;
}

template <class T>
Blob encode_whole(const T& value) {
  Writer out;
  put(out, value);
  return std::make_shared<const std::string>(out.take());
}

template <std::size_t I = 0>
Result<Message> decode_as(std::uint8_t type, std::string_view payload, const Remit& remit) {
  if constexpr (I == std::variant_size_v<AnyMessage>) {
    return Error{Errc::bad_peer, Phase::run, fmt::format("unknown message type {}", type)};
  } else {
    if (type != I) return decode_as<I + 1>(type, payload, remit);
    auto value = decode_whole<std::variant_alternative_t<I, AnyMessage>>(
        payload, fmt::format("message of type {}", type), remit);
    if (!value) return value.error();
    return Message{std::move(*value)};
  }
}

bool is_too_large(const Message& message, std::size_t payload) {
  const auto* facts = std::get_if<Facts>(&message);
  return payload > most_payload(static_cast<std::uint8_t>(message.index()), {}) ||
         (facts != nullptr && tuple_bytes(facts->blocks) > kMaxTableData);
}

/// Its receiver takes it, but takes no more memory for a list than it has to.
bool is_long(const Message& message, std::size_t payload) {
  const bool is_list = std::holds_alternative<Facts>(message) || std::holds_alternative<HandBack>(message);
  return is_list && payload > kMaxList;
}

/// Moves the second half of a list to an empty one; false: it is too short.
template <class T>
bool divide(std::vector<T>& list, std::vector<T>& rest) {
  const auto middle = list.begin() + static_cast<std::ptrdiff_t>((list.size() + 1) / 2);
  rest.assign(std::make_move_iterator(middle), std::make_move_iterator(list.end()));
  list.erase(middle, list.end());
  return !rest.empty();
}

/// Takes half of the lists out of a message, the later part; nothing: there is none.
std::optional<Message> take_half(Message& message) {
  if (auto* assign = std::get_if<Assign>(&message)) {
    Assign rest;
    if (divide(assign->hosts, rest.hosts)) return rest;
  } else if (auto* handed = std::get_if<HandBack>(&message)) {
    HandBack rest;
    if (divide(handed->hosts, rest.hosts)) return rest;
  } else if (auto* facts = std::get_if<Facts>(&message)) {
    Facts rest;  // the counts stay with the first part
    bool divided = divide(facts->hosts_up, rest.hosts_up);
    divided |= divide(facts->hosts_failed, rest.hosts_failed);
    divided |= divide(facts->blocks, rest.blocks);
    divided |= divide(facts->exits, rest.exits);
    divided |= divide(facts->topologies, rest.topologies);
    divided |= divide(facts->random_layout, rest.random_layout);
    divided |= divide(facts->blind, rest.blind);
    divided |= divide(facts->who_ended, rest.who_ended);
    divided |= divide(facts->started_by, rest.started_by);
    if (divided) return rest;
  }
  return {};
}

Error too_large(const Message& message, std::size_t payload) {
  const auto name =
      std::visit([](const auto& m) { return Members<std::decay_t<decltype(m)>>::kName; }, message);
  const std::size_t most = most_payload(static_cast<std::uint8_t>(message.index()), {});
  const bool mib = most >= 1U << 20;
  return {Errc::bad_input, Phase::run,
          fmt::format("a message between launchers is too large ({}, {:.1f} {unit} of at most {} {unit})",
                      name, static_cast<double>(payload) / (mib ? 1U << 20 : 1U << 10),
                      most >> (mib ? 20 : 10), fmt::arg("unit", mib ? "MiB" : "KiB")),
          std::holds_alternative<Facts>(message)
              ? "register shorter tuples or start fewer processes on a host"
              : ""};
}

}  // namespace

bool Facts::empty() const {
  return hosts_up.empty() && hosts_failed.empty() && blocks.empty() && barrier == decltype(barrier){} &&
         crash_acks == 0 && registered == 0 && ended == 0 && !code && exited_ok == 0 && exits.empty() &&
         topologies.empty() && random_layout.empty() && blind.empty() && who_ended.empty() &&
         started_by.empty();
}

Blob encode(const JobSpec& job) {
  return encode_whole(job);
}
Result<JobSpec> decode_job(std::string_view bytes) {
  return decode_whole<JobSpec>(bytes, "job description");
}
Blob encode(const NodeTable& table) {
  return encode_whole(table);
}
Result<NodeTable> decode_table(std::string_view bytes) {
  return decode_whole<NodeTable>(bytes, "node table");
}

std::uint32_t epoch_of(std::string_view table) {
  return Reader{table}.u32();
}

Blob encode(const std::vector<Share>& shares) {
  return encode_whole(shares);
}
Result<std::vector<Share>> decode_shares(std::string_view bytes) {
  auto shares = decode_whole<std::vector<Share>>(bytes, "process numbers");
  if (!shares) return shares;
  std::uint64_t next_host = 0, next_process = 0;
  for (const Share& share : *shares) {
    if (share.host < next_host || share.first_process != next_process)
      return Error{Errc::bad_peer, Phase::run, "malformed process numbers"};
    next_host = std::uint64_t{share.host} + 1;
    next_process += share.processes;
  }
  return shares;
}

bool goes_down(const Message& message) {
  return message.index() < Message{Hello{}}.index();
}

Result<std::string> encode_frames(const Message& message) {
  FrameWriter out;
  std::visit([&](const auto& value) { put(out, value); }, message);
  const std::size_t size = out.payload_size();
  const bool fits = !is_too_large(message, size);
  const auto whole = [&] { return out.take_frame(static_cast<std::uint8_t>(message.index())); };
  if (fits && !is_long(message, size)) return whole();
  Message first = message;
  const std::optional<Message> second = take_half(first);
  if (!second && fits) return whole();
  if (!second) return too_large(message, size);
  auto frames = encode_frames(first);
  const auto more = frames ? encode_frames(*second) : frames;
  if (!more) return more.error();
  return *frames + *more;
}

Result<Message> decode_message(std::uint8_t type, std::string_view payload, const Remit& remit) {
  return decode_as(type, payload, remit);
}

Message::Message() = default;
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

}  // namespace charmtree::wire
