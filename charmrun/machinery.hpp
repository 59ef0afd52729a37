// SPDX-License-Identifier: Apache-2.0
// What main's parts have in common.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "charmrun/view/own_line.hpp"
#include "tree/base/error.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/runner.hpp"
#include "tree/io/link/process_transport.hpp"
#include "tree/io/resolver.hpp"
#include "tree/io/ssh/ssh_transport.hpp"

namespace charmtree {

/// What every launcher, root or not, has.
struct Machinery {
  io::asio::io_context io{1};
  io::ChildWatch watch{io};
  io::Resolver resolver{io};
  io::LocalTransport local{io, watch};
  io::CommandTransport command{io, watch};
  io::SshTransport ssh{io, resolver};

  io::Transport* mpiexec = nullptr;  // takes the place of all commands

  io::Transports transports() { return {&local, &ssh, mpiexec != nullptr ? mpiexec : &command}; }
};

inline std::uint64_t seed() {
  return static_cast<std::uint64_t>(io::now().time_since_epoch().count()) * 2654435761U +
         static_cast<std::uint64_t>(::getpid());
}

inline void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// To stderr, at once. Where there is a Console, that is the one to say it.
inline void print_own_line(proto::Tone tone, const std::string& text) {
  std::fputs(own_line(tone, text).c_str(), stderr);
}
inline void complain(const Error& error) {
  std::fputs(error_lines(error).c_str(), stderr);
}

}  // namespace charmtree
