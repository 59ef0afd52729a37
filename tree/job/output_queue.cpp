// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tree/base/handle.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/job/line_buffer.hpp"
#include "tree/job/output_grants.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::proto {

namespace {

/// Messages that may be in the spool.
constexpr wire::MessageTypes kSpooled{OutputMessages{}};

/// What a message takes beside its text.
constexpr std::size_t kOverhead = 512;

// A line and its newline are never divided, and whoever has credit may send them.
static_assert(LineBuffer::kMaxLine < OutputQueue::kLongest);
static_assert(OutputQueue::kLongest + kOverhead <= OutputGrants::kLargest);
static_assert(wire::kMaxCharmFormat + kOverhead <= OutputGrants::kLargest);

/// How much of the text goes into one piece: whole lines, and a line is not divided.
std::size_t piece_of(std::string_view text) {
  if (text.size() <= OutputQueue::kPiece) return text.size();
  const std::size_t last = text.rfind('\n', OutputQueue::kPiece - 1);
  const std::size_t newline = last != std::string_view::npos ? last : text.find('\n');
  const std::size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
  return end <= OutputQueue::kLongest ? end : OutputQueue::kPiece;
}

/// Messages as they were put into the spool; nothing: they are no such thing.
std::optional<std::vector<OutputItem>> read_back(std::string_view bytes) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(bytes);
  std::vector<OutputItem> messages;
  for (;;) {
    const auto frame = decoder.next();
    if (!frame) return {};
    if (!frame->has_value()) break;
    auto message = kSpooled.decode((*frame)->type, (*frame)->payload);
    if (!message) return {};
    handle(*message, each_of(OutputMessages{}, [&](auto& item) { messages.emplace_back(std::move(item)); }));
  }
  return decoder.buffered() == 0 ? std::optional{std::move(messages)} : std::nullopt;
}

}  // namespace

std::size_t output_cost(const wire::Output& output) {
  return kOverhead + output.text.size();
}

std::size_t output_cost(const OutputItem& item) {
  const Overloaded text_of{[](const wire::Output& lines) -> const std::string& { return lines.text; },
                           [](const wire::ScanUp& scan) -> const std::string& { return scan.format; }};
  return kOverhead + std::visit(text_of, item).size();
}

wire::Message as_message(OutputItem item) {
  return std::visit([](auto& each) { return wire::Message{std::move(each)}; }, item);
}

void OutputQueue::add(OutputItem output, Actions& out) {
  if (wire::Output* whole = lines_of(output)) {
    for (std::size_t size = 0; (size = piece_of(whole->text)) < whole->text.size();) {
      wire::Output piece{whole->process, whole->stream, false, whole->text.substr(0, size), {}, whole->read};
      whole->text.erase(0, size);
      keep(std::move(piece), out);
    }
  }
  keep(std::move(output), out);
}

void OutputQueue::keep(OutputItem output, Actions& out) {
  const std::size_t cost = output_cost(output);
  if (share() < kShare && spool_.empty() && !unspooling_) {
    own_cost_ += cost;
    own_.push_back({std::move(output), cost});
  } else if (const auto frames =
                 wire::encode_frames(as_message(std::move(output)))) {  // as large as it was when it came
    spool_.append(*frames, out);
  }
}

void OutputQueue::add(LinkId from, OutputItem output) {
  const std::size_t cost = output_cost(output);
  below_.push_back({std::move(output), cost, from});
}

Result<void> OutputQueue::on(Unspooled event) {
  unspooling_ = false;
  std::string failure = event.failure;
  spool_.on(std::move(event));
  if (failure.empty()) return {};
  return Error{Errc::internal, Phase::run, std::move(failure)};
}

/// Half of the share is always at hand, so that reading the spool holds up nothing.
void OutputQueue::refill(Actions& out) {
  while (share() < kShare / 2 && !unspooling_ && !spool_.empty()) {
    const auto bytes = spool_.take(out);
    unspooling_ = !bytes;
    if (unspooling_) return;
    auto messages = read_back(*bytes);
    if (!messages) continue;
    for (OutputItem& message : *messages) {
      const std::size_t cost = output_cost(message);
      own_cost_ += cost;
      own_.push_back({std::move(message), cost});
    }
  }
}

