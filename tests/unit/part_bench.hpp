// SPDX-License-Identifier: Apache-2.0
// A launcher of which there is nothing but one part: its Turn writes down what the part says, and to whom. It
// has children, each with one host, and no processes of its own; process 0 to 3 are taken for its own all the
// same, so that a test sees what goes where.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::test {

struct PartBench : proto::Turn {
  enum class Role : std::uint8_t { root, below };

  explicit PartBench(Role where, wire::JobSpec job_of = {})
      : role(where),
        job(flat(std::move(job_of))),
        launch(job, wire::encode(job), {.is_root = is_root()}, random) {
    out_ = &actions;
    now_ = real_now_ = Instant{100s};
  }

  /// A launcher that is up; its host has process 4 + n, where n counts children.
  proto::LinkId child() {
    Host host;
    host.index = static_cast<std::uint32_t>(hosts.size());
    host.first_process = 4 + host.index;
    host.processes = 1;
    host.name = "h" + std::to_string(host.index);
    hosts.push_back(host);
    job.hosts = host.index + 1;
    job.processes = 5 + host.index;
    proto::Actions ours;
    launch.add({host}, 0, now_, ours);
    const auto link = get<proto::Login>(ours.back()).link;
    launch.on(proto::LinkUp{link, {}, {}, {}}, now_, ours);
    return link;
  }

  proto::Seat seat() override {
    return {job, self, launch, nullptr, progress, 0, is_ending, is_root() ? &hosts : nullptr};
  }
  proto::WayUp way_up() const override { return way; }
  void tell_up(wire::Message message) override { told_up.push_back(std::move(message)); }
  using Turn::tell_up;
  void hand_up(wire::Message message) override { handed_up.push_back(std::move(message)); }
  void hand_down_all(const wire::Message& message) override { handed_to_all.push_back(message); }
  void hand_down(std::uint32_t process, const wire::Message& message) override {
    handed_to_process.emplace_back(process, message);
  }
  void hand_down_by(proto::LinkId child, wire::Message message) override {
    if (launch.find_up(child) != nullptr) handed_down.emplace_back(child, std::move(message));
  }
  bool is_here(std::uint32_t process) const override { return process < 4; }
  std::optional<proto::LinkId> way_to(std::uint32_t process) const override {
    return launch.subtree().route(process);
  }
  void give_up(proto::LinkId child, const Error& why) override { given_up.emplace_back(child, why.what); }
  void tell(const proto::News& told) override { news.push_back(told); }

  bool is_root() const { return role == Role::root; }
  void at(Instant time) { now_ = real_now_ = time; }
  template <class A>
  std::vector<A> take() {
    std::vector<A> found;
    for (const proto::Action& action : std::exchange(actions, {})) {
      if (const auto* each = get_if<A>(&action)) found.push_back(*each);
    }
    return found;
  }

  /// Whose launchers all start what they are given themselves.
  static wire::JobSpec flat(wire::JobSpec job) {
    job.launch.shape = {64, 1};
    job.profiles.resize(1);
    return job;
  }

  Role role;
  proto::WayUp way = proto::WayUp::open;
  wire::JobSpec job;
  Host self;
  std::vector<Host> hosts;
  Random random{1};
  proto::Launch launch;
  proto::RunProgress progress;
  bool is_ending = false;
  proto::Actions actions;
  std::vector<wire::Message> told_up, handed_up, handed_to_all;
  std::vector<std::pair<std::uint32_t, wire::Message>> handed_to_process;
  std::vector<std::pair<proto::LinkId, wire::Message>> handed_down;
  std::vector<std::pair<proto::LinkId, std::string>> given_up;
  std::vector<proto::News> news;
};

}  // namespace charmtree::test
