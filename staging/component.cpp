// SPDX-License-Identifier: Apache-2.0
#include "staging/component.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tree/overlay/launch.hpp"

namespace charmtree::staging {

using proto::Seat;

void StagingComponent::begin(Turn& turn) {
  const Seat seat = turn.seat();
  const std::vector<wire::StagedFile>& files = seat.job.spawn.staged.files;
  if (files.empty()) return;
  held_.assign(files.size(), 0);
  turn.act(FindFiles{std::make_shared<const wire::StagedFiles>(seat.job.spawn.staged), seat.is_root()});
}

void StagingComponent::on(const FilesFound& found, Turn& turn) {
  if (begun_ || found.held.size() != held_.size()) return;
  begun_ = true;
  held_ = found.held;
  found.error ? done(found.error, turn) : next_file(turn);
}

void StagingComponent::next_file(Turn& turn) {
  const std::vector<wire::StagedFile>& files = turn.seat().job.spawn.staged.files;
  while (file_ < files.size() && held_[file_] == files[file_].size) ++file_;
  if (file_ == files.size()) return done(std::nullopt, turn);
  is_open_ = false;
  repeats_ = 0;
  unwritten_ = 1;
  turn.act(WritePiece{file_, 0, {}});
}

void StagingComponent::ask(bool anew, Turn& turn) {
  const std::uint64_t size = turn.seat().job.spawn.staged.files[file_].size;
  until_ = std::min(size, next_ + kWindow);
  if (turn.way_up() == proto::WayUp::open && !turn.seat().is_ending)
    turn.hand_up(PieceWanted{file_, next_, until_, anew});
}

void StagingComponent::on(const FileWritten& written, Turn& turn) {
  if (!is_fetching() || written.file != file_) return;
  if (written.error) return done(written.error, turn);
  if (unwritten_ > 0) --unwritten_;
  const bool was_open = std::exchange(is_open_, true);
  const wire::StagedFile& file = turn.seat().job.spawn.staged.files[file_];
  held_[file_] = written.held;
  if (written.held == file.size) return next_file(turn);
  const bool is_less = unwritten_ == 0 && written.held < next_;  // than was sent: the file was wrong
  if (was_open && is_less && ++repeats_ > kMostRepeats)
    return done(
        Error{Errc::spawn_failed, Phase::spawn,
              fmt::format("what came as {} is not what {} was when the job began", file.name, file.source),
              "leave the file as it is while hosts may join the job"},
        turn);
  const bool starts = !was_open || is_less;
  if (starts) next_ = written.held;
  if (starts || (until_ < file.size && until_ - next_ <= kWindow / 2)) ask(starts, turn);
}

void StagingComponent::down(const StagedPiece& piece, Turn& turn) {
  if (!is_fetching() || !is_open_ || piece.file != file_ || piece.offset != next_ || piece.bytes.empty() ||
      piece.bytes.size() > until_ - next_)
    return;
  next_ += piece.bytes.size();
  ++unwritten_;
  turn.act(WritePiece{piece.file, piece.offset, piece.bytes});
}

void StagingComponent::down(const PieceRefused& refusal, Turn& turn) {
  if (is_fetching() && refusal.file == file_) done(refusal.why, turn);
}

/// On failure, turn() refuses the children what this host does not have.
void StagingComponent::done(const std::optional<Error>& error, Turn& turn) {
  is_done_ = true;
  failure_ = error;
  turn.act(FilesStaged{error});
}

void StagingComponent::up(LinkId link, const PieceWanted& wanted, Turn& turn) {
  const std::vector<wire::StagedFile>& files = turn.seat().job.spawn.staged.files;
  const bool is_sound = wanted.file < files.size() && wanted.until <= files[wanted.file].size &&
                        wanted.offset < wanted.until && wanted.until - wanted.offset <= kWindow;
  if (!is_sound)
    return turn.give_up(link,
                        Error{Errc::bad_peer, Phase::run, "its launcher wants files that there are not"});
  PieceWanted& known = children_[link].wanted;
  const std::uint64_t sent = !wanted.anew && known.file == wanted.file ? known.offset : 0;
  known = wanted;
  known.offset = std::max(known.offset, sent);
}

/// The child with the least counts. Children request the files in order.
std::uint32_t StagingComponent::percent_sent(Turn& turn) const {
  const std::vector<wire::StagedFile>& files = turn.seat().job.spawn.staged.files;
  std::uint64_t all = 0;
  std::vector<std::uint64_t> before;
  for (const wire::StagedFile& file : files) {
    before.push_back(all);
    all += file.size;
  }
  std::uint64_t least = all;
  for (const auto& [link, child] : children_)
    least = std::min(least, before[child.wanted.file] + child.wanted.offset);
  return all == 0 ? 100 : static_cast<std::uint32_t>(least * 100 / all);
}

void StagingComponent::on(PieceRead piece, Turn& turn) {
  const auto it = children_.find(piece.link);
  if (it == children_.end()) return;
  PieceWanted& wanted = it->second.wanted;
  it->second.is_read = false;
  if (wanted.file != piece.file || wanted.offset != piece.offset)
    return;  // it has requested another one since
  if (piece.error) {
    turn.hand_down_by(piece.link, PieceRefused{piece.file, *piece.error});
    children_.erase(it);
    return;
  }
  if (piece.bytes.empty()) return;
  wanted.offset += piece.bytes.size();
  if (turn.seat().is_root()) turn.tell(proto::FilesOnTheirWay{percent_sent(turn)});
  turn.hand_down_by(piece.link, StagedPiece{piece.file, piece.offset, std::move(piece.bytes)});
}

void StagingComponent::turn(Turn& turn) {
  if (children_.empty()) return;
  const Seat seat = turn.seat();
  std::erase_if(children_, [&](const auto& each) {
    return seat.is_ending || seat.launch.find_up(each.first) == nullptr;
  });
  for (auto& [link, child] : children_) {
    const PieceWanted& wanted = child.wanted;
    const std::uint64_t end = std::min(wanted.until, held_[wanted.file]);
    if (child.is_read || wanted.offset >= end) continue;
    child.is_read = true;
    turn.act(ReadPiece{link, wanted.file, wanted.offset,
                       static_cast<std::uint32_t>(std::min(end - wanted.offset, kPiece))});
  }
  if (!failure_) return;
  for (auto it = children_.begin(); it != children_.end();) {
    const std::uint32_t file = it->second.wanted.file;
    const bool may_have = it->second.is_read || it->second.wanted.offset < held_[file];
    if (!may_have) turn.hand_down_by(it->first, PieceRefused{file, *failure_});
    it = may_have ? std::next(it) : children_.erase(it);
  }
}

}  // namespace charmtree::staging
