// SPDX-License-Identifier: Apache-2.0
// A small job as the parts of its root see it, and what they say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/plans.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::test {

/// A process on each of so many hosts: h0, h1, ...
class RootJob {
public:
  explicit RootJob(std::uint32_t count) : RootJob(plan_of(count)) {}
  explicit RootJob(RootPlan plan)
      : job(std::make_shared<wire::JobSpec>(plan.job)), hosts(std::move(plan.hosts)), judge(*job, hosts) {}

  /// One turn of a part: part.turn(job.turn()).
  class Turn final : public proto::RootTurn {
  public:
    explicit Turn(RootJob& job) : RootTurn(job.now, job.out, job.judge), job_(job) {}
    void to_all(wire::Message message) override { job_.everyone.push_back(std::move(message)); }
    void spread(wire::Message message) override { job_.everyone.push_back(std::move(message)); }
    void to(std::uint32_t process, wire::Message message) override {
      job_.processes.emplace_back(process, std::move(message));
    }
    void give_up_launcher_of(std::uint32_t, Error why) override { throw std::logic_error(why.what); }
    void tell(const proto::RootNews& news) override { job_.news.push_back(news); }

  private:
    RootJob& job_;
  };

  /// These hosts have started their processes; `registered` of these have registered.
  void up(std::vector<std::uint32_t> which, std::uint32_t registered = 0) {
    wire::Facts facts;
    facts.hosts_up = std::move(which);
    facts.registered = registered;
    judge.on(std::move(facts), now);
  }
  void exits(const wire::ProcessExit& exit) {
    wire::Facts facts;
    facts.exits = {exit};
    judge.on(std::move(facts), now);
  }
  /// A table of them all, native.
  wire::NodeTable table() const {
    wire::NodeTable table;
    for (const Host& host : hosts)
      table.blocks.push_back({host.index, host.first_process, 0, {{0, "tuple"}}});
    return table;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> texts;
    for (const auto& say : only<proto::Say>(out)) texts.push_back(say.text);
    return texts;
  }
  bool said(std::string_view words) const {
    const std::vector<std::string> all = lines();
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
  /// Messages of one kind, to processes.
  template <class Message>
  std::vector<Message> told() const {
    std::vector<wire::Message> all;
    for (const auto& each : processes) all.push_back(each.second);
    return only<Message>(all);
  }

  Instant now{50s};
  std::shared_ptr<wire::JobSpec> job;
  std::vector<Host> hosts;
  proto::Judge judge;
  proto::Actions out;
  std::vector<wire::Message> everyone;
  std::vector<std::pair<std::uint32_t, wire::Message>> processes;
  std::vector<proto::RootNews> news;
};

}  // namespace charmtree::test
