// SPDX-License-Identifier: Apache-2.0
// PMIx, by which processes of Open MPI find each other. Its words, its store and its connections are those of
// OpenPMIx's own library, which runs in a helper on each host (tree/io/pmix); this server is what the helper
// asks: it has processes join and end, and fences carried over the tree. The helper is its one connection.
//
// A process has Joined when it has connected to the helper, and Ended when it has finalised; after that its
// exit status counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tree/clients/mpi_server.hpp"
#include "tree/clients/open_inquiries.hpp"
#include "tree/clients/pmix/counted_groups.hpp"
#include "tree/clients/pmix/pmix_message.hpp"

namespace charmtree::proto {

class PmixServer : public MpiServer {
public:
  /// `own`: index of this host.
  PmixServer(LocalProcesses local, const wire::JobSpec& job, std::uint32_t own);

  void opened(ClientId client, Instant now, ClientOutputs& out) override;
  void received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) override;
  void closed(ClientId client, Instant now, ClientOutputs& out) override;
  void tick(Instant now, ClientOutputs& out) override { inquiries_.tick(now, out); }
  Instant next_deadline() const override { return inquiries_.next_deadline(); }

  void fenced(const FenceDone& fence, ClientOutputs& out) override;
  void inquired(const wire::Inquired& inquiry, ClientOutputs& out) override;
  void answered(const wire::Answered& answer, ClientOutputs& out) override;
  void begun(const wire::WorldBegun& world, ClientOutputs& out) override;
  void join(std::uint32_t process) override;
  void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) override;
  void exited(std::uint32_t process, ClientOutputs& out) override;

  /// Inquiries of this host, and of others to it, that are open at a time.
  static constexpr std::size_t kMostInquiries = 1U << 16;

private:
  enum class Stage : std::uint8_t { silent, joined, ended };

  Stage* stage_of(std::uint32_t process);
  /// An inquiry of this host's that is open: the helper's call, and what it is for.
  enum class Subject : std::uint8_t { process, name, world };
  struct Asker {
    std::uint64_t call = 0;
    Subject subject = Subject::process;
  };
  void tell(const Asker& asker, const std::string& failure, const std::string& bytes,
            ClientOutputs& out) const;
  /// Empty, or what is wrong with it: the helper is then dropped.
  std::string on(const pmix::Serving& message, ClientOutputs& out);
  std::string on(const pmix::Failed& message, ClientOutputs& out);
  std::string on(const pmix::Connected& message, ClientOutputs& out);
  std::string on(const pmix::Finalized& message, ClientOutputs& out);
  std::string on(pmix::Aborting& message, ClientOutputs& out);
  std::string on(pmix::Entered& message, ClientOutputs& out);
  std::string on(const pmix::Inquiring& message, ClientOutputs& out);
  std::string on(pmix::Naming& message, ClientOutputs& out);
  std::string on(pmix::Bearing& message, ClientOutputs& out);
  std::string on(pmix::Given& message, ClientOutputs& out);
  std::string on(pmix::Logged& message, ClientOutputs& out);
  std::string on(const pmix::Heard& message, ClientOutputs& out);
  template <class M>
  std::string on(const M&, ClientOutputs&) {
    return "it says what its launcher does";
  }
  void lose_helper(const std::string& why, const std::string& fix, ClientOutputs& out);
  void tell(const pmix::Message& message, ClientOutputs& out) const;

  /// Of the hosts of `shares`, in the order in which they come there.
  pmix::Describe describe(const std::vector<wire::Share>& shares) const;

  LocalProcesses local_;
  std::uint32_t own_;
  std::vector<std::string> nodes_;      // names, by host
  std::vector<pmix::Describe> worlds_;  // the job's own first
  bool is_needed_;
  std::optional<ClientId> helper_;
  pmix::Decoder decoder_{pmix::Decoder::From::helper};
  bool is_ready_ = false;
  std::set<std::uint32_t> served_;  // worlds, by their first processes
  std::vector<Stage> stages_;       // by rank
  CountedGroups groups_;
  std::map<wire::Fence, std::uint64_t> open_;  // with the helper's call
  OpenInquiries<Asker> inquiries_;
  std::map<std::uint64_t, wire::Inquired> wanted_;  // of others, by the call that the helper is to answer
  std::uint64_t last_call_ = 0;
  Instant now_{};
  wire::ProcessSet lost_;  // of the job
};

}  // namespace charmtree::proto
