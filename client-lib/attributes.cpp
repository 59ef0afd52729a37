// SPDX-License-Identifier: Apache-2.0
#include "client-lib/attributes.hpp"

#include "client-lib/job.hpp"

namespace charmtree::client {

namespace native = wire::native;

int Attributes::put(const std::string& name, const std::string& value) {
  if (job_.channel() == nullptr) {
    own_.insert_or_assign(name, value);
    return CT_OK;
  }
  native::Attribute answer;
  if (const int error = job_.ask(native::AttributePut{name, value}, answer); error != CT_OK) return error;
  return answer.is_there ? CT_OK : CT_EORDER;
}

/// Alone, nobody else will put it.
int Attributes::get(const std::string& name, bool waits, std::string& value) {
  if (job_.channel() == nullptr) {
    const auto found = own_.find(name);
    if (found == own_.end()) return CT_ENOKEY;
    value = found->second;
    return CT_OK;
  }
  native::Attribute answer;
  if (const int error = job_.ask(native::AttributeWanted{name, waits}, answer); error != CT_OK) return error;
  value = std::move(answer.value);
  return answer.is_there ? CT_OK : CT_ENOKEY;
}

}  // namespace charmtree::client
