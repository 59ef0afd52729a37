// SPDX-License-Identifier: Apache-2.0
// What a process of a host is started as: which file, with which words, in which environment and folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/io/spawn.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree::io {

/// What its host has for it. All of it must outlive the object.
struct ProcessHost {
  const wire::JobSpec& job;
  const Host& self;
  const std::vector<std::string>& environment;  // of all its processes
  const std::string& socket;                    // of native clients
  std::uint16_t port;                           // of Charm++ clients
  const std::string& staged;                    // the folder of the job's files; empty: it has none
};

/// `more`: behind its own arguments.
SpawnRequest request_of(const ProcessHost& host, std::uint32_t process,
                        const std::vector<std::string>& more = {});

/// What is executed as that process's program; a path, or a name that is looked up in PATH.
std::string file_of(const ProcessHost& host, std::uint32_t process);

/// Where it runs.
const std::string& directory_of(const wire::JobSpec& job, const Host& self, std::uint32_t process);

/// The first process that each program has there, as far as that is known already.
std::vector<std::uint32_t> first_processes(const wire::JobSpec& job, const Host& self);

}  // namespace charmtree::io
