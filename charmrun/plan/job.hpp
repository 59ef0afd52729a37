// SPDX-License-Identifier: Apache-2.0
// From the command line to a plan: reads the nodelist, asks ssh about its hosts, numbers the processes and
// describes the job. This is the part of the root that looks at the machine it is on; nothing is started
// here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/ccs_listener.hpp"
#include "charmrun/plan/history.hpp"
#include "tree/base/result.hpp"
#include "tree/node/root_plan.hpp"

namespace charmtree {

struct Job {
  RootPlan plan;
  std::vector<std::string> notes;    // for ++verbose
  std::vector<std::string> remarks;  // one line each, shown unless ++quiet
  /// Per host: the file and the name under which a host key taken on first use is remembered. Empty file:
  /// nowhere.
  struct KeyPlace {
    std::string file, name;
    bool hashed = false;
  };
  std::vector<KeyPlace> key_places;
  std::optional<CcsListener> ccs;  // clients of the running job are served there
  LoginCosts logins;
  std::string self;                     // argv[0]
  std::string history_file;             // where this launch's logins are to be remembered; empty: nowhere
  std::string nodelist, nodelist_text;  // its file, and what was in it; empty: there is none
  bool nodelist_is_read_once = false;   // HostSource
  bool gives_slots = false;             // that list
};

/// The job again with so many PEs, as the user would get it now; only hosts and profiles count. Errors as
/// make_job.
Result<Job> resized_job(const Options& options, const Job& job, std::uint32_t pes);

/// `self` is argv[0]. Errors are what the user must put right (bad_input, or what ssh said).
Result<Job> make_job(const Options& options, const std::string& self);

/// The same for a run in a session (Mode::in), on the hosts that were read from this text of the file
/// `nodelist`; empty: on this machine. What is of the session is not looked for.
Result<Job> make_run(const Options& options, const std::string& nodelist, const std::string& text);

}  // namespace charmtree
