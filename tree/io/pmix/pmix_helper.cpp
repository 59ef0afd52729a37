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
#include "tree/io/pmix/pmix_library.hpp"

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

// ---- the helper

class PmixHelper {
public:
  PmixHelper(PmixLibrary library, std::string folder)
      : library_(library), folder_(std::move(folder)) {}

  /// Until the launcher goes.
  void run();
  void tell(const pmix::Message& message);

  // The library's calls, on its thread.
  std::uint64_t begin(pmix_modex_cbfunc_t done, void* data) {
    const std::lock_guard lock{mutex_};
    calls_.emplace(++last_call_, Call{done, nullptr, data});
    return last_call_;
  }
  std::uint64_t begin(pmix_op_cbfunc_t done, void* data) {
    const std::lock_guard lock{mutex_};
    calls_.emplace(++last_call_, Call{nullptr, done, data});
    return last_call_;
  }
  /// Processes of other jobs are none of ours.
  bool is_ours(const pmix_proc_t& process) const {
    return name_space_ == static_cast<const char*>(process.nspace);
  }

private:
  struct Call {
    pmix_modex_cbfunc_t with_data;
    pmix_op_cbfunc_t done;
    void* data;
  };

  void on(const pmix::Describe& job);
  void on(const pmix::Over& over);
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
  if (found == calls_.end()) return {nullptr, nullptr, nullptr};
  const Call taken = found->second;
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
  if (auto why = failure("PMIx_generate_regex", library_.generate_regex(nodes.c_str(), &node_map)); !why.empty())
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
  about.add(PMIX_JOB_NUM_APPS, 1);
  about.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(job.nodes.size()));
  for (const char* key : {PMIX_TMPDIR, PMIX_NSDIR}) about.add(key, folder_);
  about.add_true(PMIX_TDIR_RMCLEAN);
  const pmix_proc_t name = process_of(name_space_, 0);
  if (auto why = failure("PMIx_server_register_nspace",
                         library_.register_nspace(static_cast<const char*>(name.nspace),
                                                  static_cast<int>(job.count), about.data(), about.size(),
                                                  nullptr, nullptr));
      !why.empty())
    return why;
  pmix::Serving serving;
  for (std::uint32_t rank = 0; rank < job.count; ++rank) {
    const pmix_proc_t process = process_of(name_space_, job.first + rank);
    if (auto why = failure("PMIx_server_register_client",
                           library_.register_client(&process, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        !why.empty())
      return why;
    char** variables = nullptr;
    if (auto why = failure("PMIx_server_setup_fork", library_.setup_fork(&process, &variables)); !why.empty())
      return why;
    std::vector<std::string>& its = serving.variables.emplace_back();
    for (char** each = variables; each != nullptr && *each != nullptr; ++each) its.emplace_back(*each);
    // Open MPI 4 takes itself for a single process unless it sees a resource manager that it knows.
    for (const char* disguise : {"OMPI_MCA_schizo=^orte", "OMPI_MCA_ess=pmi"}) its.emplace_back(disguise);
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
  const Call call = take(over.call);
  if (call.with_data == nullptr) return;
  auto* bytes = new std::string{over.given ? *over.given : std::string{}};
  const auto release = [](void* data) { delete static_cast<std::string*>(data); };
  call.with_data(over.failure.empty() ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED, bytes->data(), bytes->size(),
                 call.data, release, bytes);
}

void PmixHelper::on(const pmix::Taken& taken) {
  const Call call = take(taken.call);
  if (call.done != nullptr) call.done(PMIX_SUCCESS, call.data);
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

int run_pmix_helper(const std::string& program, const std::string& folder) {
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
