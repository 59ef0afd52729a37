// SPDX-License-Identifier: Apache-2.0
#include "charmrun/told.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "charmrun/machinery.hpp"
#include "tree/base/exit_status.hpp"
#include "tree/io/write_error.hpp"

namespace charmtree {

void complain_of_output(int error) {
  complain({Errc::internal, Phase::run, "cannot write to stdout: " + io::write_error(error), {}});
}

Result<std::optional<EventWriter>> open_events(const Options& options) {
  std::optional<EventWriter> events;
  if (options.view.json.empty()) return events;
  auto opened = EventWriter::open(options.view.json);
  if (!opened) return opened.error();
  events = std::move(*opened);
  return events;
}

int tell(const std::optional<EventWriter>& place, const std::string& text, const std::string& json,
         int status) {
  if (place) {
    if (const auto written = place->write_now(json); !written)
      return complain(written.error()), kLauncherFailed;
    if (place->on_stdout()) return status;
  }
  if ((std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) && errno != EPIPE)
    return complain_of_output(errno), kLauncherFailed;
  return status;
}

}  // namespace charmtree
