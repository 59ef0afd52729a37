// SPDX-License-Identifier: Apache-2.0
#include "tree/io/pmix/pmix_helper.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

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
#include "tree/io/host/pmix_process.hpp"
#include "tree/io/pmix/pmix_library.hpp"
#include "tree/wire/programs.hpp"

namespace charmtree::io {

namespace {

constexpr unsigned kPatience = 2;  // seconds, with a library that does not come to its end

// ---- what the library is told

/// A list of pmix_info_t that owns what is in it.
class InfoList {
public:
  explicit InfoList(const PmixLibrary& library) : library_(library) {}
  void add(const char* key, const std::string& text, pmix_data_type_t type = PMIX_STRING) {
    add(key, text.c_str(), type);
  }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = list_.emplace_back();
    library_.info_load(&info, key, const_cast<void*>(value), type);
  }
  void add(const char* key, std::uint32_t number) { add(key, &number, PMIX_UINT32); }
  void add(const char* key, InfoList& list) {
    pmix_data_array_t array{PMIX_INFO, list.size(), list.data()};
    add(key, &array, PMIX_DATA_ARRAY);
  }
  void add_true(const char* key) {
    const bool yes = true;
    add(key, &yes, PMIX_BOOL);
  }
  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

private:
  const PmixLibrary& library_;
  std::vector<pmix_info_t> list_;  // its texts live as long as the helper
};

pmix_proc_t process_of(const std::string& name_space, std::uint32_t rank) {
  pmix_proc_t process{};
  std::strncpy(static_cast<char*>(process.nspace), name_space.c_str(), PMIX_MAX_NSLEN);
  process.rank = rank;
  return process;
}

/// "a,b,c", and "0,1;2,3" of their processes.
std::pair<std::string, std::string> maps_of(const pmix::Describe& job) {
  std::string nodes, processes;
  for (const std::string& node : job.nodes) nodes += (nodes.empty() ? "" : ",") + node;
  std::uint32_t next = 0;
  for (const wire::HostRun& run : job.layout) {
    for (std::uint32_t host = 0; host < run.hosts; ++host) {
      if (next > 0) processes += ';';
      for (std::uint32_t i = 0; i < run.processes; ++i, ++next)
        processes += fmt::format("{}{}", i == 0 ? "" : ",", next);
    }
  }
  return {nodes, processes};
}

/// Which of the job's programs each process runs. The library works out nothing more of a process of which it
/// is told something.
void add_programs(const pmix::Describe& job, std::uint32_t total, const PmixLibrary& library,
                  InfoList& about) {
  for (std::uint32_t number = 0; number < job.programs.size(); ++number) {
    const std::uint32_t first = job.programs[number];
    InfoList program{library};
    program.add(PMIX_APPNUM, number);
    program.add(PMIX_APP_SIZE, (number + 1 < job.programs.size() ? job.programs[number + 1] : total) - first);
    program.add(PMIX_APPLDR, &first, PMIX_PROC_RANK);
    about.add(PMIX_APP_INFO_ARRAY, program);
  }
  std::uint32_t next = 0, node = 0;
  for (const wire::HostRun& run : job.layout) {
    for (std::uint32_t host = 0; host < run.hosts; ++host, ++node) {
      for (std::uint32_t i = 0; i < run.processes; ++i, ++next) {
        const std::uint32_t number = wire::program_of(job.programs, next),
                            in_program = next - job.programs[number];
        const auto on_host = static_cast<std::uint16_t>(i);
        InfoList process{library};
        process.add(PMIX_RANK, &next, PMIX_PROC_RANK);
        process.add(PMIX_GLOBAL_RANK, &next, PMIX_PROC_RANK);
        process.add(PMIX_APP_RANK, &in_program, PMIX_PROC_RANK);
        process.add(PMIX_APPNUM, number);
        process.add(PMIX_LOCAL_RANK, &on_host, PMIX_UINT16);
        process.add(PMIX_NODE_RANK, &on_host, PMIX_UINT16);
        process.add(PMIX_NODEID, node);
        process.add(PMIX_HOSTNAME, job.nodes[node]);
        about.add(PMIX_PROC_INFO_ARRAY, process);
      }
    }
  }
}

/// What its own launchers set: scripts choose a GPU by it. Version 4 takes itself for a single process unless
/// it sees a resource manager that it knows.
void add_variables_of_open_mpi(const pmix::Describe& job, std::uint32_t rank, std::uint32_t total,
                               const std::string& folder, std::vector<std::string>& variables) {
  for (const auto& [name, value] : {std::pair{"COMM_WORLD_SIZE", total},
                                    {"COMM_WORLD_RANK", job.first + rank},
                                    {"COMM_WORLD_LOCAL_SIZE", job.count},
                                    {"COMM_WORLD_LOCAL_RANK", rank},
                                    {"COMM_WORLD_NODE_RANK", rank},
                                    {"UNIVERSE_SIZE", total}})
    variables.push_back(fmt::format("OMPI_{}={}", name, value));
  for (const char* disguise : {"OMPI_MCA_schizo=^orte", "OMPI_MCA_ess=pmi"}) variables.emplace_back(disguise);
  if (!job.shares_machine) return;
  // Files by which a host's processes share memory are called by the machine's name and their place there.
  for (const char* transport : {"vader", "sm"})
    variables.push_back(fmt::format("OMPI_MCA_btl_{}_backing_directory={}", transport, folder));
}

// ---- the helper

class PmixHelper {
public:
  PmixHelper(PmixLibrary library, std::string folder) : library_(library), folder_(std::move(folder)) {}

