// SPDX-License-Identifier: Apache-2.0
// ++doctor: which launches without processes are made, one after the other, and what they tell. The first one
// starts all hosts from the root; the second one a host that did well, and from there all the others, but for
// those that did not answer after the login: nothing more would be learnt of them. So each host is logged in
// to once from each of two vantage points. Pure: the launches are made by the shell, with the launcher's own
// engine.
#pragma once

#include <optional>
#include <string>

#include "charmrun/doctor/checkup_record.hpp"
#include "tree/node/root_plan.hpp"

namespace charmtree {

class Doctor {
public:
  /// `plan` is that of a checkup of all hosts; see CheckupRecord for the rest.
  Doctor(RootPlan plan, std::int64_t wall_ms_at_zero);

  /// The plan of the next launch, the one before being over; nothing: no more are needed.
  std::optional<RootPlan> next();

  // News of the launch under way. Hosts are positions in its plan; what is told twice counts once.
  void failed(std::uint32_t host, const Error& error);
  void stamped(const wire::Stamps& stamps);
  void examined(const wire::Checkup& checkup);

  /// How far the launch under way is: "from h03: 7 of 9 hosts".
  std::string progress() const;
  const CheckupRecord& record() const { return record_; }

private:
  RootPlan from_root();
  std::optional<RootPlan> from_inner_host();
  void conclude();
  Visit* visit(std::uint32_t position);

  RootPlan plan_;
  CheckupRecord record_;
  std::optional<Vantage> from_;       // of the launch under way
  std::vector<std::uint32_t> order_;  // its hosts, as positions in record_.hosts
  std::size_t answered_ = 0;
};

}  // namespace charmtree
