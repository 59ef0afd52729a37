// SPDX-License-Identifier: Apache-2.0
// A job that goes on when processes are lost, or whose tree is repaired: what each loss means for it, and how
// it ends if nobody is left. Who is lost, and whom barriers wait for, is counted by Losses.
//
// Nobody goes on while processes wait in the node table for one that is lost and has not registered: the
// judge ends such a job. One that registered and is lost before the table is in it, and told behind it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tree/job/decision.hpp"
#include "tree/job/exit_record.hpp"
#include "tree/job/process_places.hpp"
#include "tree/job/registrations.hpp"
#include "tree/turn/losses.hpp"
#include "tree/wire/host.hpp"

namespace charmtree::proto {

class GoingOn {
public:
  /// What it looks at. All must outlive this object.
  struct Sources {
    const wire::JobSpec& job;
    const std::vector<Host>& hosts;
    const ProcessPlaces& places;
    const Registrations& registrations;
  };
  /// Ends are also noted in `exits`.
  GoingOn(const Sources& sources, ExitRecord& exits) : of_(sources), exits_(exits), losses_(sources.job) {}

  /// Another root has told everybody of these.
  void resume(std::uint32_t epoch, const wire::ProcessSet& lost);

  bool goes_on_without(const wire::ProcessExit& exit) const;
  /// All processes of a link. Precondition: all hosts are up.
  bool goes_on_without(const wire::LinkLost& lost) const;
  /// It does.
  void lose(const wire::ProcessExit& exit);
  void lose(const wire::LinkLost& link);

  Losses& losses() { return losses_; }
  const Losses& losses() const { return losses_; }
  /// How the job ends if all are lost: by the first that was.
  const std::optional<Verdict>& first() const { return first_; }
  /// All have ended, or are lost. Precondition: some are lost.
  Verdict verdict_at_end() const;

private:
  bool goes_on() const { return of_.job.loss.recovery == wire::Recovery::go_on; }
  std::string others_of(const wire::LinkLost& link, const Losses::Ranges& lost) const;

  Sources of_;
  ExitRecord& exits_;
  Losses losses_;
  std::optional<Verdict> first_;
};

}  // namespace charmtree::proto
