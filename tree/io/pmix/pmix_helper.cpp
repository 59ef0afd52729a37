// SPDX-License-Identifier: Apache-2.0
#include "tree/io/pmix/pmix_helper.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "tree/base/overloaded.hpp"
#include "tree/clients/pmix/pmix_message.hpp"
#include "tree/clients/pmix/pmix_variables.hpp"
#include "tree/io/host/pmix_process.hpp"
#include "tree/io/pmix/pmix_gate.hpp"
#include "tree/io/pmix/pmix_library.hpp"
#include "tree/io/pmix/pmix_world.hpp"
#include "tree/wire/job_spec.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

constexpr unsigned kPatience = 2;  // seconds, with a library that does not come to its end

// ---- the helper

class PmixHelper {
public:
  PmixHelper(PmixLibrary library, std::string folder, std::unique_ptr<PmixGate> gate)
      : library_(library), folder_(std::move(folder)), gate_(std::move(gate)) {}

  /// Until the launcher goes.
  void run();
  void tell(const pmix::Message& message);

  // The library's calls, on its thread.
  using Done = std::variant<std::monostate, pmix_modex_cbfunc_t, pmix_op_cbfunc_t, pmix_lookup_cbfunc_t,
                            pmix_spawn_cbfunc_t, pmix_info_cbfunc_t>;
  struct Call {
    Done done;
    void* data = nullptr;
    std::string name = {};                  // that was looked up
    std::vector<pmix_proc_t> members = {};  // of the group that is made
  };
  std::uint64_t begin(Call call) {
    const std::lock_guard lock{mutex_};
    calls_.emplace(++last_call_, std::move(call));
    return last_call_;
  }
  std::string pack(const pmix_value_t& value) const { return library_.pack(value); }
  /// Its number; kNoProcess: processes of other jobs are none of ours.
  std::uint32_t number_of(const pmix_proc_t& process);
  /// The numbers of these, which may be whole worlds; nothing: one of them is none of ours.
  std::optional<std::vector<wire::ProcessSet::Range>> numbers_of(const pmix_proc_t* processes,
                                                                 std::size_t count);

private:
  struct Request {  // of another host
    PmixHelper* helper;
    std::uint64_t call;
  };
  template <class F>
  static F* function_of(Call& call) {
    auto* function = std::get_if<F>(&call.done);
    return function != nullptr && *function != nullptr ? function : nullptr;
  }

  void on(const pmix::Describe& job);
  void on(const pmix::Over& over);
  void on(const pmix::Named& named);
  void on(const pmix::Wanted& wanted);
  void on(const pmix::Born& born);
  void on(const pmix::Taken& taken);
  void on(const pmix::Lost& lost);
  void on(const pmix::Exited& exited) { tell(pmix::Heard{exited.process}); }
  template <class M>
  void on(const M&) {}
  Call take(std::uint64_t call);
  /// Empty, or why it does not serve them.
  std::string begin_service(const pmix::Describe& job);
  std::string serve(const pmix::Describe& job);
  pmix_proc_t name_of(std::uint32_t process);

  PmixLibrary library_;
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, wire::World, std::less<>> worlds_;  // by name space
  std::map<std::uint64_t, Call> calls_;                     // that wait for an answer
  std::uint64_t last_call_ = 0;
  std::mutex writing_;
  bool serves_ = false;
  std::unique_ptr<PmixGate> gate_;  // null: processes connect to the library itself
};

PmixHelper* the_helper = nullptr;  // the library's calls carry no pointer of ours

