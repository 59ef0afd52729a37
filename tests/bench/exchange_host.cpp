// SPDX-License-Identifier: Apache-2.0
// What a node table of very many processes costs a host.
//
//     exchange_host code PROCESSES PER_HOST        coded and decoded: CPU time, bytes
//     exchange_host share PROCESSES PER_HOST       shared by so many processes of one host: memory, time of a
//     get
//
// `share` is a launcher for real clients: its listener, its server and libcharmtree; only the other hosts are
// missing. Both print lines `name value...`.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "client-lib/charmtree.h"
#include "tree/base/random.hpp"
#include "tree/clients/native_server.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/client_listener.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/native_message.hpp"
#include "tree/wire/shared_table.hpp"

namespace {

using namespace charmtree;

double milliseconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "exchange_host: %s\n", what);
  std::_Exit(1);
}

/// Of which port each process has: the ones of a host count up from a base, or each has any.
enum class Ports : std::uint8_t { base, random };

wire::NodeTable table_of(std::uint32_t processes, std::uint32_t each, Ports ports) {
  Random chance{1};
  const auto draw = [&] { return static_cast<std::uint16_t>(32768 + chance.below(28'000)); };
  wire::NodeTable table{1, 1, {}};
  for (std::uint32_t host = 0; host * each < processes; ++host) {
    wire::TupleBlock block{host, host * each, wire::Address{0x0A000001 + host}, {}};
    std::uint16_t port = draw();
    for (std::uint32_t i = 0; i < std::min(each, processes - host * each); ++i) {
      block.tuples.push_back({port, {}});
      port = ports == Ports::base ? static_cast<std::uint16_t>(port + 1) : draw();
    }
    table.blocks.push_back(std::move(block));
  }
  return table;
}

/// As a native client has it: the two bytes of its port.
wire::NodeTable native_table_of(std::uint32_t processes, std::uint32_t each, Ports ports = Ports::random) {
  wire::NodeTable table = table_of(processes, each, ports);
  for (wire::TupleBlock& block : table.blocks) {
    for (wire::Tuple& tuple : block.tuples) {
      tuple.data = {static_cast<char>(tuple.port & 0xFF), static_cast<char>(tuple.port >> 8)};
      tuple.port = 0;
    }
  }
  return table;
}

void code(const char* name, const wire::NodeTable& table) {
  constexpr int kRounds = 7;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    const wire::Blob coded = wire::encode(table);
    const double middle = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    const auto decoded = wire::decode_table(*coded);
    const double end = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    check(decoded && decoded->blocks == table.blocks, "decoded is not what was coded");
    std::printf("%s %.3f %.3f %.4f\n", name, middle - begin, end - middle,
                static_cast<double>(coded->size()) / table.processes());
  }
}

/// What goes over each link when one process of a native job was started again elsewhere.
void change() {
  wire::Renewed renewed{2, {{123'456, 999'999, wire::Address{0x0A00FFFF}, {{0, "\x12\x34"}}}}};
  std::printf("change %zu\n", wire::encode_frames(renewed)->size());
}

/// In kB.
double pss_of(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/smaps_rollup"};
  for (std::string word; file >> word;) {
    double value = 0;
    if (word == "Pss:" && file >> value) return value;
  }
  check(false, "no smaps_rollup");
  return 0;
}

/// What one byte of so many takes that lie where all processes could read them, if the place of each is known
/// with the one before: no lookup can be quicker.
double read_ns(std::size_t size, const std::vector<int>& ranks, std::size_t& bytes) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, "no memory");
  std::memset(memory, 1, size);
  const double begin = milliseconds(CLOCK_MONOTONIC);
  for (const int rank : ranks)
    bytes +=
        static_cast<const unsigned char*>(memory)[(static_cast<std::size_t>(rank) * 4096 + bytes % 2) % size];
  const double took = milliseconds(CLOCK_MONOTONIC) - begin;
  ::munmap(memory, size);
  return took * 1e6 / static_cast<double>(ranks.size());
}

/// A client: `go` and `done` are pipes to and from its launcher.
int client(std::uint32_t processes, int go, int done) {
  char byte = 'x';
  const auto step = [&] { check(::write(done, &byte, 1) == 1 && ::read(go, &byte, 1) == 1, "a pipe"); };
  ct_job* job = nullptr;
  check(ct_init(&job) == CT_OK && ct_register(job, "ab", 2) == CT_OK, "ct_init");
  std::vector<int> ranks(4U << 20);
  Random chance{static_cast<std::uint64_t>(ct_local_rank(job))};
  for (int& rank : ranks) rank = static_cast<int>(chance.below(processes));
  step();
  ct_peer peer{};
  check(ct_table(job) == CT_OK, "ct_table");
  std::size_t bytes = 0;
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    check(ct_lookup(job, static_cast<int>(rank), &peer) == CT_OK, "ct_lookup");
    bytes += peer.size + static_cast<unsigned char>(*static_cast<const char*>(peer.tuple));
  }
  step();
  if (ct_local_rank(job) == 0) {
    for (int round = 0; round < 5; ++round) {
      const double begin = milliseconds(CLOCK_MONOTONIC);
      for (const int rank : ranks) {
        ct_lookup(job, rank, &peer);
        bytes += static_cast<unsigned char>(*static_cast<const char*>(peer.tuple));
      }
      std::printf("get_ns %.1f\n",
                  (milliseconds(CLOCK_MONOTONIC) - begin) * 1e6 / static_cast<double>(ranks.size()));
    }
    const auto each = static_cast<std::uint32_t>(ct_local_size(job));
    const std::size_t size = wire::shared_form(native_table_of(processes, each)).size();
    for (int round = 0; round < 5; ++round) std::printf("read_ns %.1f\n", read_ns(size, ranks, bytes));
  }
  check(bytes > 0, "nothing read");
  std::fflush(stdout);
  step();
  std::_Exit(0);
}

