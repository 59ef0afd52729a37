// SPDX-License-Identifier: Apache-2.0
// Between vfork and execve the child runs in the parent's memory: everything it needs is prepared before, it
// calls only async-signal-safe functions, and what it writes (which step failed) is what the parent reads.
// The parent blocks all signals before; the child, which lets them in again, first has no handlers any more.
#include "tree/io/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tree/io/executable.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree::io {

namespace {

constexpr rlim_t kOwnStack = 8U << 20;  // bytes, as most systems give by default

enum class Step { descriptors, directory, exec, orphan, binding };

/// What the child has to say of itself.
struct Told {
  Step failed = Step::exec;
  int error = 0;
  bool is_traced = false;  // by us: it stops when it has executed the program
};

/// Open files, as the limit was when this was first called.
const rlimit& inherited_descriptor_limit() {
  static const rlimit limit = [] {
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    return now;
  }();
  return limit;
}

/// Returns the limit of the stack as it was at the first call.
const rlimit& inherited_stack_limit() {
  static const rlimit limit = [] {
    rlimit now{};
    ::getrlimit(RLIMIT_STACK, &now);
    return now;
  }();
  return limit;
}

/// A limit that goes along to other hosts, and its member of wire::SoftLimits.
struct SoftLimit {
  decltype(RLIMIT_CORE) resource;
  std::uint64_t wire::SoftLimits::*bytes_or_count;
};
constexpr std::array kSoftLimits{SoftLimit{RLIMIT_CORE, &wire::SoftLimits::core},
                                 SoftLimit{RLIMIT_STACK, &wire::SoftLimits::stack},
                                 SoftLimit{RLIMIT_MEMLOCK, &wire::SoftLimits::locked},
                                 SoftLimit{RLIMIT_NPROC, &wire::SoftLimits::processes}};

/// Returns the limits of kSoftLimits: what we were started with, raised to what is asked for as far as the
/// hard limits allow.
std::array<rlimit, kSoftLimits.size()> limits_for(const wire::SoftLimits& asked) {
  std::array<rlimit, kSoftLimits.size()> limits{};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto& [resource, member] = kSoftLimits[i];
    if (resource == RLIMIT_STACK)
      limits[i] = inherited_stack_limit();
    else
      ::getrlimit(resource, &limits[i]);
    limits[i].rlim_cur = std::max(limits[i].rlim_cur, std::min<rlim_t>(asked.*member, limits[i].rlim_max));
  }
  return limits;
}

struct Plan {
  std::vector<char*> paths, arguments, environment, shell;
  std::array<int, 3> fds{};
  const char* directory;
  const rlimit* descriptor_limit;
  std::array<rlimit, kSoftLimits.size()> soft_limits;
  std::vector<unsigned long> cpus;  // a mask as the kernel takes it
  int inherited, cgroup;
  pid_t parent;
  bool dies_with_parent, fixed_addresses, on_terminal, held;
};

/// Moves the descriptors to 0, 1, 2. All three are above 2 here (see lift), so no copy overwrites another's
/// source.
bool place(const std::array<int, 3>& fds) {
  for (int i = 0; i < 3; ++i) {
    if (::dup2(fds[static_cast<std::size_t>(i)], i) < 0) return false;
  }
  return true;
}

unsigned long own_personality() {
  return static_cast<unsigned long>(::personality(0xFFFFFFFF));
}

/// True if the file begins as an ELF file does.
bool is_elf(const char* path) {
  std::array<char, 4> magic{};
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = ::read(file, magic.data(), magic.size());
  ::close(file);
  return got == 4 && std::memcmp(magic.data(), "\177ELF", 4) == 0;
}

/// Our handlers do not run in the child, which has our memory. What has come to our process group by now was
/// for us, and we take it ourselves: to ignore a signal for a moment drops it.
void forget_handlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_DFL ||
        action.sa_handler == SIG_IGN)
      continue;
    ::signal(signal, SIG_IGN);
    ::signal(signal, SIG_DFL);
  }
}

