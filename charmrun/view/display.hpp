// SPDX-License-Identifier: Apache-2.0
// What the user sees of the program's output: decides in which order, when, with which labels and where it is
// written, so that no line is torn by another one. Pure: time comes in, bytes go out.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "charmrun/cli/label.hpp"
#include "charmrun/view/line_fold.hpp"
#include "charmrun/view/screen.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

struct DisplayRules {
  std::array<ScreenKind, 2> screens{ScreenKind::file, ScreenKind::file};  // stdout, stderr
  bool one_screen = false;                                                // both are the same
  Label label;
  Label fold_label;  // where equal lines are folded
  /// Which they are if a job has more processes than this; nothing: never.
  std::optional<std::uint32_t> fold_above = {};
  Duration fold_window = 500ms;
  Label file;                // of each process; empty: none has one
  std::int64_t wall_ms = 0;  // wall clock at Instant{}, in milliseconds since 1970
};

/// To be written next: to the stream or, if it has a name, to a file.
struct DisplayWrite {
  proto::Stream stream;
  Ink ink;
  std::string file = {};
};
using DisplayWrites = std::vector<DisplayWrite>;

class Display {
public:
  explicit Display(DisplayRules rules);

  /// Output of a process, which is not that of a terminal of its own.
  void show(proto::Show show, Instant now, DisplayWrites& out);
  /// Lines of charmrun itself.
  void say(proto::Stream stream, std::string_view lines, Instant now, DisplayWrites& out);
  /// A line that stands at the end of stderr, if that is a terminal and nobody is in the middle of a line
  /// there, until something else is written; empty: none.
  void progress(std::string_view line, DisplayWrites& out);
  void tick(Instant now, DisplayWrites& out);
  Instant next_deadline() const;
  /// Nothing more will come: all that is held is to be written.
  void finish(Instant now, DisplayWrites& out);
  /// The files of the processes of these hosts, with nothing to be written yet.
  void name_files(std::span<const Host> hosts, DisplayWrites& out) const;

  /// Labels of folded lines are made equally long, as far as they are not longer than this.
  static constexpr std::size_t kWidestLabel = 24;

private:
  /// stdout stands for stderr if both are one.
  proto::Stream target(proto::Stream stream) const { return rules_.one_screen ? proto::Stream::out : stream; }
  Screen& screen(proto::Stream target) { return screens_[target == proto::Stream::err ? 1 : 0]; }
  bool folds(const proto::Show& show) const;
  std::string label(const Label& label, const proto::Show& show, Instant now) const;
  std::string fold_label(const FoldedLine& line) const;
  std::int64_t wall_ms(Instant instant) const;
  std::string file_of(std::uint32_t process, std::string_view host, proto::Stream stream) const;
  void to_file(proto::Show show, Instant now, DisplayWrites& out);
  void to_fold(proto::Show& show, Instant now, DisplayWrites& out);
  void to_screen(proto::Show show, Instant now, DisplayWrites& out);
  void unfold(Instant now, DisplayWrites& out);
  void finish_fold(Instant now, DisplayWrites& out);
  std::string aligned(std::string label) const;
  void widen(std::uint32_t processes);
  void hand_out(proto::Stream target, Ink ink, DisplayWrites& out);

  DisplayRules rules_;
  bool progressing_ = false;
  std::array<Screen, 2> screens_;
  std::map<std::string, Screen> files_;  // where lines have labels
  LineFold fold_;
  std::vector<FoldedLine> unfolded_;                        // handed out by fold_, and to be written
  std::set<std::pair<std::uint32_t, proto::Stream>> open_;  // in the middle of a line that is not folded
  std::size_t label_width_ = 0;                             // of folded lines
  std::map<std::uint32_t, std::string> hosts_;              // of processes, if folded lines need them
};

}  // namespace charmtree
