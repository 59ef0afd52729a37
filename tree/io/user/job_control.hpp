// SPDX-License-Identifier: Apache-2.0
// Our place in the job control of the user's shell.
#pragma once

namespace charmtree::io {

/// Nobody could continue us if a key of our terminal stopped us: there is no shell with job control, as under
/// `ssh -t HOST charmrun` or `xterm -e`. The kernel ignores SIGTSTP there, unless it is handled.
bool is_alone_on_terminal();

}  // namespace charmtree::io