/// Refused: the job is cleaned up without a cgroup as well.
void enter(int cgroup) {
  const int entry = ::openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  (void)!::write(entry, "0", 1);
  ::close(entry);
}

[[noreturn, gnu::noinline]] void run_child(const Plan& plan, int cgroup_to_enter, volatile Told& told) {
  const auto fail = [&](Step step, int error) {
    told.failed = step;
    told.error = error;
    ::_exit(127);
  };
  if (plan.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) fail(Step::orphan, ESRCH);
  }
  // Where only ancestors may look into a process (yama), what we start to do that may, too.
  ::prctl(PR_SET_PTRACER, plan.parent);
  if (cgroup_to_enter >= 0) enter(cgroup_to_enter);
  ::setsid();
  ::setrlimit(RLIMIT_NOFILE, plan.descriptor_limit);
  for (std::size_t i = 0; i < kSoftLimits.size(); ++i)
    ::setrlimit(kSoftLimits[i].resource, &plan.soft_limits[i]);
  if (plan.fixed_addresses) ::personality(ADDR_NO_RANDOMIZE | own_personality());
  if (!plan.cpus.empty() && ::sched_setaffinity(0, plan.cpus.size() * sizeof(unsigned long),
                                                reinterpret_cast<const cpu_set_t*>(plan.cpus.data())) != 0)
    fail(Step::binding, errno);
  if (!place(plan.fds)) fail(Step::descriptors, errno);
  if (plan.inherited >= 0 && ::fcntl(plan.inherited, F_SETFD, 0) != 0) fail(Step::descriptors, errno);
  if (plan.on_terminal && ::ioctl(0, TIOCSCTTY, 0) != 0) fail(Step::descriptors, errno);
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) fail(Step::directory, errno);
  forget_handlers();
  sigset_t none;
  sigemptyset(&none);
  restore_usual_signals();
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  told.is_traced = plan.held && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
  int error = ENOENT;
  for (std::size_t i = 0; plan.paths[i] != nullptr; ++i) {
    ::execve(plan.paths[i], plan.arguments.data(), plan.environment.data());
    if (errno == ENOEXEC && !is_elf(plan.paths[i])) {  // a script without #!, as execvp does
      const_cast<std::vector<char*>&>(plan.shell)[1] = plan.paths[i];
      ::execve("/bin/sh", plan.shell.data(), plan.environment.data());
    }
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  fail(Step::exec, error);
  ::_exit(127);
}

/// The system call itself: a function around it would return twice on one stack, the second time to where the
/// child has written since. ENOSYS where we do not know how, and for the sanitizers, who follow vfork only.
[[gnu::always_inline]] inline long clone3(clone_args& how) {
#ifdef CHARMTREE_SANITIZED
  (void)how;
  return -ENOSYS;
#elif defined(__x86_64__)
  long result = SYS_clone3;
  asm volatile("syscall" : "+a"(result) : "D"(&how), "S"(sizeof how) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_clone3;
  register long size asm("x1") = sizeof how;
  register long result asm("x0") = reinterpret_cast<long>(&how);
  asm volatile("svc 0" : "+r"(result) : "r"(number), "r"(size) : "memory");
  return result;
#else
  (void)how;
  return -ENOSYS;
#endif
}

/// As vfork, but the child is in its cgroup from the beginning (Linux 5.7). A process that enters one later
/// waits until each processor has passed through the scheduler: 5 to 25 ms.
pid_t start_in_cgroup(const Plan& plan, volatile Told& told) {
  clone_args how{};
  how.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(plan.cgroup);
  const long pid = clone3(how);
  if (pid == 0) run_child(plan, -1, told);
  return static_cast<pid_t>(pid);
}

/// The child's pid; -1: errno says why there is none.
pid_t start_child(const Plan& plan, volatile Told& told) {
  if (plan.cgroup >= 0) {
    if (const pid_t pid = start_in_cgroup(plan, told); pid > 0) return pid;
  }
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan, plan.cgroup, told);
  return pid;
}

