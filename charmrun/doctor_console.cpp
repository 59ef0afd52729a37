// SPDX-License-Identifier: Apache-2.0
#include "charmrun/doctor_console.hpp"

#include <unistd.h>

#include "tree/io/clock.hpp"

namespace charmtree {

namespace {
constexpr const char* kToLineStart = "\r\033[K";  // ECMA-48: erase in line
}

DoctorConsole::DoctorConsole(io::asio::io_context& io, const Options& options, const Job& job, Doctor& doctor)
    : Console(io, options, job, io::now()),
      doctor_(doctor),
      terminal_(::isatty(STDERR_FILENO) != 0 && !options.quiet) {}

void DoctorConsole::say(proto::Tone tone, const std::string& line) {
  end_progress();
  Console::say(tone, line);
}

void DoctorConsole::record(const proto::Record& record) {
  if (!record.error) return doctor_.stamped(record.stamps);
  doctor_.failed(record.stamps.host, *record.error);
  show_progress();
}

void DoctorConsole::examined(const wire::Checkup& checkup) {
  doctor_.examined(checkup);
  show_progress();
}

void DoctorConsole::show_progress() {
  if (!terminal_) return;
  showing_ = true;
  write(proto::Stream::err, kToLineStart + doctor_.progress());
}

void DoctorConsole::end_progress() {
  if (showing_) write(proto::Stream::err, kToLineStart);
  showing_ = false;
}

}  // namespace charmtree
