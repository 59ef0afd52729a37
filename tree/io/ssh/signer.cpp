// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/signer.hpp"

#include <algorithm>
#include <utility>

#include "tree/io/clock.hpp"
#include "tree/io/ssh/ssh_agent.hpp"
#include "tree/io/ssh/ssh_wire.hpp"

namespace charmtree::io {

Signer::Signer(asio::io_context& io, const SshSurroundings& surroundings)
    : io_(io), surroundings_(surroundings), keys_(surroundings.home) {}

Signer::Agent& Signer::agent_of(const Profile& profile) {
  const std::string socket = surroundings_.agent_of(profile);
  Agent& agent = agents_[socket];
  if (!agent.agent) agent.agent = std::make_shared<SshAgent>(io_, socket);
  return agent;
}

void Signer::open(const Profile& profile, std::function<void()> done) {
  Agent& agent = agent_of(profile);
  agent.agent->list([&agent, done = std::move(done)](const std::vector<std::string>& blobs) {
    agent.keys = blobs;
    done();
  });
}

std::vector<std::string> Signer::keys_for(const Profile& profile) {
  std::vector<std::string> blobs;
  const Agent& agent = agent_of(profile);
  for (const KeyToTry& key : keys_.to_try(profile, agent.keys)) {
    const std::string& blob = key.public_blob();
    if (!agent_type_usable(key_type(blob))) continue;
    const bool in_agent = std::find(agent.keys.begin(), agent.keys.end(), blob) != agent.keys.end();
    if (in_agent) holders_[blob] = agent.agent;
    if (key.file && key.file->opened) {
      opened_[blob] = key.file->opened;
    } else if (!in_agent) {
      continue;  // a file that only libssh2 can read
    }
    blobs.push_back(blob);
  }
  return blobs;
}

void Signer::sign(const std::string& key, const std::string& data, std::function<void(std::string)> done) {
  if (const auto file = opened_.find(key); file != opened_.end()) return done(io::sign(file->second, data));
  waiting_.push_back({key, data, now() + kLimit, std::move(done)});
  ask_next();
}

void Signer::ask_next() {
  while (open_ < kMostOpen && !waiting_.empty()) {
    const Question question = std::move(waiting_.front());
    waiting_.pop_front();
    const Duration left = question.by - now();
    if (left <= Duration{0}) {
      question.done({});
      continue;
    }
    ++open_;
    const auto holder = holders_.find(question.key);
    const auto agent = holder == holders_.end() ? agent_of({}).agent : holder->second;
    agent->sign(question.key, question.data, left, [this, done = question.done](std::string signature) {
      --open_;
      done(std::move(signature));
      ask_next();
    });
  }
}

}  // namespace charmtree::io