/// Instead of the signal by which we are told that it has executed the program it gets one that stops it, and
/// nobody traces it any more.
void leave_stopped(pid_t pid) {
  while (::waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR) continue;
  ::ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP);
}

/// As many words as it takes: cpu_set_t ends at 1024.
std::vector<unsigned long> cpu_mask(const std::vector<std::uint32_t>& cpus) {
  constexpr std::size_t kWord = 8 * sizeof(unsigned long);
  std::vector<unsigned long> words;
  for (const std::uint32_t cpu : cpus) {
    if (cpu / kWord >= words.size()) words.resize(cpu / kWord + 1);
    words[cpu / kWord] |= 1UL << (cpu % kWord);
  }
  return words;
}

/// Returns what to try about a program that is not found.
std::string how_to_find(const SpawnRequest& request) {
  if (request.program.find_first_of(" ;|&<>") != std::string::npos)
    return "is it a command for a shell? sh -c 'COMMAND' runs that";
  if (request.at_root) return "is its name right?";
  return "is its name right? ++stage-program sends a program that is here";
}

Error explain(const SpawnRequest& request, Step step, int error) {
  const std::string reason = strerror(error);
  const Error other{Errc::spawn_failed, Phase::spawn,
                    fmt::format("cannot start {}: {}", request.program, reason),
                    "try to run it there by hand"};
  if (step == Step::directory) {
    return {Errc::no_directory, Phase::spawn,
            fmt::format("working directory {}: {}", request.directory, reason),
            "create it there or start charmrun in a directory that all hosts have"};
  }
  if (step == Step::binding) {
    return {Errc::spawn_failed, Phase::spawn,
            fmt::format("cannot bind {} to {}: {}", request.program, wire::fold_ranges(request.cpus), reason),
            "leave out ++bind, or see the cpuset there"};
  }
  if (step != Step::exec) return other;
  const bool named = request.program.find('/') != std::string::npos;
  struct stat info {};
  if (error == ENOENT && named && ::stat(request.program.c_str(), &info) == 0) {
    return {Errc::not_executable, Phase::spawn,
            fmt::format("{}: its interpreter or loader is missing", request.program),
            "see its first line or `ldd`"};
  }
  if (error == ENOENT || error == ENOTDIR) {
    return {Errc::no_program, Phase::spawn,
            fmt::format("{}: {}", request.program, named ? "no such file" : "not found in PATH"),
            how_to_find(request)};
  }
  if (error == ENOEXEC) {
    return {Errc::not_executable, Phase::spawn,
            fmt::format("{}: not an executable of this host's architecture", request.program),
            "build it for this host, or use pathfix in the nodelist"};
  }
  if (error == EACCES) {
    return {Errc::not_executable, Phase::spawn,
            fmt::format("{}: not executable ({})", request.program, reason), "chmod +x it"};
  }
  return other;
}

std::vector<std::string> paths_of(const SpawnRequest& request) {
  return program_candidates(request.program, proto::value_of(request.environment, "PATH"));
}

/// Above 2, so that placing 0, 1, 2 never overwrites a source; `own` keeps what had to be opened for that.
int lift(int fd, int flags, UniqueFd& own) {
  if (fd < 0) {
    own.reset(::open("/dev/null", flags | O_CLOEXEC));
    fd = own.get();
  }
  if (fd < 0 || fd > 2) return fd;
  own.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  return own.get();
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> all;
  all.reserve(strings.size() + 1);
  for (const std::string& s : strings) all.push_back(const_cast<char*>(s.c_str()));
  all.push_back(nullptr);
  return all;
}

