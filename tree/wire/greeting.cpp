// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/greeting.hpp"

#include <fmt/format.h>

#include <array>

#include "tree/wire/message_limits.hpp"

namespace charmtree::wire {

namespace {
constexpr std::string_view kMagic = "@charmtree-launcher ";
constexpr std::size_t kMaxGreeting = 100;  // and of another line of ours, what follows its first words
constexpr std::string_view kStageMagic = "@charmtree-stage ";
constexpr std::array<std::string_view, 2> kStageLines = {"@charmtree-stage ask", "@charmtree-stage send"};
/// Raised whenever a message changes. The version beside it is for people.
constexpr std::string_view kProtocol = "34";
constexpr std::string_view kVersion = CHARMTREE_VERSION;

std::string own_version() {
  return fmt::format("{} (protocol {})", kVersion, kProtocol);
}
}  // namespace

std::string_view protocol() {
  return kProtocol;
}

std::string make_greeting() {
  return fmt::format("{}{}\n", kMagic, own_version());
}

std::string_view stage_line(StageWord word) {
  return kStageLines.at(static_cast<std::size_t>(word));
}

/// Who says one waits for the answer: there is never a second one behind it.
void LinkReader::find_stage_request(std::size_t look_from) {
  const std::size_t at = chatter_.find(kStageMagic, look_from);
  const std::size_t end = at == std::string::npos ? at : chatter_.find('\n', at);
  if (end == std::string::npos) return;
  const std::string_view line = std::string_view{chatter_}.substr(at, end - at);
  for (const StageWord word : {StageWord::ask, StageWord::send}) {
    if (!line.starts_with(stage_line(word))) continue;
    const std::string_view rest = line.substr(stage_line(word).size());
    stage_request_ = {word, std::string{rest.substr(rest.starts_with(' ') ? 1 : 0)}};
  }
  chatter_.erase(at, end + 1 - at);
}

Result<void> LinkReader::append(std::string_view bytes) {
  if (greeted_) {
    frames_.append(bytes);
    return {};
  }
  const std::size_t look_from =
      chatter_.size() < kMagic.size() + kMaxGreeting ? 0 : chatter_.size() - kMagic.size() - kMaxGreeting;
  chatter_.append(bytes);
  find_stage_request(look_from);
  const std::size_t at = chatter_.find(kMagic, look_from);
  if (at == std::string::npos) {
    if (chatter_.size() <= kMaxChatter) return {};
    return Error{
        Errc::bad_peer, Phase::hello,
        fmt::format("more than {} KiB of other output before the launcher's greeting", kMaxChatter >> 10),
        "silence the shell's start-up files there"};
  }
  const std::size_t end = chatter_.find('\n', at);
  if (end == std::string::npos) {
    if (chatter_.size() - at <= kMagic.size() + kMaxGreeting) return {};
    return Error{Errc::bad_peer, Phase::hello, "malformed greeting of the launcher"};
  }
  const std::string version = chatter_.substr(at + kMagic.size(), end - at - kMagic.size());
  if (version != own_version()) {
    return Error{Errc::wrong_version, Phase::hello,
                 fmt::format("charmrun there is version {}, here {}", version, own_version()),
                 "install the same charmrun on all hosts or name it with ++launcher PATH"};
  }
  greeted_ = true;
  frames_.append(std::string_view{chatter_}.substr(end + 1));
  chatter_.resize(at);
  return {};
}

Result<std::optional<Message>> LinkReader::next(const Remit& remit) {
  if (!greeted_) return std::optional<Message>{};
  const auto number = frames_.next_type();
  const MessageType* type = number ? types_.find(*number) : nullptr;
  if (type != nullptr && type->goes_down() != (from_ == From::parent))
    return Error{Errc::bad_peer, Phase::run, fmt::format("message of type {} from the wrong side", *number)};
  const std::size_t most = !number ? kMaxLinkFrame : type == nullptr ? kMaxSaid : most_payload(*type, remit);
  auto frame = frames_.next(most);
  if (!frame) return frame.error();
  if (!frame->has_value()) return std::optional<Message>{};
  auto message = types_.decode((*frame)->type, (*frame)->payload, remit);
  if (!message) return message.error();
  return std::optional<Message>{std::move(*message)};
}

}  // namespace charmtree::wire