/// To the launcher; its end shows where it is read.
void send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::send(STDIN_FILENO, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void PmixHelper::tell(const pmix::Message& message) {
  const std::string frame = pmix::encode(message);
  const std::lock_guard lock{writing_};
  send_all(frame);
}

PmixHelper::Call PmixHelper::take(std::uint64_t call) {
  const std::lock_guard lock{mutex_};
  const auto found = calls_.find(call);
  if (found == calls_.end()) return {};
  Call taken = std::move(found->second);
  calls_.erase(found);
  return taken;
}

std::uint32_t PmixHelper::number_of(const pmix_proc_t& process) {
  const std::lock_guard lock{mutex_};
  const auto world = worlds_.find(std::string_view{static_cast<const char*>(process.nspace)});
  if (world == worlds_.end() || process.rank >= world->second.size) return wire::kNoProcess;
  return world->second.first + process.rank;
}

std::optional<std::vector<wire::ProcessSet::Range>> PmixHelper::numbers_of(const pmix_proc_t* processes,
                                                                           std::size_t count) {
  const std::lock_guard lock{mutex_};
  wire::ProcessSet numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = worlds_.find(std::string_view{static_cast<const char*>(processes[i].nspace)});
    if (found == worlds_.end()) return {};
    const wire::World& world = found->second;
    const pmix_rank_t rank = processes[i].rank;
    if (rank == PMIX_RANK_WILDCARD)
      numbers.add(world.range());
    else if (rank < world.size)
      numbers.add(world.first + rank);
    else
      return {};
  }
  return numbers.ranges();
}

pmix_proc_t PmixHelper::name_of(std::uint32_t process) {
  const std::lock_guard lock{mutex_};
  for (const auto& [name, world] : worlds_) {
    if (world.contains(process)) return process_of(name, process - world.first);
  }
  return process_of({}, process);
}

// ---- the library's calls. They must not be answered before they return; SUCCESS: an answer follows.

