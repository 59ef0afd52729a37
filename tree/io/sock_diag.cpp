// SPDX-License-Identifier: Apache-2.0
#include "tree/io/sock_diag.hpp"

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace charmtree::io {

namespace {

constexpr std::uint32_t kKernel = 0;  // its netlink address

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

template <class Address>
Address as(const sockaddr_storage& storage) {
  Address address{};
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

bool put(const TcpEnds& ends, inet_diag_sockid& id) {
  if (ends.own.ss_family != ends.peer.ss_family) return false;
  if (ends.own.ss_family == AF_INET) {
    const auto own = as<sockaddr_in>(ends.own), peer = as<sockaddr_in>(ends.peer);
    id.idiag_sport = own.sin_port;
    id.idiag_dport = peer.sin_port;
    id.idiag_src[0] = own.sin_addr.s_addr;
    id.idiag_dst[0] = peer.sin_addr.s_addr;
  } else if (ends.own.ss_family == AF_INET6) {
    const auto own = as<sockaddr_in6>(ends.own), peer = as<sockaddr_in6>(ends.peer);
    id.idiag_sport = own.sin6_port;
    id.idiag_dport = peer.sin6_port;
    std::memcpy(id.idiag_src, &own.sin6_addr, sizeof id.idiag_src);
    std::memcpy(id.idiag_dst, &peer.sin6_addr, sizeof id.idiag_dst);
  } else {
    return false;
  }
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return true;
}

std::optional<tcp_info> info_in(const char* attribute, std::size_t left) {
  rtattr head{};
  while (left >= sizeof head) {
    std::memcpy(&head, attribute, sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > left) return {};
    if (head.rta_type == INET_DIAG_INFO) {
      tcp_info info{};
      std::memcpy(&info, attribute + RTA_LENGTH(0), std::min(sizeof info, head.rta_len - RTA_LENGTH(0)));
      return info;
    }
    const std::size_t step = std::min<std::size_t>(RTA_ALIGN(head.rta_len), left);
    attribute += step;
    left -= step;
  }
  return {};
}

std::optional<TcpSocket> ask(const UniqueFd& netlink, const Request& request) {
  if (::send(netlink.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return {};
  alignas(nlmsghdr) std::array<char, 4096> answer;
  sockaddr_nl from{};
  socklen_t from_size = sizeof from;
  const ssize_t got = ::recvfrom(netlink.get(), answer.data(), answer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &from_size);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (from.nl_pid != kKernel || got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) return {};
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return {};
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  constexpr std::size_t kBegin = NLMSG_LENGTH(NLMSG_ALIGN(sizeof found));
  const std::size_t size = static_cast<std::size_t>(got);
  return TcpSocket{found.idiag_uid, found.idiag_inode, found.idiag_rqueue,
                   size > kBegin ? info_in(answer.data() + kBegin, size - kBegin) : std::nullopt};
}

UniqueFd open_netlink() {
  return UniqueFd{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
}

}  // namespace

SockDiag::SockDiag() : netlink_(open_netlink()) {}

std::optional<TcpSocket> SockDiag::find(const TcpEnds& ends, bool with_info) {
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<std::uint8_t>(ends.own.ss_family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_ext = with_info ? 1U << (INET_DIAG_INFO - 1) : 0;
  request.body.idiag_states = ~0U;
  if (!put(ends, request.body.id)) return {};
  if (!netlink_) netlink_ = open_netlink();
  const auto found = ask(netlink_, request);
  if (!found) netlink_.reset();  // a late answer must not be taken for that to the next question
  return found;
}

/// A line for each: `sl local remote st tx:rx tr:when retransmitted uid timeout inode ...`, where addresses
/// are as they are in memory, read as a number of this host.
std::optional<TcpSocket> find_listed(const TcpEnds& ends) {
  if (ends.own.ss_family != AF_INET || ends.peer.ss_family != AF_INET) return {};
  const auto listed = [](const sockaddr_storage& end) {
    const auto address = as<sockaddr_in>(end);
    return fmt::format("{:08X}:{:04X}", address.sin_addr.s_addr, ntohs(address.sin_port));
  };
  const std::string own = listed(ends.own), peer = listed(ends.peer);
  std::ifstream table{"/proc/net/tcp"};
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields{line};
    std::string number, local, remote, state, queues, timer, retransmitted, timeout;
    TcpSocket found;
    fields >> number >> local >> remote;
    if (local != own || remote != peer) continue;
    fields >> state >> queues >> timer >> retransmitted >> found.uid >> timeout >> found.inode;
    if (fields) return found;
  }
  return {};
}

std::optional<TcpEnds> tcp_ends(int fd) {
  TcpEnds ends;
  socklen_t own_size = sizeof ends.own, peer_size = sizeof ends.peer;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&ends.own), &own_size) != 0) return {};
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&ends.peer), &peer_size) != 0) return {};
  return ends;
}

}  // namespace charmtree::io
