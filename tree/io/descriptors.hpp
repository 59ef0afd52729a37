// SPDX-License-Identifier: Apache-2.0
// All descriptors from one on. glibc has closefrom since 2.34, and kernels close_range since 5.9; hosts are
// older.
#pragma once

namespace charmtree::io {

/// In a process of one thread.
void close_from(int first);
/// No program that is started inherits them.
void keep_from_programs(int first);

}  // namespace charmtree::io