class Launcher {
public:
  Launcher(std::uint32_t processes, std::uint32_t each)
      : processes_(processes), each_(each), server_({0, each, processes}, 0, 1) {
    char folder[] = "/tmp/exchange-XXXXXX";
    check(::mkdtemp(folder) != nullptr, "no folder");
    folder_ = folder;
    check(listener_.open(folder_ + "/native").ok(), "no socket");
    ::setenv("CHARMTREE_SOCKET", (folder_ + "/native").c_str(), 1);
  }
  ~Launcher() {
    for (const Client& each : clients_) ::kill(each.pid, SIGKILL);
    for (const Client& each : clients_) ::waitpid(each.pid, nullptr, 0);
    ::unlink((folder_ + "/native").c_str());
    ::rmdir(folder_.c_str());
  }

  void run() {
    for (std::uint32_t i = 0; i < each_; ++i) start(i);
    until([&] { return registered_ == each_; });
    all_step();
    const double before = pss();
    const wire::NodeTable table = native_table_of(processes_, each_);
    const double one = static_cast<double>(wire::shared_form(table).size()) / 1024;
    proto::ClientOutputs outputs;
    server_.table(wire::encode(table), outputs);
    const double begin = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    obey(outputs);
    listener_.flush();
    const double took = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    go();
    all_step();
    std::printf("memory_kb %.0f %.0f %.0f\n", one, before, pss());
    std::printf("handed_out_ms %.3f\n", took);
    std::fflush(stdout);
    go();
    all_step();
  }

private:
  struct Client {
    pid_t pid;
    int go, done;
  };
  void start(std::uint32_t number) {
    int go[2], done[2];
    check(::pipe(go) == 0 && ::pipe(done) == 0, "no pipe");
    ::setenv("CHARMTREE_PROCESS", std::to_string(number).c_str(), 1);
    const pid_t pid = ::fork();
    if (pid == 0) client(processes_, go[0], done[1]);
    ::close(go[0]);
    ::close(done[1]);
    clients_.push_back({pid, go[1], done[0]});
  }
  /// Each has come to its next step.
  void all_step() {
    char byte = 0;
    for (const Client& each : clients_) check(::read(each.done, &byte, 1) == 1, "a client has ended");
  }
  void go() {
    for (const Client& each : clients_) check(::write(each.go, "x", 1) == 1, "a client has ended");
  }
  double pss() const {
    double sum = 0;
    for (const Client& each : clients_) sum += pss_of(each.pid);
    return sum;
  }
  void until(const std::function<bool()>& done) {
    while (!done()) io_.run_one();
  }
  void heard(const proto::Event& event) {
    proto::ClientOutputs outputs;
    if (const auto* one = get_if<proto::ClientOpened>(&event))
      server_.opened(one->client, io::now(), outputs);
    else if (const auto* bytes = get_if<proto::ClientBytes>(&event))
      server_.received(bytes->client, bytes->bytes, io::now(), outputs);
    obey(outputs);
  }
  void obey(proto::ClientOutputs& outputs) {
    for (proto::ClientOutput& output : outputs) {
      if (holds_alternative<proto::Registered>(output)) ++registered_;
      if (auto* send = get_if<proto::ToClient>(&output))
        listener_.send(send->client, std::move(send->bytes), std::move(send->tail), send->shared);
    }
  }

  std::uint32_t processes_, each_;
  proto::NativeServer server_;
  io::asio::io_context io_{1};
  io::ClientListener listener_{io_,
                               {[this](const proto::Event& event) { heard(event); }, [](std::string) {}}};
  std::string folder_;
  std::vector<Client> clients_;
  std::uint32_t registered_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  check(argc == 4, "usage: exchange_host code|share PROCESSES PER_HOST");
  const std::string what = argv[1];
  const auto processes = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto each = static_cast<std::uint32_t>(std::atoi(argv[3]));
  if (what == "share") {
    Launcher{processes, each}.run();
    return 0;
  }
  code("base", table_of(processes, each, Ports::base));
  code("random", table_of(processes, each, Ports::random));
  code("native", native_table_of(processes, each));
  code("counted", native_table_of(processes, each, Ports::base));
  change();
  return 0;
}
