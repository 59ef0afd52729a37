// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/ccs_listener.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "charmrun/plan/own_address.hpp"
#include "tree/io/host/own_addresses.hpp"
#include "tree/io/host/runner.hpp"
#include "tree/wire/ipv4.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

Result<CcsListener> ccs_listener(const Options& options) {
  if (!options.ccs.host.empty()) {
    in_addr text{};
    const bool read = ::inet_pton(AF_INET, options.ccs.host.c_str(), &text) == 1;
    const std::uint32_t address = read ? ntohl(text.s_addr) : 0;
    if (!read || !io::is_own_address(address)) {
      return Error{
          Errc::bad_input, Phase::options,
          fmt::format("'{}' (++server-host, $CHARMTREE_SERVER_HOST) is no IPv4 address of this machine",
                      quotable(options.ccs.host)),
          "127.0.0.1 keeps the port to this machine; `ip -4 addr` shows the others"};
    }
    if (address == INADDR_LOOPBACK) return CcsListener{address, {address}};
    return CcsListener{address, {address, INADDR_LOOPBACK}};
  }
  const auto chosen = chosen_address(options);
  if (!chosen) return chosen.error();
  const std::uint32_t address = *chosen != 0 ? *chosen : io::interface_address();
  if (address == 0) return CcsListener{INADDR_LOOPBACK, {INADDR_LOOPBACK}};
  if (!io::is_own_address(address))
    return CcsListener{address, {INADDR_ANY}};  // behind a translation of addresses
  return CcsListener{address, {address, INADDR_LOOPBACK}};
}

Result<std::string> open_ccs(const Options& options, const CcsListener& listener, io::Runner& runner) {
  const auto port = runner.open_to_clients(listener.listening, static_cast<std::uint16_t>(options.ccs.port),
                                           options.ccs.any_user);
  if (!port) {
    Error error = port.error();
    error.fix = "++server-port chooses another port, none a free one";
    return error;
  }
  const bool scalable = !options.view.quiet && options.launch.scalable_start;
  return fmt::format("{}{}ccs: 2\nccs: Server IP = {}, Server port = {} $\n",
                     scalable ? "Charmrun> scalable start enabled. \n" : "", listener.keys_made,
                     wire::dotted(listener.announced), *port);
}

}  // namespace charmtree
