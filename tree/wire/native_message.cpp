// SPDX-License-Identifier: Apache-2.0
// Payloads are the fields in order, integers as varints (a status as the 32 bits of its two's complement).
// The type numbers of the two directions do not overlap, so that a frame that was sent back is recognised.
#include "tree/wire/native_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/codec.hpp"
#include "tree/wire/pieces.hpp"

namespace charmtree::wire::native {

namespace {

enum class Type : std::uint8_t {
  hello = 1,
  put = 2,
  barrier_enter = 3,
  print = 4,
  abort = 5,
  finalize = 6,
  handler = 7,
  reply = 8,
  reply_data = 9,
  kept = 10,
  welcome = 65,
  table = 66,
  barrier_release = 67,
  finished = 68,
  refused = 69,
  request = 70,
  request_data = 71,
  lost = 72,
  renewed = 73,
  missed = 74,
};

std::string_view cut(std::string_view text, std::size_t limit) {
  return text.substr(0, limit);
}

// ---- encoding: the type of a message and its payload

Type write(Writer& out, const Hello& hello) {
  out.varint(hello.version);
  out.varint(hello.process);
  out.varint(hello.pid);
  out.string(cut(hello.library, kMaxLibrary));
  return Type::hello;
}

Type write(Writer& out, const Put& put) {
  out.string(put.tuple);
  return Type::put;
}

Type write(Writer& out, const BarrierEnter& enter) {
  out.varint(enter.epoch);
  return Type::barrier_enter;
}

Type write(Writer& out, const Print& print) {
  out.u8(static_cast<std::uint8_t>(print.stream));
  out.string(cut(print.text, kMaxPrint));
  return Type::print;
}

Type write(Writer& out, const Abort& abort) {
  out.varint(static_cast<std::uint32_t>(abort.code));
  out.string(cut(abort.text, kMaxAbortText));
  return Type::abort;
}

Type write(Writer& out, const Finalize& finalize) {
  out.varint(static_cast<std::uint32_t>(finalize.code));
  return Type::finalize;
}

Type write(Writer& out, const Handler& handler) {
  out.string(cut(handler.name, kMaxHandler));
  out.u8(handler.merge.code);
  return Type::handler;
}

Type write(Writer& out, const Reply& reply) {
  out.varint(reply.token);
  out.varint(reply.size);
  out.string(reply.bytes);
  return Type::reply;
}

Type write(Writer& out, const ReplyData& data) {
  out.string(data.bytes);
  return Type::reply_data;
}

Type write(Writer& out, const Kept& kept) {
  out.varint(kept.token);
  return Type::kept;
}

Type write(Writer& out, const Request& request) {
  out.varint(request.token);
  out.string(cut(request.handler, kMaxHandler));
  out.varint(request.address);
  out.varint(request.port);
  out.varint(request.size);
  out.string(request.bytes);
  return Type::request;
}

Type write(Writer& out, const RequestData& data) {
  out.string(data.bytes);
  return Type::request_data;
}

Type write(Writer& out, const Lost& lost) {
  out.varint(lost.processes.size());
  for (const auto& [first, last] : lost.processes) {
    out.varint(first);
    out.varint(last);
  }
  return Type::lost;
}

Type write(Writer& out, const Welcome& welcome) {
  out.varint(welcome.process);
  out.varint(welcome.total);
  out.varint(welcome.local_rank);
  out.varint(welcome.local_size);
  out.varint(welcome.host);
  out.varint(welcome.epoch);
  out.varint(welcome.restarts);
  return Type::welcome;
}

Type write(Writer& out, const NodeTable& table) {
  out.varint(table.epoch);
  out.varint(table.pes_per_process);
  encode(out, table.blocks);
  return Type::table;
}

Type write(Writer& out, const Renewed& renewed) {
  out.varint(renewed.epoch);
  encode(out, renewed.blocks);
  return Type::renewed;
}

Type write(Writer& out, const Missed& missed) {
  out.varint(missed.barriers);
  return Type::missed;
}

Type write(Writer& out, const Table& table) {
  return write(out, table.table);
}
Type write(Writer&, const BarrierRelease&) {
  return Type::barrier_release;
}
Type write(Writer&, const Finished&) {
  return Type::finished;
}

Type write(Writer& out, const Refused& refused) {
  out.string(cut(refused.why, kMaxWhy));
  return Type::refused;
}

template <class Message>
std::string frame_of(const Message& message) {
  FrameWriter out;
  const Type type = std::visit([&out](const auto& m) { return write(out, m); }, message);
  return out.take_frame(static_cast<std::uint8_t>(type));
}

/// `More`: what carries the data that `first` has no room for.
template <class More, class First>
std::string frames_of(First& first, std::string_view data) {
  first.size = static_cast<std::uint32_t>(data.size());
  std::string frames;
  for_each_piece(data, kPiece, [&](std::string_view bytes, bool) {
    if (!frames.empty()) {
      frames += to_frame(More{std::string{bytes}});
    } else {
      first.bytes = bytes;
      frames = to_frame(first);
    }
  });
  return frames;
}

// ---- decoding

Hello read_hello(Reader& in) {
  Hello hello;
  hello.version = in.u32();
  if (hello.version != kVersion) {  // another layout: only the version is ours to read
    in.rest();
    return hello;
  }
  hello.process = in.u32();
  hello.pid = in.u32();
  hello.library = in.string(kMaxLibrary);
  return hello;
}

Welcome read_welcome(Reader& in) {
  Welcome welcome;
  welcome.process = in.u32();
  welcome.total = in.u32();
  welcome.local_rank = in.u32();
  welcome.local_size = in.u32();
  welcome.host = in.u32();
  welcome.epoch = in.u32();
  welcome.restarts = in.u32();
  return welcome;
}

bool is_sound(const Welcome& w) {
  return w.process < w.total && w.total <= kMaxProcesses && w.local_rank < w.local_size &&
         w.local_size <= w.total;
}

NodeTable read_table(Reader& in) {
  NodeTable table;
  table.epoch = in.u32();
  table.pes_per_process = in.u32();
  table.blocks = decode_blocks(in);
  return table;
}

Request read_request(Reader& in) {
  Request request;
  request.token = in.u32();
  request.handler = in.string(kMaxHandler);
  request.address = in.u32();
  request.port = static_cast<std::uint16_t>(in.bounded(UINT16_MAX));
  request.size = in.u32();
  request.bytes = in.string(kPiece);
  return request;
}

Reply read_reply(Reader& in) {
  Reply reply;
  reply.token = in.u32();
  reply.size = static_cast<std::uint32_t>(in.bounded(kMaxReply));
  reply.bytes = in.string(kPiece);
  return reply;
}

Lost read_lost(Reader& in) {
  Lost lost;
  const std::uint64_t ranges = in.bounded(kMaxLost);
  for (std::uint64_t i = 0; i < ranges && in.ok(); ++i) {
    const std::uint32_t first = in.u32();
    lost.processes.push_back({first, in.u32()});
  }
  return lost;
}

bool is_sound(const Lost& lost) {
  return std::all_of(lost.processes.begin(), lost.processes.end(),
                     [](const auto& range) { return range.first <= range.last; });
}

Error malformed(const Frame& frame) {
  return Error{Errc::bad_peer, Phase::run, fmt::format("malformed message of type {}", frame.type)};
}

/// The message if everything was read and nothing else is wrong.
template <class Variant, class Message>
Result<Variant> checked(const Frame& frame, const Reader& in, Message message, bool sound = true) {
  if (!in.finished() || !sound) return malformed(frame);
  return Variant{std::move(message)};
}

}  // namespace

std::string to_frame(const FromClient& message) {
  return frame_of(message);
}
std::string to_frame(const FromLauncher& message) {
  return frame_of(message);
}

std::string to_frames(Request request, std::string_view data) {
  return frames_of<RequestData>(request, data);
}
std::string to_frames(Reply reply, std::string_view data) {
  return frames_of<ReplyData>(reply, data);
}

std::string lost_frames(const std::vector<ProcessSet::Range>& processes) {
  std::string frames;
  for (std::size_t at = 0; at < processes.size(); at += kMaxLost) {
    const auto from = processes.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(kMaxLost, processes.size() - at);
    frames += to_frame(Lost{{from, from + static_cast<std::ptrdiff_t>(count)}});
  }
  return frames;
}

Result<std::string> table_header(std::string_view coded) {
  if (coded.size() > kMaxLinkFrame) {
    return Error{
        Errc::bad_input, Phase::table,
        fmt::format("the node table takes {} bytes, more than a frame of {}", coded.size(), kMaxLinkFrame),
        "register smaller tuples"};
  }
  return make_frame_header(static_cast<std::uint8_t>(Type::table), coded.size());
}

Result<FromClient> decode_from_client(const Frame& frame) {
  Reader in{frame.payload};
  switch (static_cast<Type>(frame.type)) {
    case Type::hello: {
      Hello hello = read_hello(in);
      return checked<FromClient>(frame, in, std::move(hello));
    }
    case Type::put: {
      Put put{in.string(kMaxTuple)};
      return checked<FromClient>(frame, in, std::move(put));
    }
    case Type::barrier_enter: {
      const BarrierEnter enter{in.u32()};
      return checked<FromClient>(frame, in, enter);
    }
    case Type::print: {
      const std::uint8_t stream = in.u8();
      Print print{static_cast<Stream>(stream), in.string(kMaxPrint)};
      return checked<FromClient>(frame, in, std::move(print), stream == 1 || stream == 2);
    }
    case Type::abort: {
      const auto code = static_cast<std::int32_t>(in.u32());
      Abort abort{code, in.string(kMaxAbortText)};
      return checked<FromClient>(frame, in, std::move(abort));
    }
    case Type::finalize: {
      Finalize finalize{static_cast<std::int32_t>(in.u32())};
      return checked<FromClient>(frame, in, finalize);
    }
    case Type::handler: {
      std::string name = in.string(kMaxHandler);
      Handler handler{std::move(name), CcsMerge{in.u8()}};
      const bool sound = !handler.name.empty() && handler.merge.is_known();
      return checked<FromClient>(frame, in, std::move(handler), sound);
    }
    case Type::reply: {
      Reply reply = read_reply(in);
      const bool sound = reply.bytes.size() <= reply.size;
      return checked<FromClient>(frame, in, std::move(reply), sound);
    }
    case Type::reply_data: {
      ReplyData data{in.string(kPiece)};
      const bool sound = !data.bytes.empty();
      return checked<FromClient>(frame, in, std::move(data), sound);
    }
    case Type::kept: {
      const Kept kept{in.u32()};
      return checked<FromClient>(frame, in, kept);
    }
    default:
      return malformed(frame);
  }
}

Result<FromLauncher> decode_from_launcher(const Frame& frame) {
  Reader in{frame.payload};
  switch (static_cast<Type>(frame.type)) {
    case Type::welcome: {
      const Welcome welcome = read_welcome(in);
      return checked<FromLauncher>(frame, in, welcome, is_sound(welcome));
    }
    case Type::table: {
      Table table{read_table(in)};
      const bool complete = is_complete(table.table.blocks, table.table.processes());
      return checked<FromLauncher>(frame, in, std::move(table), complete);
    }
    case Type::barrier_release:
      return checked<FromLauncher>(frame, in, BarrierRelease{});
    case Type::finished:
      return checked<FromLauncher>(frame, in, Finished{});
    case Type::refused: {
      Refused refused{in.string(kMaxWhy)};
      return checked<FromLauncher>(frame, in, std::move(refused));
    }
    case Type::request: {
      Request request = read_request(in);
      const bool sound = request.bytes.size() <= request.size;
      return checked<FromLauncher>(frame, in, std::move(request), sound);
    }
    case Type::request_data: {
      RequestData data{in.string(kPiece)};
      const bool sound = !data.bytes.empty();
      return checked<FromLauncher>(frame, in, std::move(data), sound);
    }
    case Type::lost: {
      Lost lost = read_lost(in);
      const bool sound = is_sound(lost);
      return checked<FromLauncher>(frame, in, std::move(lost), sound);
    }
    case Type::renewed: {
      Renewed renewed{in.u32(), {}};
      renewed.blocks = decode_blocks(in);
      return checked<FromLauncher>(frame, in, std::move(renewed));
    }
    case Type::missed: {
      const Missed missed{in.u32()};
      return checked<FromLauncher>(frame, in, missed);
    }
    default:
      return malformed(frame);
  }
}

}  // namespace charmtree::wire::native
