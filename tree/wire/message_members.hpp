// SPDX-License-Identifier: Apache-2.0
// The members of messages between launchers, in the order in which they travel. A change is another protocol
// (kProtocol in greeting.cpp).
#pragma once

#include <utility>

#include "tree/wire/charm_message.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/error_members.hpp"
#include "tree/wire/message_limits.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/table_members.hpp"
#include "tree/wire/window_members.hpp"

namespace charmtree::wire {

template <>
inline constexpr Via kLast<Via> = Via::command;
template <>
inline constexpr HostKeyPolicy kLast<HostKeyPolicy> = HostKeyPolicy::no_check;
template <>
inline constexpr OnHostFailure kLast<OnHostFailure> = OnHostFailure::spare;
template <>
inline constexpr Recovery kLast<Recovery> = Recovery::by_program_or_whole;
template <>
inline constexpr CpuUnit kLast<CpuUnit> = static_cast<CpuUnit>(kCpuUnitCount - 1);
template <>
inline constexpr Binding::By kLast<Binding::By> = Binding::By::itself;
template <>
inline constexpr MpiService::Pmi kLast<MpiService::Pmi> = MpiService::Pmi::port;
template <>
inline constexpr MpiService::Pmix kLast<MpiService::Pmix> = MpiService::Pmix::needed;
template <>
inline constexpr Mpi kLast<Mpi> = Mpi::unknown;
template <>
inline constexpr NameInquiry::Deed kLast<NameInquiry::Deed> = NameInquiry::Deed::unpublish;
template <>
inline constexpr Silence::State kLast<Silence::State> = Silence::State::over;
template <>
inline constexpr EndMode kLast<EndMode> = EndMode::kill;
template <>
inline constexpr Tail kLast<Tail> = Tail::ended;
template <>
inline constexpr ForkClients kLast<ForkClients> = ForkClients::always;
template <>
inline constexpr EnvLike kLast<EnvLike> = EnvLike::slurm;

template <>
inline constexpr std::size_t kMostText<Error> = 4U << 10;
template <>
inline constexpr std::size_t kMostText<ProcessExit> = 4U << 10;
template <>
inline constexpr std::size_t kMostText<Note> = 4U << 10;
template <>
inline constexpr std::size_t kMostText<Rejoined> = kMaxTuple;
template <>
inline constexpr std::size_t kMostText<ScanUp> = kMaxCharmFormat;

template <>
inline constexpr bool kMayBeCut<Error> = true;
template <>
inline constexpr bool kMayBeCut<ProcessExit> = true;
template <>
inline constexpr bool kMayBeCut<Note> = true;
template <>
inline constexpr bool kMayBeCut<Checkup> = true;  // its boot id is as long as that of others, or nobody's

CT_MEMBERS(HostKey, s.type, s.blob)
CT_MEMBERS(SshAlgorithms, s.key_exchanges, s.host_keys, s.ciphers, s.macs, s.user_keys)
CT_MEMBERS(Profile, s.via, s.shell, s.user, s.port, s.identity_files, s.identities_only, s.agent,
           s.algorithms, s.forwarded_keys, s.host_keys, s.ssh_command_only, s.launcher, s.stages, s.program,
           s.further_programs, s.directory, s.setup, s.environment, s.extra_arguments)
CT_MEMBERS(Host, s.index, s.name, s.address, s.profile, s.machine, s.first_process, s.processes, s.known_keys,
           s.known_key_revoked)
CT_MEMBERS(Shape, s.branching, s.levels)
CT_MEMBERS(LaunchRules, s.shape, s.batch, s.max_logins, s.login_rate, s.on_host_failure, s.patience, s.wait,
           s.login_occupancy, s.login_latency)
CT_MEMBERS(MpiService, s.pmi, s.pmix, s.most_value, s.layout, s.names, s.name_space, s.library, s.universe,
           s.may_spawn)
CT_MEMBERS(Provision, s.process_unit, s.processes, s.thread_unit, s.same_everywhere, s.hints)
CT_MEMBERS(Topology, s.sockets, s.cores, s.pus)
CT_MEMBERS(HostTopology, s.first_host, s.hosts, s.topology)
CT_MEMBERS(Binding, s.by, s.unit, s.first, s.count, s.pus)
CT_MEMBERS(Share, s.host, s.first_process, s.processes)
CT_MEMBERS(Terminal, s.size, s.typed_into)
CT_MEMBERS(Heartbeat, s.interval, s.gone_after, s.orphan_after)
CT_MEMBERS(SilenceRules, s.after, s.kills)
CT_MEMBERS(LossRules, s.recovery, s.restarts, s.keep_alive)
CT_MEMBERS(InputRules, s.process, s.to_all, s.is_typed)
CT_MEMBERS(OutputRules, s.partial_line, s.raw, s.labelled, s.line_buffered, s.spool)
CT_MEMBERS(ReportRules, s.stamps, s.bindings, s.watched)
CT_MEMBERS(FurtherProgram, s.first, s.arguments, s.environment, s.begins_world, s.directory)
CT_MEMBERS(StagedFile, s.name, s.source, s.size, s.digest, s.mode, s.modified)
CT_MEMBERS(StagedProgram, s.name, s.word)
CT_MEMBERS(StagedFiles, s.files, s.programs)
CT_MEMBERS(SoftLimits, s.core, s.stack, s.locked, s.processes)
CT_MEMBERS(SpawnRules, s.environment, s.umask, s.limits, s.further, s.runscript, s.env_like, s.expands,
           s.keep_address_randomisation, s.fork_clients, s.bind, s.mpi, s.held, s.make_directory, s.staged,
           s.network)
CT_MEMBERS(JobSpec, s.id, s.secret, s.arguments, s.hosts, s.processes, s.pes_per_process, s.input, s.output,
           s.reports, s.spawn, s.magic, s.launch, s.timeout, s.grace, s.private_network, s.profiles,
           s.checkup, s.terminal, s.resizes, s.provision, s.loss, s.heartbeat, s.silence, s.starts_together,
           s.session)
CT_MEMBERS(Welcome, s.job, s.self, s.level)
CT_MEMBERS(Assign, s.hosts, s.login_rate)
CT_MEMBERS(Numbers, s.shares, s.pes_per_process)
CT_MEMBERS(TableDown, s.table)
CT_MEMBERS(Release, s.kind)
CT_MEMBERS(Receipt, s.process)
CT_MEMBERS(ScanReply, s.process, s.input)
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
CT_MEMBERS(StartedBy, s.host, s.by)
/// Each id as its difference to the one before: mostly 1, a byte.
inline void put(Writer& out, const ProcessIds& v) {
  put(out, v.host);
  put(out, v.first);
  out.varint(v.ids.size());
  std::int64_t before = 0;
  for (const std::uint32_t id : v.ids) out.svarint(id - std::exchange(before, id));
}
inline void get(Reader& in, ProcessIds& v) {
  get(in, v.host);
  get(in, v.first);
  std::vector<std::int32_t> steps;
  get(in, steps);
  std::int64_t id = 0;
  v.ids.clear();
  v.ids.reserve(steps.size());
  for (const std::int32_t step : steps) {
    id += step;
    if (id < 0 || id > INT32_MAX) return in.poison();
    v.ids.push_back(static_cast<std::uint32_t>(id));
  }
}
CT_MEMBERS(PeersUsed, s.processes, s.least, s.most, s.all)
CT_MEMBERS(Facts, s.hosts_up, s.hosts_failed, s.blocks, s.epoch, s.barrier, s.crash_acks, s.registered,
           s.joined, s.ended, s.code, s.exited_ok, s.first_ok, s.exits, s.topologies, s.random_layout,
           s.blind, s.who_ended, s.started_by, s.process_ids, s.peers)
CT_MEMBERS(Output, s.process, s.stream, s.wants_receipt, s.text, s.tail, s.read, s.number, s.is_oldest)
CT_MEMBERS(ScanUp, s.process, s.format)
CT_MEMBERS(AbortUp, s.process, s.code, s.text, s.last_words)
CT_MEMBERS(HandBack, s.hosts)
CT_MEMBERS(NewHostKey, s.host, s.key)
CT_MEMBERS(Note, s.host, s.text, s.for_everybody)
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
CT_MEMBERS(InquiryId, s.service, s.number)
CT_MEMBERS(Inquired, s.process, s.asker, s.id, s.key)
CT_MEMBERS(Answered, s.process, s.about, s.id, s.failure, s.bytes)
CT_MEMBERS(Inquiry, s.process, s.about, s.id, s.key)
CT_MEMBERS(InquiryReply, s.process, s.asker, s.id, s.failure, s.bytes)
CT_MEMBERS(NameInquiry, s.process, s.id, s.deed, s.name, s.value)
CT_MEMBERS(WorldBegun, s.service, s.by, s.programs, s.shares, s.given)
CT_MEMBERS(ProgramWanted, s.program, s.processes, s.hosts)
CT_MEMBERS(WorldWanted, s.process, s.id, s.programs, s.given)

}  // namespace charmtree::wire