Result<pid_t> spawn(const SpawnRequest& request) {
  std::array<UniqueFd, 3> opened;
  Plan plan;
  plan.fds = {lift(request.input, O_RDONLY, opened[0]), lift(request.output, O_WRONLY, opened[1]),
              lift(request.error, O_WRONLY, opened[2])};
  if (std::find(plan.fds.begin(), plan.fds.end(), -1) != plan.fds.end()) {
    return Error{Errc::spawn_failed, Phase::spawn,
                 fmt::format("cannot start {}: out of file descriptors", request.program), "raise ulimit -n"};
  }
  const std::vector<std::string> paths = paths_of(request);
  plan.paths = pointers(paths);
  plan.arguments = pointers(request.arguments);
  plan.environment = pointers(request.environment);
  static const std::string kShell = "sh";
  plan.shell = {const_cast<char*>(kShell.c_str()), const_cast<char*>(kShell.c_str())};
  plan.shell.insert(plan.shell.end(), plan.arguments.begin() + 1, plan.arguments.end());
  plan.directory = request.directory.empty() ? nullptr : request.directory.c_str();
  plan.parent = ::getpid();
  plan.inherited = request.inherited;
  plan.cgroup = request.cgroup;
  plan.descriptor_limit = &inherited_descriptor_limit();
  plan.soft_limits = limits_for(request.limits);
  plan.dies_with_parent = request.dies_with_parent;
  plan.fixed_addresses = request.fixed_addresses;
  plan.on_terminal = request.on_terminal;
  plan.held = request.held;
  plan.cpus = cpu_mask(request.cpus);

  // A handler that ran in the child would run in our memory: no signal until it has none.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  volatile Told told;
  const pid_t pid = start_child(plan, told);
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    return Error{Errc::spawn_failed, Phase::spawn,
                 fmt::format("cannot create a process: {}", strerror(fork_error)), "see ulimit -u"};
  if (told.error != 0) {
    ::waitpid(pid, nullptr, 0);
    return explain(request, told.failed, told.error);
  }
  if (told.is_traced) leave_stopped(pid);
  return pid;
}

namespace {

/// It has an effect at the next exec only, so that trying costs nothing.
bool try_to_fix_addresses() {
  const int own = ::personality(0xFFFFFFFF);
  if (own != -1 && (own & ADDR_NO_RANDOMIZE) != 0) return true;
  const bool can = own != -1 && ::personality(ADDR_NO_RANDOMIZE | own_personality()) != -1;
  if (can) ::personality(static_cast<unsigned long>(own));
  if (can) return true;
  const auto setting = read_file("/proc/sys/kernel/randomize_va_space", 16);
  return setting && *setting == "0\n";
}

}  // namespace

bool can_fix_addresses() {
  static const bool can = try_to_fix_addresses();
  return can;
}

Result<std::string> file_to_execute(const SpawnRequest& request) {
  int error = ENOENT;
  for (const std::string& path : paths_of(request)) {
    const int found = execution_error(path);
    if (found == 0) return path;
    if (found != ENOENT && found != ENOTDIR) error = found;
  }
  return explain(request, Step::exec, error);
}

DescriptorLimit spawned_descriptor_limit() {
  const rlimit& limit = inherited_descriptor_limit();
  return {limit.rlim_cur, limit.rlim_max};
}

wire::SoftLimits spawned_limits(const wire::SoftLimits& asked) {
  const auto limits = limits_for(asked);
  wire::SoftLimits spawned;
  for (std::size_t i = 0; i < kSoftLimits.size(); ++i)
    spawned.*kSoftLimits[i].bytes_or_count = limits[i].rlim_cur;
  return spawned;
}

void take_all_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGXFSZ, SIG_IGN);
}

void restore_usual_signals() {
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
}

void raise_descriptor_limit() {
  rlimit limit = inherited_descriptor_limit();
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  rlimit stack = inherited_stack_limit();
  stack.rlim_cur = std::max(stack.rlim_cur, std::min<rlim_t>(stack.rlim_max, kOwnStack));
  ::setrlimit(RLIMIT_STACK, &stack);
}

std::size_t most_links() {
  constexpr std::uint64_t kPerLink = 4, kLeastForElse = 32;
  const std::uint64_t open_files = inherited_descriptor_limit().rlim_max;
  const std::uint64_t for_else = std::max(open_files / 4, kLeastForElse);
  return static_cast<std::size_t>(open_files < for_else + kPerLink ? 1 : (open_files - for_else) / kPerLink);
}

}  // namespace charmtree::io
