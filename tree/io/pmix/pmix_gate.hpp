// SPDX-License-Identifier: Apache-2.0
// Connects processes to a PMIx helper that started only when the first of them connected. Their environment
// names a socket that the launcher has held (tree/io/host/pmix_process), and the library of OpenPMIx listens
// at a socket of its own. The gate accepts connections at the first socket and passes their bytes to and from
// the second one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

class PmixGate {
public:
  /// `listening`: the socket of the launcher.
  explicit PmixGate(UniqueFd listening);
  ~PmixGate();

  /// Returns the path of the libpmix.so that the first process has loaded, as /proc shows it. Empty: the
  /// process is gone, or its library is part of another file.
  std::string library_of_first();

  /// Passes connections to 127.0.0.1:`port`, on a thread of its own, as long as this object lives. Closes
  /// those of other users. Later calls have no effect.
  void open(std::uint16_t port);

private:
  class Passages;
  UniqueFd listening_, first_;
  std::unique_ptr<Passages> passages_;
};

}  // namespace charmtree::io
