// SPDX-License-Identifier: Apache-2.0
// The node table in memory that the processes of this host share (tree/wire/shared_table.hpp): once for all
// who get the same one at a time.
#pragma once

#include <memory>
#include <string>

#include "tree/base/result.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::io {

class SharedTables {
public:
  /// A descriptor of it. Error: why not.
  Result<std::shared_ptr<const UniqueFd>> of(const wire::Blob& coded);

private:
  std::weak_ptr<const std::string> coded_;  // of the last one
  std::weak_ptr<const UniqueFd> file_;      // as long as it is on its way to somebody
};

}  // namespace charmtree::io