pmix_status_t connected(const pmix_proc_t* process, void*, pmix_info_t*, std::size_t, pmix_op_cbfunc_t,
                        void*) {
  the_helper->tell(pmix::Connected{the_helper->number_of(*process)});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t finalized(const pmix_proc_t* process, void*, pmix_op_cbfunc_t, void*) {
  the_helper->tell(pmix::Finalized{the_helper->number_of(*process)});
  return PMIX_OPERATION_SUCCEEDED;
}

/// Whoever is named beside it: an abort ends the job.
pmix_status_t aborts(const pmix_proc_t* process, void*, int status, const char* text, pmix_proc_t*,
                     std::size_t, pmix_op_cbfunc_t, void*) {
  the_helper->tell(pmix::Aborting{the_helper->number_of(*process), status, text == nullptr ? "" : text});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t fence(const pmix_proc_t* processes, std::size_t count, const pmix_info_t*, std::size_t,
                    char* given, std::size_t size, pmix_modex_cbfunc_t done, void* data) {
  auto numbers = the_helper->numbers_of(processes, count);
  if (!numbers) return PMIX_ERR_NOT_SUPPORTED;
  pmix::Entered entered;
  entered.processes = std::move(*numbers);
  if (given != nullptr) entered.given.assign(given, size);
  std::free(given);  // NOLINT(cppcoreguidelines-no-malloc): by its contract it is ours
  entered.call = the_helper->begin({done, data});
  the_helper->tell(entered);
  return PMIX_SUCCESS;
}

/// They need know no more of each other than all of this host do of all worlds: who is where.
pmix_status_t connects(const pmix_proc_t processes[], std::size_t count, const pmix_info_t[], std::size_t,
                       pmix_op_cbfunc_t done, void* data) {
  auto numbers = the_helper->numbers_of(processes, count);
  if (!numbers) return PMIX_ERR_NOT_SUPPORTED;
  the_helper->tell(pmix::Entered{the_helper->begin({done, data}), std::move(*numbers), {}, {}});
  return PMIX_SUCCESS;
}

/// A fence of its members, by which each learns who is in it, and what the others have given. Of one whose
/// members are all here the library (of version 5) forgets that it has asked for its end, and would ask
/// twice.
pmix_status_t groups(pmix_group_operation_t operation, char name[], const pmix_proc_t processes[],
                     std::size_t count, const pmix_info_t infos[], std::size_t info_count,
                     pmix_info_cbfunc_t done, void* data) {
  auto numbers = the_helper->numbers_of(processes, count);
  if (!numbers) return PMIX_ERR_NOT_SUPPORTED;
  pmix::Entered entered{0, std::move(*numbers), {}, name};
  const bool makes = operation == PMIX_GROUP_CONSTRUCT;
  for (std::size_t i = 0; i < info_count; ++i) {
    const std::string_view key = static_cast<const char*>(infos[i].key);
    if (key == PMIX_GROUP_LOCAL_ONLY && !makes) return PMIX_OPERATION_SUCCEEDED;
    if (key == PMIX_GROUP_ENDPT_DATA && infos[i].value.type == PMIX_BYTE_OBJECT)
      entered.given.append(infos[i].value.data.bo.bytes, infos[i].value.data.bo.size);
  }
  PmixHelper::Call call{done, data};
  if (makes) call.members.assign(processes, processes + count);
  entered.call = the_helper->begin(std::move(call));
  the_helper->tell(entered);
  return PMIX_SUCCESS;
}

/// Of a process on another host.
pmix_status_t inquires(const pmix_proc_t* about, const pmix_info_t*, std::size_t, pmix_modex_cbfunc_t done,
                       void* data) {
  const std::uint32_t number = the_helper->number_of(*about);
  if (number == wire::kNoProcess) return PMIX_ERR_NOT_SUPPORTED;
  the_helper->tell(pmix::Inquiring{the_helper->begin({done, data}), number});
  return PMIX_SUCCESS;
}

/// Directives, such as for how long a name is to be known, have keys of the library's own.
bool is_directive(const char* key) {
  return std::string_view{key}.starts_with("pmix.");
}

/// One name and its value, as MPI publishes it.
pmix_status_t publishes(const pmix_proc_t* process, const pmix_info_t infos[], std::size_t count,
                        pmix_op_cbfunc_t done, void* data) {
  pmix::Naming naming{0, the_helper->number_of(*process), wire::NameInquiry::Deed::publish, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_info_t& info = infos[i];
    const auto* key = static_cast<const char*>(info.key);
    if (std::string_view{key} == PMIX_PERSISTENCE && info.value.data.persist == PMIX_PERSIST_FIRST_READ)
      naming.deed = wire::NameInquiry::Deed::publish_once;
    if (is_directive(key)) continue;
    if (!naming.name.empty()) return PMIX_ERR_NOT_SUPPORTED;
    naming.name = key;
    naming.value = the_helper->pack(info.value);
  }
  if (naming.name.empty() || naming.value.empty()) return PMIX_ERR_BAD_PARAM;
  naming.call = the_helper->begin({done, data});
  the_helper->tell(naming);
  return PMIX_SUCCESS;
}

pmix_status_t asks_for_name(const pmix_proc_t* process, wire::NameInquiry::Deed deed, char** names,
                            PmixHelper::Done done, void* data) {
  if (names == nullptr || names[0] == nullptr || names[1] != nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const std::string name = names[0];
  const std::uint32_t number = the_helper->number_of(*process);
  the_helper->tell(pmix::Naming{the_helper->begin({done, data, name}), number, deed, name, {}});
  return PMIX_SUCCESS;
}

pmix_status_t looks_up(const pmix_proc_t* process, char** names, const pmix_info_t infos[], std::size_t count,
                       pmix_lookup_cbfunc_t done, void* data) {
  using Deed = wire::NameInquiry::Deed;
  const bool waits = std::any_of(infos, infos + count, [](const pmix_info_t& info) {
    return std::string_view{static_cast<const char*>(info.key)} == PMIX_WAIT;
  });
  return asks_for_name(process, waits ? Deed::await : Deed::look_up, names, done, data);
}

pmix_status_t unpublishes(const pmix_proc_t* process, char** names, const pmix_info_t*, std::size_t,
                          pmix_op_cbfunc_t done, void* data) {
  return asks_for_name(process, wire::NameInquiry::Deed::unpublish, names, done, data);
}

void logs(const pmix_proc_t* process, const pmix_info_t texts[], std::size_t count, const pmix_info_t*,
          std::size_t, pmix_op_cbfunc_t done, void* data) {
  pmix::Logged logged{0, the_helper->number_of(*process), {}};
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = texts[i].value;
    if (value.type == PMIX_STRING && value.data.string != nullptr) logged.text += value.data.string;
  }
  if (done != nullptr) logged.call = the_helper->begin({done, data});
  the_helper->tell(logged);
}

/// What is told of all programs of a spawn, or of one of them.
void heed(const pmix_info_t infos[], std::size_t count, wire::ProgramWanted& wanted) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view key = static_cast<const char*>(infos[i].key);
    const pmix_value_t& value = infos[i].value;
    const bool is_text = value.type == PMIX_STRING && value.data.string != nullptr;
    if (key == PMIX_WDIR && is_text) wanted.program.directory = value.data.string;
    if ((key == PMIX_HOST || key == PMIX_ADD_HOST) && is_text) {
      for (std::string& name : split_list(value.data.string)) wanted.hosts.push_back(std::move(name));
    }
    if (key == PMIX_SET_ENVAR && value.type == PMIX_ENVAR)
      wanted.program.environment.push_back(
          fmt::format("{}={}", value.data.envar.envar, value.data.envar.value));
  }
}

