// SPDX-License-Identifier: Apache-2.0
// The user side of one launch of a ++doctor: news of hosts go to the doctor; on a terminal a line shows how
// far it is. What the doctor has to say in the end is not said here.
#pragma once

#include "charmrun/doctor/doctor.hpp"
#include "charmrun/view/console.hpp"

namespace charmtree {

class DoctorConsole : public Console {
public:
  /// `doctor` must outlive the console; so must `job`.
  DoctorConsole(io::asio::io_context& io, const Options& options, const Job& job, Doctor& doctor);

  void perform(io::UserAction action) override;

private:
  void record(const proto::Record& record);
  void examined(const wire::Checkup& checkup);

  Doctor& doctor_;
};

}  // namespace charmtree
