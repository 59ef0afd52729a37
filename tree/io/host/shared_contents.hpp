// SPDX-License-Identifier: Apache-2.0
// Memory that the processes of this host share: each content once for all who get it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

class SharedContents {
public:
  /// A descriptor of it. Error: why not.
  Result<std::shared_ptr<const UniqueFd>> of(const proto::SharedContent& content);

private:
  struct Made {
    std::weak_ptr<const std::string> coded;
    std::shared_ptr<const UniqueFd> file;
  };
  std::vector<Made> made_;  // as long as somebody has it coded
};

}  // namespace charmtree::io
