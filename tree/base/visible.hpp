// SPDX-License-Identifier: Apache-2.0
// Text that may come from anywhere, as a terminal may be given it. Everything that charmrun says of itself
// passes through visible(); what programs print does not, but where it stands behind a label (kept_in_line).
#pragma once

#include <string>
#include <string_view>

namespace charmtree {

/// One line: control characters (C0 without the tab, DEL, C1 as bytes and as UTF-8), line separators, marks
/// that turn the direction of writing and whatever is no UTF-8 become \n, \r or \xHH. The rest stays as it
/// is; what is visible already is not changed.
std::string visible(std::string_view text);

/// A line of a program, with its newline if it has one, behind `label`: colours stay, and a carriage return
/// begins the line again, label and all; what could move the cursor or rule the terminal otherwise becomes
/// visible. So it cannot look like a line that has another label or none.
std::string kept_in_line(std::string_view line, std::string_view label);
/// All of it is printable ASCII, tabs and newlines: kept_in_line() changes none of its lines.
bool is_plain(std::string_view text);
/// kept_in_line() would change something. Precondition: nothing behind a newline.
bool leaves_line(std::string_view line);

}  // namespace charmtree
