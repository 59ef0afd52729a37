// SPDX-License-Identifier: Apache-2.0
// Asio's functions, once (BOOST_ASIO_SEPARATE_COMPILATION).
#include "tree/io/asio.hpp"

#include <boost/asio/impl/src.hpp>