pmix_status_t spawns(const pmix_proc_t* process, const pmix_info_t infos[], std::size_t info_count,
                     const pmix_app_t programs[], std::size_t count, pmix_spawn_cbfunc_t done, void* data) {
  pmix::Bearing bearing{0, the_helper->number_of(*process), {}};
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_app_t& program = programs[i];
    if (program.cmd == nullptr || program.maxprocs < 1) return PMIX_ERR_BAD_PARAM;
    wire::ProgramWanted& wanted = bearing.programs.emplace_back();
    wanted.processes = static_cast<std::uint32_t>(program.maxprocs);
    wanted.program.arguments.emplace_back(program.cmd);
    for (char** word = program.argv; word != nullptr && *word != nullptr; ++word) {
      if (word != program.argv) wanted.program.arguments.emplace_back(*word);
    }
    for (char** variable = program.env; variable != nullptr && *variable != nullptr; ++variable)
      wanted.program.environment.emplace_back(*variable);
    if (program.cwd != nullptr) wanted.program.directory = program.cwd;
    heed(infos, info_count, wanted);
    heed(program.info, program.ninfo, wanted);
  }
  bearing.call = the_helper->begin({done, data});
  the_helper->tell(bearing);
  return PMIX_SUCCESS;
}

pmix_status_t registers_events(pmix_status_t*, std::size_t, const pmix_info_t*, std::size_t, pmix_op_cbfunc_t,
                               void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t deregisters_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t notifies(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t*, std::size_t,
                       pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

/// Without it, the library would not take what is its own of this: the files that it is to remove when a
/// process has ended.
pmix_status_t controls(const pmix_proc_t*, const pmix_proc_t*, std::size_t, const pmix_info_t*, std::size_t,
                       pmix_info_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_server_module_t& calls() {
  static pmix_server_module_t all{};
  all.client_connected2 = connected;
  all.client_finalized = finalized;
  all.abort = aborts;
  all.fence_nb = fence;
  all.direct_modex = inquires;
  all.publish = publishes;
  all.lookup = looks_up;
  all.unpublish = unpublishes;
  all.spawn = spawns;
  all.connect = connects;
  all.disconnect = connects;
  all.group = groups;
  all.log = logs;
  all.job_control = controls;
  all.register_events = registers_events;
  all.deregister_events = deregisters_events;
  all.notify_event = notifies;
  return all;
}

// ---- the launcher's words

std::string PmixHelper::begin_service(const pmix::Describe& job) {
  const pmix_rank_t own = job.host;
  InfoList self{library_};
  self.add(PMIX_SERVER_TMPDIR, folder_);
  self.add(PMIX_SERVER_RANK, &own, PMIX_PROC_RANK);
  self.add(PMIX_HOSTNAME, job.host_name);
  self.add_true(PMIX_SERVER_SHARE_TOPOLOGY);
  std::string why = library_.failure("PMIx_server_init", library_.init(&calls(), self.data(), self.size()));
  serves_ = why.empty();
  return why;
}

std::string PmixHelper::serve(const pmix::Describe& job) {
  if (!serves_) {
    if (std::string why = begin_service(job); !why.empty()) return why;
  }
  std::optional<pmix_proc_t> parent;
  if (job.parent) parent = name_of(*job.parent);
  {
    const std::lock_guard lock{mutex_};
    worlds_.emplace(job.name_space, wire::World{job.first, job.size});
  }
  if (std::string why = register_world(library_, job, folder_, parent); !why.empty()) return why;
  auto variables = register_processes(library_, job, folder_);
  if (!variables) return variables.error().what;
  const std::uint16_t port = variables->empty() ? 0 : proto::pmix_server_port(variables->front());
  tell(pmix::Serving{job.first, std::move(*variables)});
  if (gate_ && port != 0) gate_->open(port);
  return {};
}

void PmixHelper::on(const pmix::Describe& job) {
  if (const std::string why = serve(job); !why.empty())
    tell(pmix::Failed{"PMIx cannot be served: " + why, "charmrun ++pmi none starts it without"});
}

/// What the library is told of a group. It looks at that until it says that it is done.
class NewGroup {
public:
  NewGroup(const pmix::Over& over, std::vector<pmix_proc_t> all) : members_(std::move(all)) {
    name(PMIX_GROUP_CONTEXT_ID, PMIX_SIZE).data.size = over.id;
    name(PMIX_GROUP_MEMBERSHIP, PMIX_DATA_ARRAY).data.darray = &array_;
    if (over.given && !over.given->empty()) {
      given_ = &name(PMIX_GROUP_ENDPT_DATA, PMIX_BYTE_OBJECT).data.bo;
      *given_ = {static_cast<char*>(std::malloc(over.given->size())), over.given->size()};
      over.given->copy(given_->bytes, given_->size);
    }
  }
  NewGroup(const NewGroup&) = delete;
  NewGroup& operator=(const NewGroup&) = delete;
  /// Of what was given the library takes the bytes, and leaves none here.
  ~NewGroup() {
    if (given_ != nullptr) std::free(given_->bytes);  // NOLINT(cppcoreguidelines-no-malloc): as it does
  }
  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return size_; }

private:
  pmix_value_t& name(const char* key, pmix_data_type_t type) {
    pmix_info_t& info = infos_.at(size_++);
    std::strncpy(static_cast<char*>(info.key), key, PMIX_MAX_KEYLEN);
    info.value.type = type;
    return info.value;
  }

  std::vector<pmix_proc_t> members_;
  pmix_data_array_t array_{PMIX_PROC, members_.size(), members_.data()};
  std::array<pmix_info_t, 3> infos_{};
  std::size_t size_ = 0;
  pmix_byte_object_t* given_ = nullptr;
};

void PmixHelper::on(const pmix::Over& over) {
  Call call = take(over.call);
  const pmix_status_t status = over.failure.empty() ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED;
  if (const auto* done = function_of<pmix_info_cbfunc_t>(call)) {
    if (status != PMIX_SUCCESS || call.members.empty())
      return (*done)(status, nullptr, 0, call.data, nullptr, nullptr);
    auto* group = new NewGroup{over, std::move(call.members)};
    const auto release = [](void* data) { delete static_cast<NewGroup*>(data); };
    return (*done)(status, group->data(), group->size(), call.data, release, group);
  }
  if (const auto* connected = function_of<pmix_op_cbfunc_t>(call)) return (*connected)(status, call.data);
  const auto* done = function_of<pmix_modex_cbfunc_t>(call);
  if (done == nullptr) return;
  auto* bytes = new std::string{over.given ? *over.given : std::string{}};
  const auto release = [](void* data) { delete static_cast<std::string*>(data); };
  (*done)(status, bytes->data(), bytes->size(), call.data, release, bytes);
}

/// What is looked up is only looked at during the call.
void PmixHelper::on(const pmix::Named& named) {
  Call call = take(named.call);
  const bool is_good = named.failure.empty();
  if (const auto* done = function_of<pmix_op_cbfunc_t>(call))
    return (*done)(is_good ? PMIX_SUCCESS : PMIX_ERR_DUPLICATE_KEY, call.data);
  const auto* done = function_of<pmix_lookup_cbfunc_t>(call);
  if (done == nullptr) return;
  if (!is_good) return (*done)(PMIX_ERR_NOT_FOUND, nullptr, 0, call.data);
  const auto value = library_.unpack(named.value);
  if (!value) return (*done)(PMIX_ERR_NOT_FOUND, nullptr, 0, call.data);
  pmix_pdata_t found{};
  found.proc = name_of(0);
  std::strncpy(static_cast<char*>(found.key), call.name.c_str(), PMIX_MAX_KEYLEN);
  found.value = *value;
  (*done)(PMIX_SUCCESS, &found, 1, call.data);
}

/// The library answers once the process has given all that it gives.
void PmixHelper::on(const pmix::Wanted& wanted) {
  const pmix_proc_t process = name_of(wanted.process);
  const auto given = [](pmix_status_t status, char* bytes, std::size_t size, void* data) {
    const std::unique_ptr<Request> request{static_cast<Request*>(data)};
    pmix::Given answer{request->call, {}, {}};
    if (status == PMIX_SUCCESS && bytes != nullptr)
      answer.bytes.assign(bytes, size);
    else if (status != PMIX_SUCCESS)
      answer.failure = request->helper->library_.error_string(status);
    request->helper->tell(answer);
  };
  auto request = std::make_unique<Request>(Request{this, wanted.call});
  const pmix_status_t status = library_.dmodex_request(&process, given, request.get());
  if (status == PMIX_SUCCESS)
    static_cast<void>(request.release());
  else
    tell(pmix::Given{wanted.call, library_.error_string(status), {}});
}

void PmixHelper::on(const pmix::Born& born) {
  Call call = take(born.call);
  const auto* done = function_of<pmix_spawn_cbfunc_t>(call);
  if (done == nullptr) return;
  pmix_proc_t first = name_of(born.first);
  (*done)(born.failure.empty() ? PMIX_SUCCESS : PMIX_ERR_JOB_FAILED_TO_LAUNCH,
          static_cast<char*>(first.nspace), call.data);
}

void PmixHelper::on(const pmix::Taken& taken) {
  Call call = take(taken.call);
  if (const auto* done = function_of<pmix_op_cbfunc_t>(call)) (*done)(PMIX_SUCCESS, call.data);
}

/// To the processes of this host that have asked for this event; who would take any for the end of the job
/// (as Open MPI does that is not told to survive) does not hear of it.
void PmixHelper::on(const pmix::Lost& lost) {
  if (!serves_) return;
  for (const auto& [first, last] : lost.processes) {
    for (std::uint64_t number = first; number <= last; ++number) {
      const pmix_proc_t process = name_of(static_cast<std::uint32_t>(number));
      if (number_of(process) == wire::kNoProcess) continue;  // of a world that has not begun here
      InfoList infos{library_};
      infos.add(PMIX_EVENT_AFFECTED_PROC, &process, PMIX_PROC);
      infos.add_true(PMIX_EVENT_NON_DEFAULT);
      library_.notify_event(PMIX_ERR_PROC_ABORTED, &process, PMIX_RANGE_LOCAL, infos.data(), infos.size(),
                            nullptr, nullptr);
    }
  }
}

void PmixHelper::run() {
  pmix::Decoder decoder{pmix::Decoder::From::launcher};
  std::array<char, 64U << 10> piece{};
  for (;;) {
    const ssize_t got = ::recv(STDIN_FILENO, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    decoder.append({piece.data(), static_cast<std::size_t>(got)});
    for (auto message = decoder.next(); message && *message; message = decoder.next())
      std::visit([&](const auto& m) { on(m); }, **message);
  }
  ::alarm(kPatience);
  if (!serves_) return;
  for (const auto& [name, world] : worlds_) {
    const pmix_proc_t any = process_of(name, 0);
    library_.deregister_nspace(static_cast<const char*>(any.nspace), nullptr, nullptr);
  }
  library_.finalize();
}

}  // namespace

std::optional<int> run_pmix_helper(const std::vector<std::string>& words) {
  constexpr std::size_t kWords = 4;  // and, where the helper was offered, the descriptor of its socket
  if (words.size() < kWords || words.size() > kWords + 1 || words[1] != kPmixHelperWord) return {};
  const std::string &program = words[2], &folder = words[3];
  ::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<PmixGate> gate;
  if (words.size() > kWords) gate = std::make_unique<PmixGate>(UniqueFd{std::atoi(words[kWords].c_str())});
  auto library = PmixLibrary::load(program, gate ? gate->library_of_first() : std::string{});
  if (!library) {
    send_all(pmix::encode(pmix::Failed{library.error().what, library.error().fix}));
  } else {
    PmixHelper helper{*library, folder, std::move(gate)};
    the_helper = &helper;
    helper.run();
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::_Exit(0);  // not through what the library has left to be done at the end
}

}  // namespace charmtree::io
