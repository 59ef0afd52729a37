// SPDX-License-Identifier: Apache-2.0
// A host's PMIx helper that is out of its mind: a script of what it says, well-formed or not, and of what
// comes from other hosts, run against a PmixServer whose promises are checked.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/fuzz/script.hpp"
#include "tree/clients/pmix/pmix_server.hpp"

namespace {

using namespace charmtree;
using namespace charmtree::proto;

using charmtree::fuzz::require;

class World {
public:
  World() {
    ClientOutputs out;
    server_.opened(kHelper, {}, out);
    require(out.size() == 1);
    hear(out);
  }
  /// A line of a script: the first byte says what happens, the second to whom.
  void step(std::string_view line) {
    ClientOutputs out;
    const auto at = [&](std::size_t place) {
      return place < line.size() ? static_cast<std::uint8_t>(line[place]) : std::uint8_t{0};
    };
    const std::string rest{line.substr(std::min<std::size_t>(line.size(), 2))};
    const std::uint32_t process = at(1) % kTotal;
    const auto says = [&](const pmix::Message& message) { receive(pmix::encode(message), out); };
    switch (at(0)) {
      case 'S':
        says(pmix::Serving{at(2) % 3U * kTotal, std::vector<std::vector<std::string>>(at(1) % 8, {"A=b"})});
        break;
      case 'X':
        says(pmix::Failed{rest, rest});
        break;
      case 'c':
        says(pmix::Connected{process});
        break;
      case 'z':
        says(pmix::Finalized{process});
        break;
      case 'b':
        says(pmix::Aborting{process, at(2), rest});
        break;
      case 'e':
        says(pmix::Entered{at(1), {{0, kTotal - 1}}, rest});
        break;
      case 'E':
        says(pmix::Entered{at(1), {{at(2), at(3)}, {at(4), at(5)}}, rest});
        break;
      case 'i':
        says(pmix::Inquiring{at(1), at(2)});
        break;
      case 'n':
        says(pmix::Naming{at(2), process, wire::NameInquiry::Deed{static_cast<std::uint8_t>(at(3) % 5)}, rest,
                          rest});
        break;
      case 'w':
        says(pmix::Bearing{at(2), process, {{{0, {rest}, {rest}, false, rest}, at(3), {rest}}}});
        break;
      case 'g':
        says(pmix::Given{at(1), "", rest});
        break;
      case 'l':
        says(pmix::Logged{at(2), process, rest});
        break;
      case 'h':
        says(pmix::Heard{process});
        break;
      default:
        others(line, out);
    }
    hear(out);
  }

private:
  static constexpr std::uint32_t kFirst = 2, kCount = 3, kTotal = 6;
  static constexpr ClientId kHelper = 7;
  enum Past { joined = 1, ended = 2, aborted = 4, lost = 8 };

  /// What comes from other hosts, or is no message.
  void others(std::string_view line, ClientOutputs& out) {
    const auto at = [&](std::size_t place) {
      return place < line.size() ? static_cast<std::uint8_t>(line[place]) : std::uint8_t{0};
    };
    const std::string rest{line.substr(std::min<std::size_t>(line.size(), 2))};
    const std::uint32_t process = at(1) % kTotal;
    const auto service = static_cast<std::uint8_t>(ClientKind::pmix);
    switch (at(0)) {
      case 'x':
        if (is_open_) server_.closed(kHelper, {}, out);
        is_open_ = false;
        break;
      case 'f':
        server_.fenced(
            {{service, {{0, kTotal - 1}}, at(1) % 4U + 1}, rest, std::make_shared<const std::string>(rest)},
            out);
        break;
      case 'a':
        server_.answered({process, at(2) % kTotal, {service, at(1)}, "", rest}, out);
        break;
      case 'q':
        server_.inquired({kFirst + at(1) % kCount, process, {service, at(2)}}, out);
        break;
      case 'L':
        server_.lost({{process, process}}, out);
        break;
      case 'W': {
        const std::uint32_t first = total_, count = 1U + at(2) % 3;
        total_ += count;
        server_.begun({service, process, {{first, {"a"}, {}, true, {}}}, {{2, first, count}}, rest}, out);
        break;
      }
      case 't':
        server_.tick(kNever, out);
        break;
      default:
        receive(rest, out);
    }
  }
  static wire::JobSpec job() {
    wire::JobSpec job;
    job.processes = kTotal;
    job.spawn.mpi = {wire::MpiService::Pmi::none,
                     wire::MpiService::Pmix::needed,
                     {{0, 1, 2}, {1, 1, 3}, {2, 1, 1}},
                     {"a", "a", "b"}};
    return job;
  }
  void receive(const std::string& bytes, ClientOutputs& out) {
    if (is_open_) server_.received(kHelper, bytes, {}, out);
  }
  void hear(const ClientOutputs& out) {
    for (const ClientOutput& output : out) dispatch([this](const auto& o) { check(o); }, output);
  }
  void become(std::uint32_t process, int what, int only_from) {
    require(process >= kFirst && process < kFirst + kCount && is_ready_);
    require(past_[process] == only_from);
    past_[process] |= what;
  }

  void check(const ToClient& o) {
    require(is_open_ && o.client == kHelper);
    said_.append(o.bytes);
    const auto message = said_.next();
    require(message && *message);
  }
  void check(const CloseClient& o) {
    require(o.client == kHelper && is_open_);
    is_open_ = false;
  }
  void check(const ServerReady& o) {
    require(o.variables.empty() || o.variables.size() == kCount);
    require(!o.failure || !is_ready_);
    is_ready_ = is_ready_ || !o.variables.empty();
  }
  void check(const Joined& o) { become(o.process, joined, 0); }
  void check(const Ended& o) { become(o.process, ended, joined); }
  void check(const Aborted& o) { become(o.process, aborted, joined); }
  void check(const ClientLost& o) { become(o.process, lost, joined); }
  void check(const FenceEntered& o) {
    require(o.processes > 0 && o.processes <= kCount && wire::is_sound(o.fence));
    require(o.fence.processes.back().last < total_ && o.given.size() <= kCount * wire::kMostGiven);
  }
  void check(const wire::Inquiry& o) { require(o.process == kFirst && o.about < total_ && o.id.number > 0); }
  void check(const wire::NameInquiry& o) { require(o.process >= kFirst && o.name.size() <= wire::kMostName); }
  void check(const wire::WorldWanted& o) {
    require((past_[o.process] & joined) != 0 && o.programs.size() == 1);
  }
  void check(const wire::InquiryReply& o) {
    require(o.process >= kFirst && o.process < kFirst + kCount && o.bytes.size() <= wire::kMostAnswered);
  }
  void check(const Printed& o) { require(o.process >= kFirst && o.process < kFirst + kCount); }
  void check(const ClientNote&) {}
  template <class Other>
  void check(const Other&) {
    require(false);
  }

  PmixServer server_{LocalProcesses{kFirst, kCount, kTotal}, job(), 1};
  pmix::Decoder said_{pmix::Decoder::From::launcher};
  std::uint32_t total_ = kTotal;
  bool is_open_ = true, is_ready_ = false;
  std::map<std::uint32_t, int> past_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World world;
  charmtree::fuzz::play(world, data, size);
  return 0;
}
