// SPDX-License-Identifier: Apache-2.0
// The page of ++dashboard: charmrun/view/dashboard.html, made part of the program by CMake.
#pragma once

#include <string_view>

namespace charmtree {

extern const std::string_view kDashboardPage;

}  // namespace charmtree
