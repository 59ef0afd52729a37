// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/singleton.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "charmrun/mpiexec/mpiexec_words.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::mpiexec {

namespace {

constexpr std::string_view kWord = "-pmi_args";
/// Every charmrun has this text, and no other mpiexec.
constexpr std::string_view kOurs = "an MPI program that was started without mpiexec wants to start others";

/// True for an executable of Hydra's, which has the word in its text; Open MPI's does not know it.
bool knows_singletons(const std::string& path) {
  constexpr std::size_t kMostBytes = 256U << 20;
  if (::access(path.c_str(), X_OK) != 0) return false;
  const auto text = io::read_file(path, kMostBytes);
  return text && text->find(kWord.substr(1)) != std::string::npos && text->find(kOurs) == std::string::npos;
}

std::string next_mpiexec() {
  const std::string path = io::own_variable("PATH").value_or("");
  for (const char* name : {"mpiexec", "mpiexec.hydra", "mpiexec.mpich"}) {
    for (const std::string& each : io::program_candidates(name, path)) {
      if (knows_singletons(each)) return each;
    }
  }
  return {};
}

/// The program waits in accept(): a connection that ends at once ends that.
void release(const std::string& word) {
  std::uint16_t port = 0;
  if (!read_whole(word, port)) return;
  const io::UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

bool is_for_singleton(std::span<const std::string> argv) {
  return argv.size() > 2 && is_mpiexec(argv[0]) && argv[1] == kWord;
}

std::string hand_on_singleton(std::span<const std::string> argv) {
  if (const std::string next = next_mpiexec(); !next.empty()) {
    std::vector<std::string> words{argv.begin(), argv.end()};
    words.front() = next;
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& each : words) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    ::execv(next.c_str(), pointers.data());
  }
  release(argv[2]);
  return std::string{kOurs} +
         ": charmrun does not serve that, and PATH has no mpiexec of MPICH that does; start "
         "the program by charmrun, or by mpiexec -n 1";
}

}  // namespace charmtree::mpiexec
