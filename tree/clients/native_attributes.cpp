// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_attributes.hpp"

#include <utility>

namespace charmtree::proto {

namespace {

void answer_attribute(ClientId client, wire::native::Attribute attribute, ClientOutputs& out) {
  out.push_back(ToClient{client, wire::native::to_frame(std::move(attribute))});
}

}  // namespace

void NativeAttributes::put(ClientId client, wire::native::AttributePut put, ClientOutputs& out) {
  if (!values_.contains(put.name) && values_.size() >= kMost)
    return answer_attribute(client, {false, {}}, out);
  answer_attribute(client, {true, {}}, out);
  std::erase_if(waiting_, [&](const auto& each) {
    if (each.second != put.name) return false;
    answer_attribute(each.first, {true, put.value}, out);
    return true;
  });
  values_.insert_or_assign(std::move(put.name), std::move(put.value));
}

void NativeAttributes::give_up(ClientOutputs& out) {
  for (const auto& [client, name] : std::exchange(waiting_, {})) answer_attribute(client, {false, {}}, out);
}

void NativeAttributes::want(ClientId client, wire::native::AttributeWanted wanted, ClientOutputs& out) {
  const auto found = values_.find(wanted.name);
  if (found != values_.end())
    answer_attribute(client, {true, found->second}, out);
  else if (wanted.waits)
    waiting_.emplace(client, std::move(wanted.name));
  else
    answer_attribute(client, {false, {}}, out);
}

}  // namespace charmtree::proto
