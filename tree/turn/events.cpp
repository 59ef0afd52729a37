// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/events.hpp"

#include "tree/base/type_functions.hpp"

template struct charmtree::FunctionsOf<charmtree::proto::AnyEvent>;
template struct charmtree::FunctionsOf<charmtree::proto::AnyAction>;