  /// Until the launcher goes.
  void run();
  void tell(const pmix::Message& message);

  // The library's calls, on its thread.
  using Done = std::variant<std::monostate, pmix_modex_cbfunc_t, pmix_op_cbfunc_t, pmix_lookup_cbfunc_t>;
  std::uint64_t begin(Done done, void* data, std::string name = {}) {
    const std::lock_guard lock{mutex_};
    calls_.emplace(++last_call_, Call{done, data, std::move(name)});
    return last_call_;
  }
  /// Processes of other jobs are none of ours.
  bool is_ours(const pmix_proc_t& process) const {
    return name_space_ == static_cast<const char*>(process.nspace);
  }

private:
  struct Call {
    Done done;
    void* data = nullptr;
    std::string name = {};  // that was looked up
  };
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
  void on(const pmix::Taken& taken);
  void on(const pmix::Exited& exited) { tell(pmix::Heard{exited.process}); }
  template <class M>
  void on(const M&) {}
  Call take(std::uint64_t call);
  /// Empty, or why it does not serve them.
  std::string serve(const pmix::Describe& job);
  std::string failure(const char* what, pmix_status_t status) const;

  PmixLibrary library_;
  std::string folder_, name_space_;
  std::mutex mutex_;
  std::map<std::uint64_t, Call> calls_;  // that wait for an answer
  std::uint64_t last_call_ = 0;
  std::mutex writing_;
  bool serves_ = false;
};

PmixHelper* the_helper = nullptr;  // the library's calls carry no pointer of ours

/// To the launcher; its end shows where it is read.
void write_all(std::string_view bytes) {
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
  write_all(frame);
}

PmixHelper::Call PmixHelper::take(std::uint64_t call) {
  const std::lock_guard lock{mutex_};
  const auto found = calls_.find(call);
  if (found == calls_.end()) return {};
  Call taken = std::move(found->second);
  calls_.erase(found);
  return taken;
}

// ---- the library's calls. They must not be answered before they return; SUCCESS: an answer follows.

pmix_status_t connected(const pmix_proc_t* process, void*, pmix_info_t*, std::size_t, pmix_op_cbfunc_t,
                        void*) {
  the_helper->tell(pmix::Connected{process->rank});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t finalized(const pmix_proc_t* process, void*, pmix_op_cbfunc_t, void*) {
  the_helper->tell(pmix::Finalized{process->rank});
  return PMIX_OPERATION_SUCCEEDED;
}

/// Whoever is named beside it: an abort ends the job.
pmix_status_t aborts(const pmix_proc_t* process, void*, int status, const char* text, pmix_proc_t*,
                     std::size_t, pmix_op_cbfunc_t, void*) {
  the_helper->tell(pmix::Aborting{process->rank, status, text == nullptr ? "" : text});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t fence(const pmix_proc_t* processes, std::size_t count, const pmix_info_t*, std::size_t,
                    char* given, std::size_t size, pmix_modex_cbfunc_t done, void* data) {
  pmix::Entered entered;
  bool all = false;
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_rank_t rank = processes[i].rank;
    all = all || rank == PMIX_RANK_WILDCARD;
    const bool is_known = the_helper->is_ours(processes[i]) && (all || rank < PMIX_RANK_VALID);
    if (!is_known) return PMIX_ERR_NOT_SUPPORTED;
    entered.processes.push_back({rank, rank});
  }
  all ? entered.processes.clear() : wire::fold(entered.processes);
  if (given != nullptr) entered.given.assign(given, size);
  std::free(given);  // NOLINT(cppcoreguidelines-no-malloc): by its contract it is ours
  entered.call = the_helper->begin(done, data);
  the_helper->tell(entered);
  return PMIX_SUCCESS;
}

/// Of a process on another host.
pmix_status_t inquires(const pmix_proc_t* about, const pmix_info_t*, std::size_t, pmix_modex_cbfunc_t done,
                       void* data) {
  if (!the_helper->is_ours(*about) || about->rank >= PMIX_RANK_VALID) return PMIX_ERR_NOT_SUPPORTED;
  the_helper->tell(pmix::Inquiring{the_helper->begin(done, data), about->rank});
  return PMIX_SUCCESS;
}

/// Directives, such as for how long a name is to be known, have keys of the library's own.
bool is_directive(const char* key) {
  return std::string_view{key}.starts_with("pmix.");
}

/// One name and its text, as MPI publishes it.
pmix_status_t publishes(const pmix_proc_t* process, const pmix_info_t infos[], std::size_t count,
                        pmix_op_cbfunc_t done, void* data) {
  pmix::Naming naming{0, process->rank, wire::NameInquiry::Deed::publish, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_info_t& info = infos[i];
    const auto* key = static_cast<const char*>(info.key);
    if (is_directive(key)) continue;
    if (!naming.name.empty() || info.value.type != PMIX_STRING || info.value.data.string == nullptr)
      return PMIX_ERR_NOT_SUPPORTED;
    naming.name = key;
    naming.value = info.value.data.string;
  }
  if (naming.name.empty()) return PMIX_ERR_BAD_PARAM;
  naming.call = the_helper->begin(done, data);
  the_helper->tell(naming);
  return PMIX_SUCCESS;
}

pmix_status_t asks_for_name(const pmix_proc_t* process, wire::NameInquiry::Deed deed, char** names,
                            PmixHelper::Done done, void* data) {
  if (names == nullptr || names[0] == nullptr || names[1] != nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const std::string name = names[0];
  the_helper->tell(pmix::Naming{the_helper->begin(done, data, name), process->rank, deed, name, {}});
  return PMIX_SUCCESS;
}

pmix_status_t looks_up(const pmix_proc_t* process, char** names, const pmix_info_t*, std::size_t,
                       pmix_lookup_cbfunc_t done, void* data) {
  return asks_for_name(process, wire::NameInquiry::Deed::look_up, names, done, data);
}

pmix_status_t unpublishes(const pmix_proc_t* process, char** names, const pmix_info_t*, std::size_t,
                          pmix_op_cbfunc_t done, void* data) {
  return asks_for_name(process, wire::NameInquiry::Deed::unpublish, names, done, data);
}

void logs(const pmix_proc_t* process, const pmix_info_t texts[], std::size_t count, const pmix_info_t*,
          std::size_t, pmix_op_cbfunc_t done, void* data) {
  pmix::Logged logged{0, process->rank, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = texts[i].value;
    if (value.type == PMIX_STRING && value.data.string != nullptr) logged.text += value.data.string;
  }
  if (done != nullptr) logged.call = the_helper->begin(done, data);
  the_helper->tell(logged);
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
  all.log = logs;
  all.job_control = controls;
  all.register_events = registers_events;
  all.deregister_events = deregisters_events;
  all.notify_event = notifies;
  return all;
}

// ---- the launcher's words

std::string PmixHelper::failure(const char* what, pmix_status_t status) const {
  const bool good = status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
  return good ? std::string{} : fmt::format("{}: {}", what, library_.error_string(status));
}

/// The library works the rest out from the two maps: who is where, with how many.
std::string PmixHelper::serve(const pmix::Describe& job) {
  name_space_ = job.name_space;
  const pmix_rank_t own = job.own;
  InfoList self{library_};
  self.add(PMIX_SERVER_TMPDIR, folder_);
  self.add(PMIX_SERVER_RANK, &own, PMIX_PROC_RANK);
  if (job.own < job.nodes.size()) self.add(PMIX_HOSTNAME, job.nodes[job.own]);
  self.add_true(PMIX_SERVER_SHARE_TOPOLOGY);
  if (auto why = failure("PMIx_server_init", library_.init(&calls(), self.data(), self.size())); !why.empty())
    return why;
  serves_ = true;
  const auto [nodes, processes] = maps_of(job);
  char *node_map = nullptr, *process_map = nullptr;
  if (auto why = failure("PMIx_generate_regex", library_.generate_regex(nodes.c_str(), &node_map));
      !why.empty())
    return why;
  if (auto why = failure("PMIx_generate_ppn", library_.generate_ppn(processes.c_str(), &process_map));
      !why.empty())
    return why;
  std::uint32_t total = 0;
  for (const wire::HostRun& run : job.layout) total += run.hosts * run.processes;
  InfoList about{library_};
  about.add(PMIX_JOBID, name_space_);
  about.add(PMIX_NODE_MAP, node_map, PMIX_REGEX);
  about.add(PMIX_PROC_MAP, process_map, PMIX_REGEX);
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS}) about.add(key, total);
  about.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(job.programs.size()));
  if (job.programs.size() > 1) add_programs(job, total, library_, about);
  about.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(job.nodes.size()));
  for (const char* key : {PMIX_TMPDIR, PMIX_NSDIR}) about.add(key, folder_);
  about.add_true(PMIX_TDIR_RMCLEAN);
  const pmix_proc_t name = process_of(name_space_, 0);
  if (auto why =
          failure("PMIx_server_register_nspace",
                  library_.register_nspace(static_cast<const char*>(name.nspace), static_cast<int>(job.count),
                                           about.data(), about.size(), nullptr, nullptr));
      !why.empty())
    return why;
  pmix::Serving serving;
  for (std::uint32_t rank = 0; rank < job.count; ++rank) {
    const pmix_proc_t process = process_of(name_space_, job.first + rank);
    if (auto why =
            failure("PMIx_server_register_client",
                    library_.register_client(&process, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        !why.empty())
      return why;
    char** variables = nullptr;
    if (auto why = failure("PMIx_server_setup_fork", library_.setup_fork(&process, &variables)); !why.empty())
      return why;
    std::vector<std::string>& its = serving.variables.emplace_back();
    for (char** each = variables; each != nullptr && *each != nullptr; ++each) its.emplace_back(*each);
    add_variables_of_open_mpi(job, rank, total, folder_, its);
  }
  tell(serving);
  return {};
}

void PmixHelper::on(const pmix::Describe& job) {
  if (serves_) return;
  if (const std::string why = serve(job); !why.empty())
    tell(pmix::Failed{"PMIx cannot be served: " + why, "charmrun ++pmi none starts it without"});
}

void PmixHelper::on(const pmix::Over& over) {
  Call call = take(over.call);
  const auto* done = function_of<pmix_modex_cbfunc_t>(call);
  if (done == nullptr) return;
  auto* bytes = new std::string{over.given ? *over.given : std::string{}};
  const auto release = [](void* data) { delete static_cast<std::string*>(data); };
  (*done)(over.failure.empty() ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED, bytes->data(), bytes->size(),
          call.data, release, bytes);
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
  std::string value = named.value;
  pmix_pdata_t found{};
  found.proc = process_of(name_space_, 0);
  std::strncpy(static_cast<char*>(found.key), call.name.c_str(), PMIX_MAX_KEYLEN);
  found.value.type = PMIX_STRING;
  found.value.data.string = value.data();
  (*done)(PMIX_SUCCESS, &found, 1, call.data);
}

/// The library answers once the process has given all that it gives.
void PmixHelper::on(const pmix::Wanted& wanted) {
  const pmix_proc_t process = process_of(name_space_, wanted.process);
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

void PmixHelper::on(const pmix::Taken& taken) {
  Call call = take(taken.call);
  if (const auto* done = function_of<pmix_op_cbfunc_t>(call)) (*done)(PMIX_SUCCESS, call.data);
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
  const pmix_proc_t name = process_of(name_space_, 0);
  library_.deregister_nspace(static_cast<const char*>(name.nspace), nullptr, nullptr);
  library_.finalize();
}

}  // namespace

std::optional<int> run_pmix_helper(const std::vector<std::string>& words) {
  constexpr std::size_t kWords = 4;
  if (words.size() != kWords || words[1] != kPmixHelperWord) return {};
  const std::string &program = words[2], &folder = words[3];
  ::signal(SIGPIPE, SIG_IGN);
  auto library = PmixLibrary::load(program);
  if (!library) {
    write_all(pmix::encode(pmix::Failed{library.error().what, library.error().fix}));
  } else {
    PmixHelper helper{*library, folder};
    the_helper = &helper;
    helper.run();
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::_Exit(0);  // not through what the library has left to be done at the end
}

}  // namespace charmtree::io
