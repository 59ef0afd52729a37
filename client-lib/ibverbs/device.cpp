// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/device.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "client-lib/charmtree_verbs.h"

namespace charmtree::ibverbs {

namespace {
// Of a connection: an answer is waited for 4.096 us * 2^18 (1.1 s), and six times more, since soft-RoCE takes
// seven for without end; a receiver that has no room is tried again after 0.64 ms, without end.
constexpr std::uint8_t kTimeout = 18, kRetries = 6, kWithoutEnd = 7, kWaitForRoom = 12, kHops = 64;
/// A connection names its own by eight bits.
constexpr std::uint32_t kMostGidIndex = 255;
/// RDMA reads that a queue pair answers at a time; each takes memory of the device.
constexpr int kMostReads = 16;

/// "ibv_create_qp: Cannot allocate memory (12)".
std::string said(const std::string& call, int error) {
  return call + ": " + std::strerror(error) + " (" + std::to_string(error) + ")";
}

ibv_mtu mtu_of(std::uint16_t bytes) {
  int mtu = IBV_MTU_256;
  for (int size = 256; size < bytes; size *= 2) ++mtu;
  return static_cast<ibv_mtu>(mtu);
}
std::uint16_t bytes_of(ibv_mtu mtu) {
  return static_cast<std::uint16_t>(128U << static_cast<unsigned>(mtu));
}

/// RoCE version 2 goes through routers, over IPv4 most of all; addresses of one link do not.
int reach_of(const ibv_gid_entry& entry) {
  if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) return 1;
  constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(kIpv4.begin(), kIpv4.end(), entry.gid.raw)) return 4;
  return entry.gid.raw[0] == 0xFE && (entry.gid.raw[1] & 0xC0U) == 0x80 ? 2 : 3;
}

/// Those that are equally far stay in their order.
std::vector<ibv_device*> nearest_first(const std::vector<ibv_device*>& devices,
                                       const std::function<unsigned(ibv_device*)>& distance) {
  std::multimap<unsigned, ibv_device*> sorted;
  for (ibv_device* each : devices) sorted.emplace(distance(each), each);
  std::vector<ibv_device*> found;
  for (const auto& [far, each] : sorted) found.push_back(each);
  return found;
}

struct DeviceList {
  int count = 0;
  ibv_device** devices = nullptr;
  DeviceList() : devices(ibv_get_device_list(&count)) {}
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (devices != nullptr) ibv_free_device_list(devices);
  }
};
}  // namespace

std::string Device::name() const {
  return std::string{ibv_get_device_name(context_->device)} + " port " + std::to_string(number_);
}

Failure Device::failed(const std::string& what) const {
  return {CT_EVERBS, name() + ": " + what};
}

Outcome Device::open(const Choice& choice) {
  const DeviceList list;
  if (list.devices == nullptr || list.count == 0)
    return Failure{CT_EVERBS,
                   "this host has no InfiniBand or RoCE device: is its driver loaded (rdma link)?"};
  std::vector<ibv_device*> devices(list.devices, list.devices + list.count);
  if (choice.name.empty() && devices.size() > 1) devices = nearest_first(devices, choice.distance);
  if (auto failure = choose_port(choice, devices)) return failure;
  domain_.reset(ibv_alloc_pd(context_.get()));
  if (!domain_) return failed(said("ibv_alloc_pd", errno));
  if (choice.completions > attributes_.max_cqe)
    return failed("a queue holds " + std::to_string(attributes_.max_cqe) + " completions at most, and " +
                  std::to_string(choice.completions) + " were asked for");
  const int completions =
      choice.completions > 0 ? choice.completions : std::max(1, std::min(choice.useful, attributes_.max_cqe));
  completions_.reset(ibv_create_cq(context_.get(), completions, nullptr, nullptr, 0));
  if (!completions_)
    return failed(said("ibv_create_cq for " + std::to_string(completions) + " completions", errno));
  return {};
}

/// The first one that is active, of those that may be chosen.
Outcome Device::choose_port(const Choice& choice, const std::vector<ibv_device*>& devices) {
  std::string others;
  const auto pass = [&](const std::string& why) { others += (others.empty() ? "" : "; ") + why; };
  for (ibv_device* each : devices) {
    const std::string device = ibv_get_device_name(each);
    if (!choice.name.empty() && choice.name != device) {
      pass(device + " was not chosen");
      continue;
    }
    if (each->transport_type != IBV_TRANSPORT_IB) {
      pass(device + " has neither InfiniBand nor RoCE");
      continue;
    }
    context_.reset(ibv_open_device(each));
    if (!context_) {
      pass(said(device + ": ibv_open_device", errno));
      continue;
    }
    if (const int error = ibv_query_device(context_.get(), &attributes_)) {
      pass(said(device + ": ibv_query_device", error));
      continue;
    }
    const int first = choice.port > 0 ? choice.port : 1;
    const int last = choice.port > 0 ? choice.port : attributes_.phys_port_cnt;
    if (first > attributes_.phys_port_cnt) pass(device + " has no port " + std::to_string(first));
    for (int port = first; port <= std::min<int>(last, attributes_.phys_port_cnt); ++port) {
      number_ = static_cast<std::uint8_t>(port);
      const std::string why = try_port(choice);
      if (why.empty()) return {};
      pass(name() + why);
    }
  }
  return Failure{CT_EVERBS, "no port can be used: " + others};
}

