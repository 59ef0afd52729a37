// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_lines.hpp"

#include <utility>

namespace charmtree::proto {

void OutputLines::send(Stream stream, LineBuffer::Piece piece, bool receipt, const Way& way) const {
  way.up.push_back(wire::Output{way.process, static_cast<std::uint8_t>(stream), receipt,
                                std::move(piece.text), piece.tail, read_[place(stream)]});
}

void OutputLines::append(Stream stream, std::string_view bytes, bool receipt, Instant now, const Way& way) {
  LineBuffer& lines = lines_[place(stream)];
  read_[place(stream)] = now;
  std::vector<LineBuffer::Piece> ready;
  if (way.job.passes_raw())
    ready.push_back({lines.flush().append(bytes), wire::Tail::prompt});
  else
    lines.append(bytes, now, way.job.output.partial_line[place(stream)], ready);
  if (receipt) {
    if (std::string rest = lines.flush(); !rest.empty())
      ready.push_back({std::move(rest), wire::Tail::prompt});
    if (ready.empty()) ready.emplace_back();
  }
  for (LineBuffer::Piece& piece : ready) {
    const bool last = &piece == &ready.back();
    if (!piece.text.empty() || receipt) send(stream, std::move(piece), receipt && last, way);
  }
}

void OutputLines::flush(wire::Tail tail, const Way& way) {
  for (const Stream stream : kStreams) {
    LineBuffer& lines = lines_[place(stream)];
    std::string rest = lines.flush();
    const bool ends_line = tail == wire::Tail::ended && lines.is_open() && !way.job.passes_raw();
    if (tail == wire::Tail::ended) lines = {};
    if (!rest.empty() || ends_line) send(stream, {std::move(rest), tail}, false, way);
  }
}

void OutputLines::tick(Instant now, const Way& way) {
  for (const Stream stream : kStreams) {
    std::string partial = lines_[place(stream)].expired(now);
    if (!partial.empty()) send(stream, {std::move(partial), wire::Tail::waited}, false, way);
  }
}

}  // namespace charmtree::proto
