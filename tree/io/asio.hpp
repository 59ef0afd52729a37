// SPDX-License-Identifier: Apache-2.0
// The only way to Boost: <utility> first (Asio of Boost 1.74 forgets it in C++20), then exactly what we
// use.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

namespace charmtree::io {
namespace asio = boost::asio;
using error_code = boost::system::error_code;
using system_error = boost::system::system_error;
}  // namespace charmtree::io
