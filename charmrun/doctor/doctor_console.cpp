// SPDX-License-Identifier: Apache-2.0
#include "charmrun/doctor/doctor_console.hpp"

#include <utility>

#include "tree/base/overloaded.hpp"
#include "tree/io/clock.hpp"

namespace charmtree {

DoctorConsole::DoctorConsole(io::asio::io_context& io, const Options& options, const Job& job, Doctor& doctor)
    : Console(io, options, job, io::now()), doctor_(doctor) {}

void DoctorConsole::perform(io::UserAction action) {
  const Overloaded act{
      [this](proto::Record& a) { record(a); },
      [this](proto::Examined& a) { examined(a.checkup); },
      [this](auto& a) { Console::perform(std::move(a)); },
  };
  dispatch(act, action);
}

void DoctorConsole::record(const proto::Record& record) {
  if (!record.error) return doctor_.stamped(record.stamps);
  doctor_.failed(record.stamps.host, *record.error);
  progress_line(doctor_.progress());
}

void DoctorConsole::examined(const wire::Checkup& checkup) {
  doctor_.examined(checkup);
  progress_line(doctor_.progress());
}

}  // namespace charmtree