std::optional<OutputQueue::Passed> OutputQueue::next(Actions& out) {
  refill(out);
  if (credit_ <= 0 || (own_.empty() && below_.empty())) return {};
  const bool own = below_.empty() || (own_turn_ && !own_.empty());
  own_turn_ = !own;
  std::deque<Waiting>& queue = own ? own_ : below_;
  Waiting first = std::move(queue.front());
  queue.pop_front();
  credit_ -= static_cast<std::int64_t>(first.cost);
  if (own) own_cost_ -= first.cost;
  if (own && keeps_ == Keeps::until_taken) {
    if (wire::Output* lines = lines_of(first.message)) number(*lines);
    sent_cost_ += first.cost;
    sent_.push_back(first);
  }
  return Passed{std::move(first.message), own ? std::nullopt : std::optional{first.from}, first.cost};
}

/// It keeps its number when it is sent again.
void OutputQueue::number(wire::Output& lines) {
  Numbers& numbers = numbers_[lines.process];
  if (lines.number == 0) lines.number = ++numbers.last;
  lines.is_oldest = lines.number == numbers.taken + 1;
}

void OutputQueue::taken(const wire::OutputTaken::Taken& taken) {
  std::uint64_t& known = numbers_[taken.process].taken;
  known = std::max(known, taken.number);
  const auto is_taken = [&](const Waiting& waiting) {
    const wire::Output* lines = lines_of(waiting.message);
    return lines == nullptr || (lines->process == taken.process && lines->number <= taken.number);
  };
  for (const Waiting& waiting : sent_) sent_cost_ -= is_taken(waiting) ? waiting.cost : 0;
  std::erase_if(sent_, is_taken);
}

/// The next one may be all that another root gets of a process that is lost meanwhile.
std::map<LinkId, std::size_t> OutputQueue::drop_taken(const std::vector<wire::OutputTaken::Taken>& taken) {
  std::map<std::uint32_t, std::uint64_t> numbers;  // by process
  for (const auto& [process, number] : taken) numbers.emplace(process, number);
  std::map<LinkId, std::size_t> dropped;
  const auto is_taken = [&](const Waiting& waiting) {
    const wire::Output* lines = lines_of(waiting.message);
    const auto known = lines != nullptr ? numbers.find(lines->process) : numbers.end();
    return known != numbers.end() && lines->number <= known->second;
  };
  for (Waiting& waiting : below_) {
    wire::Output* lines = lines_of(waiting.message);
    if (is_taken(waiting)) {
      dropped[waiting.from] += waiting.cost;
    } else if (lines != nullptr) {
      const auto known = numbers.find(lines->process);
      if (known != numbers.end() && lines->number == known->second + 1) lines->is_oldest = true;
    }
  }
  std::erase_if(below_, is_taken);
  return dropped;
}

/// What the disk has been asked for comes, and is no longer wanted.
void OutputQueue::reset(std::uint64_t credit, std::uint64_t spool, Keeps keeps) {
  for (std::deque<Waiting>* queue : {&own_, &below_, &sent_}) queue->clear();
  own_cost_ = sent_cost_ = 0;
  numbers_.clear();
  spool_.drop(spool);
  pipes_rest_ = clients_rest_ = false;
  credit_ = static_cast<std::int64_t>(credit);
  keeps_ = keeps;
}

void OutputQueue::disown() {
  for (Waiting& waiting : below_) waiting.from = kParentLink;
}

void OutputQueue::resend() {
  own_cost_ += std::exchange(sent_cost_, 0);
  own_.insert(own_.begin(), std::make_move_iterator(sent_.begin()), std::make_move_iterator(sent_.end()));
  sent_.clear();
}

bool OutputQueue::pipes_rest() {
  const bool behind = unspooling_ || !spool_.empty();
  pipes_rest_ = behind || share() >= (pipes_rest_ ? kShare / 2 : kShare);
  return pipes_rest_;
}

bool OutputQueue::clients_rest() {
  const std::size_t most = clients_rest_ ? Spool::kMostUnwritten / 2 : Spool::kMostUnwritten;
  clients_rest_ = spool_.unwritten() >= most;
  return clients_rest_;
}

}  // namespace charmtree::proto
