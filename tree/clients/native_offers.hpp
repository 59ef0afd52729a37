// SPDX-License-Identifier: Apache-2.0
// Values that native clients of this host offer under a key, and what they ask of others, one by one: of
// processes of this host here, of the others through the root (kvs/inquiries.hpp). Who asks too early waits
// where the process lives that is asked; so does its host, which asks again from time to time, since what is
// under way may be lost with a launcher. A process that listens is told who asks it for what, and may answer
// that one alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/clients/native_listeners.hpp"
#include "tree/clients/open_inquiries.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::proto {

class NativeOffers {
public:
  /// Of a process: keys, and their bytes with those of the values.
  static constexpr std::size_t kMostKeys = 1024, kMostBytes = 1U << 20;
  /// That a process has not been told.
  static constexpr std::size_t kMostAsks = 256;
  /// Other hosts' inquiries that wait; more are not kept, and come again.
  static constexpr std::size_t kMostWaiting = 1U << 16;

  /// `local`: of the job, on this host; must outlive the object.
  NativeOffers(const LocalProcesses& local, std::uint32_t host)
      : local_(local), asked_(std::uint64_t{host} << 32U) {}

  // Empty, or what is wrong with it.
  std::string offer(std::uint32_t process, wire::native::Offer offer, ClientOutputs& out);
  std::string ask(ClientId client, std::uint32_t process, wire::native::Ask ask, Instant now,
                  ClientOutputs& out);

  std::string listen(ClientId client, std::uint32_t process, wire::native::Listen listen, ClientOutputs& out);
  void answer(std::uint32_t process, const wire::native::Answer& answer, ClientOutputs& out);

  void inquired(const wire::Inquired& inquiry, ClientOutputs& out);
  void answered(const wire::Answered& answer, ClientOutputs& out);
  /// The process finalizes: it offers nothing more, but still answers what it listens for.
  void ended(std::uint32_t process, ClientOutputs& out);
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out);
  /// The connection of a process is gone.
  void forget(ClientId client, ClientOutputs& out);
  /// The process is gone: another one in its place has offered nothing yet.
  void vacate(std::uint32_t process) {
    offers_.erase(process);
    listeners_.vacate(process);
  }
  /// Nobody is told anything any more.
  void finish() {
    asked_.clear();
    waiting_.clear();
  }
  void tick(Instant now, ClientOutputs& out) { asked_.tick(now, out); }
  Instant next_deadline() const { return asked_.next_deadline(); }

private:
  struct Asker {
    ClientId client = 0;
    std::uint32_t process = 0;
    std::uint32_t id = 0;
  };
  using Key = std::pair<std::uint32_t, std::string>;  // of this process
  struct Offers {
    std::map<std::string, std::string> values = {};
    std::size_t bytes = 0;
    bool is_ended = false;
  };
  struct Found {
    std::string failure, value;
  };
  /// By what is asked, first of all.
  struct Inquirer {
    Key key;
    std::uint32_t process = 0;
    wire::InquiryId id;
    friend auto operator<=>(const Inquirer&, const Inquirer&) = default;
  };
  /// Nothing: it may be offered yet.
  std::optional<Found> answer_of(const Key& key) const;
  static void reply(const Inquirer& inquirer, const Found& answer, ClientOutputs& out);
  void tell(const Asker& asker, const Found& answer, ClientOutputs& out);
  /// Whoever waits for this is told, if it is known now.
  void settle(const Key& key, ClientOutputs& out);
  /// Each that waits for this and for whom it is meant.
  template <class IsFor>
  void settle_with(const Key& key, const Found& answer, IsFor is_for, ClientOutputs& out);
  /// ... for anything of this process.
  void settle_all_of(std::uint32_t process, ClientOutputs& out);

  /// What it listens for, and has not been told.
  void tell_asked(std::uint32_t process, ClientOutputs& out);
  /// ... for want of room, if there is room now.
  void tell_more(std::uint32_t process, ClientOutputs& out);

  const LocalProcesses& local_;
  NativeListeners listeners_;
  std::map<std::uint32_t, Offers> offers_;  // by process
  std::multimap<Key, Asker> waiting_;       // of this host
  std::set<Inquirer> inquired_;             // of other hosts
  OpenInquiries<Asker> asked_;              // of other hosts
  std::map<ClientId, std::size_t> asks_;    // that are not answered
  wire::ProcessSet lost_;
};

}  // namespace charmtree::proto
