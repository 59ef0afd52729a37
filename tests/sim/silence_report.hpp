// SPDX-License-Identifier: Apache-2.0
// A run's figures, for people.
#pragma once

#include <string>

#include "tests/sim/silence_record.hpp"
#include "tests/sim/silence_settings.hpp"

namespace charmtree::silence {

/// Several lines.
std::string tables(const Settings& settings, const Record& record);

}  // namespace charmtree::silence
