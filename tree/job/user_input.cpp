// SPDX-License-Identifier: Apache-2.0
#include "tree/job/user_input.hpp"

#include <algorithm>

#include "tree/wire/scan.hpp"

namespace charmtree::proto {

UserInput::UserInput(std::shared_ptr<const wire::JobSpec> job)
    : job_(std::move(job)), ended_(job_->input.process == wire::kNoProcess) {}

void UserInput::take_over(UserInput& before) {
  reading_ = before.reading_;
  early_ = std::move(before.early_);
}

/// The only reader.
bool UserInput::is_of_one(std::uint32_t process) const {
  return process == job_->input.process && !job_->input.to_all;
}

bool UserInput::has_ended_for(std::uint32_t process) const {
  return (job_->input.to_all || process == job_->input.process) && (ended_ || scanning_);
}

void UserInput::on(const InputRead& event, bool has_reader, const Orders& orders) {
  reading_ = false;
  if (!has_reader) {
    early_ = event;
    return;
  }
  if (event.end) ended_ = true;
  if (scanning_) {
    buffer_ += event.bytes;
    look_at_scans_ = true;
    return;
  }
  in_pipe_ += static_cast<std::uint32_t>(event.bytes.size());
  orders.readers.emplace_back(wire::Input{event.bytes, event.end});
}

void UserInput::on(const wire::ScanUp& request, Actions& out, const Orders& orders) {
  if (!scanning_) {
    scan_from_now_on(out);
    recalled_ = job_->input.process >= job_->processes;
    if (!recalled_) orders.readers.emplace_back(wire::RecallInput{});
  }
  if (scans_.empty()) look_at_scans_ = true;
  keep(request);
}

/// A process waits for one answer at a time: older requests of its number are of its earlier lives.
void UserInput::keep(const wire::ScanUp& scan) {
  if (unsigned& waiting = scans_of_[scan.process]; ++waiting > kMostScans) {
    --waiting;
    const auto is_same = [&](const wire::ScanUp& each) { return each.process == scan.process; };
    scans_.erase(std::find_if(scans_.begin(), scans_.end(), is_same));
    look_at_scans_ = true;
  }
  scans_.push_back(scan);
}

void UserInput::on(const wire::InputTaken& taken) {
  in_pipe_ -= std::min(in_pipe_, taken.bytes);
}

void UserInput::on(const wire::InputReturned& returned, Actions& out) {
  buffer_.insert(0, returned.bytes);
  recalled_ = look_at_scans_ = true;
  scan_from_now_on(out);
}

/// The input process gets no input any more.
void UserInput::scan_from_now_on(Actions& out) {
  if (!std::exchange(scanning_, true) && job_->terminal) out.push_back(ReleaseKeys{});
}

void UserInput::turn(bool has_reader, bool is_over, Actions& out, const Orders& orders) {
  if (has_reader && early_) on(*std::exchange(early_, std::nullopt), has_reader, orders);
  serve_scans(orders);
  if (has_reader && !is_over) want(out);
}

void UserInput::serve_scans(const Orders& orders) {
  if (!std::exchange(look_at_scans_, false)) return;
  while (recalled_ && !scans_.empty()) {
    const std::uint32_t process = scans_.front().process;
    const bool all = ended_ || buffer_.size() >= kMostScanned;
    const wire::Scan scan = wire::scan_prefix(scans_.front().format, buffer_, all);
    if (!scan.complete) return;
    orders.processes.emplace_back(process, wire::ScanReply{process, buffer_.substr(0, scan.consumed)});
    buffer_.erase(0, scan.consumed);
    if (--scans_of_[process] == 0) scans_of_.erase(process);
    scans_.pop_front();
  }
}

void UserInput::want(Actions& out) {
  if (reading_ || early_ || ended_ || job_->input.process >= job_->processes) return;
  // Of what is typed, one line: it belongs to whoever reads next.
  const std::uint32_t most = job_->input.is_typed ? 1 : kWindow;
  const bool wanted = scanning_ ? !scans_.empty() && recalled_ : in_pipe_ < most;
  if (!wanted) return;
  reading_ = true;
  out.push_back(ReadInput{scanning_ ? kWindow : kWindow - in_pipe_, job_->terminal && !scanning_});
}

void UserInput::restarts(std::uint32_t process) {
  if (is_of_one(process)) in_pipe_ = 0;
}

bool UserInput::has_reader_in(const Ranges& processes) const {
  return std::any_of(processes.begin(), processes.end(), [&](const wire::ProcessSet::Range& range) {
    return range.first <= job_->input.process && job_->input.process <= range.last;
  });
}

void UserInput::lost(const Ranges& processes, Actions& out) {
  if (!has_reader_in(processes)) return;
  recalled_ = look_at_scans_ = true;
  if (job_->input.to_all) return;
  in_pipe_ = 0;
  scan_from_now_on(out);
}

void UserInput::cut_off(const Ranges& processes, const Orders& orders) {
  const bool has_reader = has_reader_in(processes);
  if (has_reader && !job_->input.to_all) in_pipe_ = 0;
  const bool any = has_reader || (job_->input.to_all && !processes.empty());
  if (any && ended_ && !scanning_) orders.readers.emplace_back(wire::Input{{}, true});
}

}  // namespace charmtree::proto