/// Why it cannot be used, behind its name; "": it can.
std::string Device::try_port(const Choice& choice) {
  ibv_port_attr attributes{};
  if (const int error = ibv_query_port(context_.get(), number_, &attributes))
    return said(": ibv_query_port", error);
  if (attributes.state != IBV_PORT_ACTIVE) return std::string{" is "} + ibv_port_state_str(attributes.state);
  const bool is_ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  port_ = {};
  port_.lid = is_ethernet ? std::uint16_t{0} : attributes.lid;
  port_.needs_gid = !is_ethernet && (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  port_.mtu = bytes_of(attributes.active_mtu);
  port_.is_only_mtu = choice.mtu > 0;
  port_.reads = static_cast<std::uint8_t>(std::clamp(attributes_.max_qp_rd_atom, 0, kMostReads));
  if (choice.mtu > port_.mtu)
    return " has an MTU of " + std::to_string(port_.mtu) + " bytes, and " + std::to_string(choice.mtu) +
           " were asked for";
  if (choice.mtu > 0) port_.mtu = static_cast<std::uint16_t>(choice.mtu);
  if (const std::string why = choose_gid(choice, is_ethernet); !why.empty()) return why;
  return is_sound(port_) ? "" : " has no address yet: is a subnet manager running?";
}

/// One of RoCE has to have one; of InfiniBand those through routers.
std::string Device::choose_gid(const Choice& choice, bool is_ethernet) {
  std::size_t most = 0;
  for (int port = 1; port <= attributes_.phys_port_cnt; ++port) {
    ibv_port_attr attributes{};
    if (ibv_query_port(context_.get(), static_cast<std::uint8_t>(port), &attributes) == 0)
      most += static_cast<std::size_t>(std::max(attributes.gid_tbl_len, 0));
  }
  std::vector<ibv_gid_entry> entries(most);
  const ssize_t count = ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0);
  if (count < 0) return said(": ibv_query_gid_table", static_cast<int>(-count));
  entries.resize(static_cast<std::size_t>(count));
  const ibv_gid_entry* best = nullptr;
  for (const ibv_gid_entry& entry : entries) {
    if (entry.port_num != number_ || entry.gid_index > kMostGidIndex ||
        (choice.gid >= 0 && entry.gid_index != static_cast<unsigned>(choice.gid)))
      continue;
    if (best == nullptr || reach_of(entry) > reach_of(*best)) best = &entry;
  }
  if (best == nullptr && choice.gid >= 0) return " has no GID " + std::to_string(choice.gid);
  if (best == nullptr && is_ethernet) return " has no GID: has its interface an address?";
  if (best == nullptr) return {};
  if (is_ethernet) port_.roce = best->gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 1;
  gid_index_ = static_cast<std::uint8_t>(best->gid_index);
  std::copy_n(best->gid.raw, port_.gid.size(), port_.gid.begin());
  return {};
}

Outcome Device::make(QueuePair& made, const ibv_qp_cap& capacity, const std::string& whose) const {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = completions();
  attributes.cap = capacity;
  attributes.qp_type = IBV_QPT_RC;
  made.reset(ibv_create_qp(domain(), &attributes));
  if (!made) return failed(said("ibv_create_qp: " + whose, errno));
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = number_;
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (attributes_.atomic_cap != IBV_ATOMIC_NONE) access |= IBV_ACCESS_REMOTE_ATOMIC;
  init.qp_access_flags = access;
  const int error =
      ibv_modify_qp(made.get(), &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return failed(said("ibv_modify_qp to INIT: " + whose, error));
  return {};
}

Outcome Device::connect(ibv_qp& queue_pair, std::uint32_t own_psn, const Peer& peer,
                        const std::string& whose) const {
  if (const std::string why = why_not(port_, peer.port); !why.empty()) return failed(whose + ": " + why);
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = mtu_of(common_mtu(port_, peer.port).value());
  ready.dest_qp_num = peer.number;
  ready.rq_psn = peer.psn;
  ready.min_rnr_timer = kWaitForRoom;
  ready.max_dest_rd_atomic = port_.reads;
  ready.ah_attr.dlid = peer.port.lid;
  ready.ah_attr.port_num = number_;
  ready.ah_attr.is_global = port_.roce > 0 || port_.needs_gid || peer.port.needs_gid ? 1 : 0;
  if (ready.ah_attr.is_global != 0) {
    std::copy(peer.port.gid.begin(), peer.port.gid.end(), ready.ah_attr.grh.dgid.raw);
    ready.ah_attr.grh.sgid_index = gid_index_;
    ready.ah_attr.grh.hop_limit = kHops;
  }
  int error = ibv_modify_qp(&queue_pair, &ready,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return failed(said("ibv_modify_qp to RTR: " + whose, error));
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = kTimeout;
  send.retry_cnt = kRetries;
  send.rnr_retry = kWithoutEnd;
  send.sq_psn = own_psn;
  send.max_rd_atomic =
      static_cast<std::uint8_t>(std::clamp<int>(attributes_.max_qp_init_rd_atom, 0, peer.port.reads));
  error = ibv_modify_qp(&queue_pair, &send,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) return failed(said("ibv_modify_qp to RTS: " + whose, error));
  return {};
}

}  // namespace charmtree::ibverbs
