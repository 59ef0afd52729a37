// SPDX-License-Identifier: Apache-2.0
#include "health/verdict.hpp"

#include <fmt/format.h>

namespace charmtree::health {

Error explain(const Verdict& verdict) {
  const double silence = seconds(verdict.silence);
  switch (verdict.cause) {
    case Symptom::gone:
      return {Errc::link_lost, Phase::run,
              fmt::format("the host is gone: silent for {:.1f} s, and it does not answer", silence),
              "is it up, and its network?"};
    case Symptom::half_open:
      return {
          Errc::link_lost, Phase::run,
          fmt::format("the connection is dead: silent for {:.1f} s, and nothing is acknowledged", silence),
          "is the network up? do a firewall or NAT between the two forget connections?"};
    case Symptom::frozen:
      return {Errc::link_lost, Phase::run,
              fmt::format("its launcher is frozen: silent for {:.1f} s, while the host takes what is sent",
                          silence),
              "has somebody stopped it, or is the host out of memory?"};
    case Symptom::silent:
      break;
  }
  return {Errc::link_lost, Phase::run, fmt::format("nothing has been heard from there for {:.1f} s", silence),
          "is the host up, and its network?"};
}

}  // namespace charmtree::health
