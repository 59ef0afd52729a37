// SPDX-License-Identifier: Apache-2.0
// What a charmrun says that starts nothing: text for people, or JSON for tools.
#pragma once

#include <optional>
#include <string>

#include "charmrun/cli/options.hpp"
#include "charmrun/view/event_writer.hpp"

namespace charmtree {

/// `error`: an errno.
void complain_of_output(int error);

/// Where ++json is to go; nothing: nowhere.
Result<std::optional<EventWriter>> open_events(const Options& options);

/// `text` for people, and `json` for ++json; on stdout that takes the place of the text. `status`: if all
/// could be written.
int tell(const std::optional<EventWriter>& place, const std::string& text, const std::string& json,
         int status);

}  // namespace charmtree
