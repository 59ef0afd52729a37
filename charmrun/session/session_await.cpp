// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/session_await.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "charmrun/control/status_service.hpp"
#include "charmrun/control/status_text.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/clock.hpp"

namespace charmtree {

namespace {

constexpr auto kPause = std::chrono::milliseconds{50};

/// Its second word is ++session, and it is ours.
bool is_session_process(const std::string& pid) {
  const std::string folder = "/proc/" + pid;
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  std::ifstream words(folder + "/cmdline", std::ios::binary);
  std::string word;
  return std::getline(words, word, '\0') && std::getline(words, word, '\0') && word == "++session";
}

/// A session that does not answer yet. `known`: the pids of those that do.
bool is_one_starting(const std::set<std::uint64_t>& known) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes{::opendir("/proc"), ::closedir};
  if (!processes) return false;
  while (const dirent* entry = ::readdir(processes.get())) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!known.contains(std::stoull(name)) && is_session_process(name)) return true;
  }
  return false;
}

}  // namespace

Result<std::string> await_session(const std::string& wanted,
                                  const std::function<void(const std::string&)>& say) {
  const Instant begun = io::now();
  bool told = false;
  io::asio::io_context io{1};
  io::asio::steady_timer pause{io};
  for (;;) {
    const std::vector<std::string> answers = control::ask_running_jobs();
    auto chosen = control::choose_session(answers, wanted);
    if (chosen || control::count_sessions(answers, wanted) > 0) return chosen;
    const bool starting = is_one_starting(control::pids_of(answers));
    if (io::now() - begun > (starting ? kSessionStarts : kProcessStarts)) return chosen;
    if (starting && !std::exchange(told, true)) say("waiting for the session that is starting");
    pause.expires_after(kPause);  // nobody tells when a name is taken
    pause.wait();
  }
}

}  // namespace charmtree
