// SPDX-License-Identifier: Apache-2.0
#include "input/root.hpp"

#include <algorithm>
#include <utility>

#include "tree/overlay/trust.hpp"
#include "tree/wire/scan.hpp"

namespace charmtree::input {

InputRoot::InputRoot(std::shared_ptr<const wire::JobSpec> job)
    : job_(std::move(job)), ended_(job_->input.process == wire::kNoProcess) {}

void InputRoot::take_over(InputRoot before) {
  reading_ = before.reading_;
  read_ = std::move(before.read_);
}

void InputRoot::resume(RootTurn& turn) const {
  if (job_->input.process < job_->processes || job_->input.to_all) turn.spread(Input{{}, true});
}

bool InputRoot::has_ended_for(std::uint32_t process) const {
  return (job_->input.to_all || process == job_->input.process) && (ended_ || scanning_);
}

void InputRoot::on(const InputRead& event, RootTurn&) {
  reading_ = false;
  read_ = event;
}

void InputRoot::send(InputRead read, RootTurn& turn) {
  if (read.end) ended_ = true;
  if (scanning_) {
    buffer_ += read.bytes;
    look_at_scans_ = true;
    return;
  }
  in_pipe_ += static_cast<std::uint32_t>(read.bytes.size());
  turn.spread(Input{std::move(read.bytes), read.end});
}

void InputRoot::scan(const wire::ScanUp& request, RootTurn& turn) {
  if (!scanning_) {
    scan_from_now_on(turn);
    recalled_ = job_->input.process >= job_->processes;
    if (!recalled_) turn.spread(RecallInput{});
  }
  if (scans_.empty()) look_at_scans_ = true;
  keep(request);
}

/// A process waits for one answer at a time: older requests of its number are of processes that were lost.
void InputRoot::keep(const wire::ScanUp& scan) {
  if (unsigned& waiting = scans_of_[scan.process]; ++waiting > kMostScans) {
    --waiting;
    const auto is_same = [&](const wire::ScanUp& each) { return each.process == scan.process; };
    scans_.erase(std::find_if(scans_.begin(), scans_.end(), is_same));
    look_at_scans_ = true;
  }
  scans_.push_back(scan);
}

void InputRoot::up(const InputTaken& taken, RootTurn&) {
  in_pipe_ -= std::min(in_pipe_, taken.bytes);
}

void InputRoot::up(const InputReturned& returned, RootTurn& turn) {
  if (returned.bytes.size() > kMostTakenBack || buffer_.size() > 2 * kMostScanned)
    return turn.give_up_launcher_of(job_->input.process, proto::Trust::lie());
  buffer_.insert(0, returned.bytes);
  recalled_ = look_at_scans_ = true;
  scan_from_now_on(turn);
}

/// The input process gets no input any more.
void InputRoot::scan_from_now_on(RootTurn& turn) {
  if (!std::exchange(scanning_, true)) release_keys(turn);
}

void InputRoot::release_keys(RootTurn& turn) const {
  if (job_->terminal) turn.act(ReleaseKeys{});
}

void InputRoot::serve(bool has_reader, RootTurn& turn) {
  if (has_reader && read_) send(*std::exchange(read_, std::nullopt), turn);
  serve_scans(turn);
  if (has_reader && !turn.is_over()) read_more(turn);
}

void InputRoot::serve_scans(RootTurn& turn) {
  if (!std::exchange(look_at_scans_, false)) return;
  while (recalled_ && !scans_.empty()) {
    const std::uint32_t process = scans_.front().process;
    const bool all = ended_ || buffer_.size() >= kMostScanned;
    const wire::Scan scan = wire::scan_prefix(scans_.front().format, buffer_, all);
    if (!scan.complete) return;
    turn.to(process, wire::ScanReply{process, buffer_.substr(0, scan.consumed)});
    buffer_.erase(0, scan.consumed);
    if (--scans_of_[process] == 0) scans_of_.erase(process);
    scans_.pop_front();
  }
}

/// Of what is typed, a line at a time: it is for the process that reads next.
void InputRoot::read_more(RootTurn& turn) {
  if (reading_ || read_ || ended_ || job_->input.process >= job_->processes) return;
  const std::uint32_t most = job_->input.is_typed ? 1 : kWindow;
  const bool wanted = scanning_ ? !scans_.empty() && recalled_ : in_pipe_ < most;
  if (!wanted) return;
  reading_ = true;
  turn.act(ReadInput{scanning_ ? kWindow : kWindow - in_pipe_, job_->terminal && !scanning_});
}

void InputRoot::on(const proto::ProcessReplaced& replaced, RootTurn&) {
  const bool is_in_place = job_->loss.recovery == wire::Recovery::in_place;
  if (is_in_place && replaced.process == job_->input.process && !job_->input.to_all) in_pipe_ = 0;
}

bool InputRoot::has_reader_in(const Ranges& processes) const {
  return std::any_of(processes.begin(), processes.end(), [&](const wire::ProcessSet::Range& range) {
    return range.first <= job_->input.process && job_->input.process <= range.last;
  });
}

void InputRoot::on(const proto::ProcessesLost& lost, RootTurn& turn) {
  if (!has_reader_in(lost.processes)) return;
  recalled_ = look_at_scans_ = true;
  if (job_->input.to_all) return;
  in_pipe_ = 0;
  scan_from_now_on(turn);
}

void InputRoot::on(const proto::ProcessesReached& reached, RootTurn& turn) {
  const bool has_reader = has_reader_in(reached.processes);
  if (has_reader && !job_->input.to_all) in_pipe_ = 0;
  const bool any = has_reader || (job_->input.to_all && !reached.processes.empty());
  if (any && ended_ && !scanning_) turn.spread(Input{{}, true});
}

}  // namespace charmtree::input
