// SPDX-License-Identifier: Apache-2.0
// What launchers tell one another and native clients alike consists of; see describe.hpp.
#pragma once

#include <vector>

#include "tree/wire/ccs_replies.hpp"
#include "tree/wire/describe.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::wire {

inline bool is_sound(const ProcessSet::Range& range) {
  return range.first <= range.last;
}

/// Tuples have a code of their own.
inline void put(Writer& out, const std::vector<TupleBlock>& v) {
  encode(out, v);
}
inline void get(Reader& in, std::vector<TupleBlock>& v) {
  v = decode_blocks(in);
}

inline void put(Writer& out, const Address& v) {
  out.varint(v.high);
  out.varint(v.low);
}
inline void get(Reader& in, Address& v) {
  v.high = in.varint();
  v.low = in.varint();
}

CT_MEMBERS(HostRun, s.first, s.hosts, s.processes)
CT_MEMBERS(CcsMerge, s.code)
CT_MEMBERS(NodeTable, s.epoch, s.pes_per_process, s.blocks)
CT_MEMBERS(ProcessSet::Range, s.first, s.last)

}  // namespace charmtree::wire
