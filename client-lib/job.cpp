// SPDX-License-Identifier: Apache-2.0
// The launcher may speak at any time (a newer table, the end of the job), so every wait is the same loop:
// hear one message, remember what it says, look whether the condition holds. A job of one answers itself at
// once.
#include "client-lib/job.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tree/base/overloaded.hpp"

namespace charmtree::client {

namespace native = wire::native;

namespace {
constexpr std::string_view kLoopback = "127.0.0.1";
constexpr int kJoinAttempts = 6;
constexpr int kJoinPauseMs = 10;  // doubles with each attempt

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return CT_ELOST;
    }
  }
  return CT_OK;
}
}  // namespace

Job::Job() : pid_(::getpid()), of_parent_(Mapping::wiped_by_fork()) {
  self_.local = {{0, 0}};
  self_.layout = {{0, 1, 1}};
}

/// Without a system call, where the kernel has a page for it.
bool Job::is_foreign() const {
  return of_parent_.empty() ? ::getpid() != pid_ : of_parent_.bytes().front() == 0;
}

// ---- joining

/// A launcher that is flooded with connections drops some unanswered: then it is worth trying again.
int Job::join(const std::string& socket, std::uint32_t process) {
  alone_ = false;
  const native::Hello hello{native::kVersion, process, static_cast<std::uint32_t>(pid_), CHARMTREE_VERSION};
  const Deadline deadline{CT_INIT_TIMEOUT_MS};
  int error = join_once(socket, hello, deadline);
  for (int attempt = 1, pause = kJoinPauseMs; error == CT_ELOST && attempt < kJoinAttempts;
       ++attempt, pause *= 2) {
    ::poll(nullptr, 0, pause);
    error = join_once(socket, hello, deadline);
  }
  return error;
}

int Job::join_once(const std::string& socket, const native::Hello& hello, const Deadline& deadline) {
  if (const int error = channel_.connect(socket, deadline); error != CT_OK) return error;
  channel_.send(hello, deadline);  // whatever went wrong, the launcher's last word says more
  native::FromLauncher answer = native::Refused{};
  if (const int error = channel_.receive(answer, deadline); error != CT_OK) return error;
  if (holds_alternative<native::Refused>(answer)) return CT_EREFUSED;
  if (holds_alternative<native::Finished>(answer)) return CT_EENDED;
  const auto* welcome = get_if<native::Welcome>(&answer);
  if (welcome == nullptr || welcome->process != hello.process) return CT_EPROTO;
  self_ = *welcome;
  barriers_.heard(self_.epoch);
  return CT_OK;
}

// ---- hearing and speaking

int Job::on(native::Renewed& renewed) {
  const std::uint32_t epoch = renewed.epoch;
  if ((!table_ && !newer_) || !restarts_.add(std::move(renewed), self_.total)) return CT_EPROTO;
  barriers_.heard(epoch);
  return CT_OK;
}

/// Which has come with a message, and goes with this.
class Passed {
public:
  explicit Passed(Channel& channel) : fd_(channel.take_descriptor()) {}
  ~Passed() {
    if (fd_ >= 0) ::close(fd_);
  }
  Passed(const Passed&) = delete;
  int fd() const { return fd_; }

private:
  int fd_;
};

int Job::on(const native::Table&) {
  newer_ = Table::shared(Passed{channel_}.fd(), self_.total);
  if (!newer_) return CT_EPROTO;
  barriers_.heard(newer_->epoch());
  return CT_OK;
}

template <OneOf<std::variant<native::Values, native::FenceOver>> M>
int Job::on(const M& message) {
  const bool good = exchange_.comes_with_values(message) ? exchange_.heard(message, Passed{channel_}.fd())
                                                         : exchange_.heard(message, -1);
  return good ? CT_OK : CT_EPROTO;
}

template <OneOf<Job::ForOnePart> M>
int Job::on(M& message) {
  const Overloaded tell{
      [&](const native::Lost& lost) { return losses_.add(lost, self_.total); },
      [&](const native::RingOver& over) { return exchange_.heard(over, self_); },
      [&](const native::Told& told) { return exchange_.heard(told); },
      [&](native::Asked& asked) { return exchange_.listeners().heard(std::move(asked), self_.total); },
      [&](native::Attribute& answer) {
        const bool is_awaited = asked_ != nullptr && !*asked_;
        if (is_awaited) *asked_ = std::move(answer);
        return is_awaited;
      },
      [&](const native::Port& port) {
        return ports_.heard(port, port.is_there ? channel_.take_descriptor() : -1);
      },
      [&](const native::Topology& topology) {
        if (topology.is_there) return topology_.heard(Passed{channel_}.fd());
        const bool is_awaited = topology_.state() == Topology::State::awaited;
        topology_.miss();
        return is_awaited;
      },
      [&]<OneOf<std::variant<native::BarrierRelease, native::Missed>> B>(const B& told) {
        return barriers_.heard(told);
      },
      [&]<OneOf<std::variant<native::Request, native::RequestData>> R>(R& request) {
        return requests_.arrived(std::move(request));
      },
  };
  return tell(message) ? CT_OK : CT_EPROTO;
}

/// CT_ETIMEDOUT, or what came of one message; final errors are kept.
int Job::hear_one(const Deadline& deadline) {
  if (broken_ != CT_OK) return broken_;
  native::FromLauncher message = native::Finished{};
  int error = channel_.receive(message, deadline);
  if (error == CT_ETIMEDOUT) return error;
  if (error == CT_OK) error = dispatch([this](auto& m) { return on(m); }, message);
  broken_ = error;
  return error;
}

int Job::hear_all() {
  const Deadline now{0};
  int error = CT_OK;
  while (error == CT_OK) error = hear_one(now);
  return error == CT_ETIMEDOUT ? CT_OK : error;
}

/// Losses and restarts that are known go before what follows from them.
int Job::wait_until(const std::function<bool()>& condition, const Deadline& deadline) {
  for (;;) {
    if (const int error = tell_news(deadline); error != CT_OK) return error;
    if (condition()) return CT_OK;
    if (const int error = hear_one(deadline); error != CT_OK) return error;
  }
}

/// A handler may have asked for the job's end, or forked. A process that finalizes is done with losses and
/// restarts, but answers others.
int Job::tell_news(const Deadline& deadline) {
  if (telling()) return CT_OK;
  const Says may_say = finalizing_ ? Says::answers : Says::anything;
  bool leave = false;  // of restarts that are heard of while others are told, too: no barrier may open before
  for (bool more = true; more && !is_foreign() && usable(may_say) == CT_OK;) {
    if (!finalizing_ && losses_.untold())
      losses_.tell();
    else if (!finalizing_ && restarts_.untold())
      leave = restarts_.tell() || leave;
    else
      more = exchange_.listeners().tell_one();
  }
  if (is_foreign()) return CT_EFORK;
  if (const int error = usable(may_say); error != CT_OK || finalizing_) return error;
  if (leave) {
    barriers_.leave();
    return CT_ERESTARTED;
  }
  if (!barriers_.is_voided()) return CT_OK;
  const int error = send(native::BarrierEnter{barriers_.epoch()}, deadline);
  if (error == CT_OK) barriers_.enter();
  return error;
}

/// If the launcher does not read any more, its last words tell why.
int Job::send_frames(std::string frames, const Deadline& deadline) {
  const int error = channel_.send_frames(std::move(frames), deadline);
  if (error != CT_ELOST) return error;
  const int last = hear_all();
  return broken_ = last == CT_OK ? CT_ELOST : last;
}

int Job::usable(Says what) const {
  if (aborted_) return CT_EENDED;
  if (broken_ != CT_OK) return broken_;
  return finalizing_ && what == Says::anything ? CT_EORDER : CT_OK;
}

int Job::ask(const native::FromClient& message, native::Attribute& answer) {
  if (const int error = usable(); error != CT_OK) return error;
  const Deadline deadline{CT_FOREVER};
  if (const int error = ensure_registered(deadline); error != CT_OK) return error;
  std::optional<native::Attribute> answered;
  asked_ = &answered;
  int error = send(message, deadline);
  if (error == CT_OK) error = wait_until([&] { return answered.has_value(); }, deadline);
  asked_ = nullptr;
  if (error == CT_OK) answer = std::move(*answered);
  return error;
}

// ---- what users ask for

int Job::port(wire::PortKind kind, std::uint16_t& number) {
  if (const int error = usable(); error != CT_OK) return error;
  if (alone_) return ports_.open(kind, number);
  const Deadline deadline{timeout_ms_};
  if (!ports_.is_asked(kind)) {
    if (const int error = send(native::PortWanted{kind}, deadline); error != CT_OK) return error;
    ports_.ask(kind);
  }
  while (ports_.is_awaited(kind)) {
    if (const int error = hear_one(deadline); error != CT_OK) return error;
  }
  return ports_.take(kind, number);
}

int Job::topology(std::string_view& xml) {
  using State = Topology::State;
  if (const int error = usable(); error != CT_OK) return error;
  if (alone_) return CT_ENOKEY;
  const Deadline deadline{timeout_ms_};
  if (topology_.state() == State::none) {
    if (const int error = send(native::TopologyWanted{}, deadline); error != CT_OK) return error;
    topology_.ask();
  }
  while (topology_.state() == State::awaited) {
    if (const int error = hear_one(deadline); error != CT_OK) return error;
  }
  if (topology_.state() == State::missing) return CT_ENOKEY;
  xml = topology_.xml();
  return CT_OK;
}

int Job::put(std::string_view tuple) {
  if (tuple.size() > wire::kMaxTuple) return CT_EINVAL;
  if (const int error = usable(); error != CT_OK) return error;
  return registered_ ? CT_EORDER : put(tuple, Deadline{timeout_ms_});
}

int Job::put(std::string_view tuple, const Deadline& deadline) {
  if (alone_) {
    newer_ = Table::of_one(tuple);
  } else if (const int error = send(native::Put{std::string{tuple}}, deadline); error != CT_OK) {
    return error;
  }
  registered_ = true;
  return CT_OK;
}

int Job::ensure_registered(const Deadline& deadline) {
  return registered_ ? CT_OK : put({}, deadline);
}

int Job::table() {
  if (const int error = usable(); error != CT_OK) return error;
  if (losses_.telling() || exchange_.listeners().telling()) return CT_EORDER;
  const Deadline deadline{timeout_ms_};
  if (const int error = ensure_registered(deadline); error != CT_OK) return error;
  if (!alone_) {
    if (const int error = hear_all(); error != CT_OK) return error;
    if (const int error = wait_until([this] { return has_table(); }, deadline); error != CT_OK) return error;
  }
  if (newer_) table_ = std::move(newer_);
  newer_.reset();
  if (restarts_.pending()) restarts_.apply_to(*table_);
  return CT_OK;
}

int Job::lookup(std::uint32_t rank, ct_peer& peer) {
  if (rank >= self_.total) return CT_EINVAL;
  if (!table_) {
    if (const int error = table(); error != CT_OK) return error;
  }
  const auto found = table_->find(rank);
  if (!found) return CT_EPROTO;
  const bool nearby = found->host == self_.host && found->address.empty();
  const std::string_view address = nearby ? kLoopback : found->address;
  peer.rank = static_cast<int>(rank);
  peer.host = static_cast<int>(found->host);
  peer.address[address.copy(peer.address, sizeof peer.address - 1)] = '\0';
  peer.tuple = found->tuple.data();
  peer.size = found->tuple.size();
  return CT_OK;
}

int Job::barrier() {
  if (const int error = usable(); error != CT_OK) return error;
  if (telling()) return CT_EORDER;
  const Deadline deadline{timeout_ms_};
  if (const int error = ensure_registered(deadline); error != CT_OK) return error;
  if (alone_) {
    barriers_.pass();
    return CT_OK;
  }
  if (barriers_.is_outside()) {
    if (const int error = tell_news(deadline); error != CT_OK) return error;
    if (const int error = send(native::BarrierEnter{barriers_.epoch()}, deadline); error != CT_OK)
      return error;
    barriers_.enter();
  }
  if (const int error = wait_until([this] { return barriers_.is_released(); }, deadline); error != CT_OK) {
    return error;
  }
  barriers_.leave();
  return CT_OK;
}

int Job::handle(std::string_view name, wire::CcsMerge merge, Requests::Handler handler) {
  if (name.empty() || name.size() > native::kMaxHandler || !merge.is_known()) return CT_EINVAL;
  if (!requests_.has_room_for(name)) return CT_EINVAL;
  if (const int error = usable(); error != CT_OK) return error;
  const native::Handler message{std::string{name}, merge};
  if (!alone_) {
    if (const int error = send(message, Deadline{timeout_ms_}); error != CT_OK) return error;
  }
  requests_.add(message.name, handler);
  return CT_OK;
}

/// Only those that have come by now: who is asked all the time has other things to do as well.
int Job::serve(ct_job* handle) {
  if (const int error = usable(); error != CT_OK) return error;
  if (serving_ || telling()) return CT_EORDER;
  const Deadline deadline{timeout_ms_};
  if (const int error = ensure_registered(deadline); error != CT_OK) return error;
  if (alone_) {
    if (timeout_ms_ < 0) return CT_EENV;
    ::poll(nullptr, 0, timeout_ms_);
    return CT_ETIMEDOUT;
  }
  if (const int error = wait_until([this] { return requests_.waiting() > 0; }, deadline); error != CT_OK)
    return error;
  if (const int error = hear_all(); error != CT_OK) return error;
  if (const int error = tell_news(deadline); error != CT_OK) return error;
  serving_ = true;
  const std::size_t most = requests_.waiting();
  int served = 0;
  for (; served < static_cast<int>(most) && usable() == CT_OK && !is_foreign(); ++served) handle_one(handle);
  serving_ = false;
  return served;
}

void Job::handle_one(ct_job* handle) {
  const auto request = requests_.take();
  const auto [function, argument] = requests_.handler(request->handler);
  const ct_ccs_request asked{request->token,        request->handler.c_str(), request->bytes.data(),
                             request->bytes.size(), request->address,         request->port};
  function(handle, &asked, argument);
  if (!is_foreign() && requests_.is_open(request->token)) send(native::Kept{request->token}, Deadline{0});
}

int Job::reply(std::uint32_t token, std::string_view data) {
  if (data.size() > native::kMaxReply) return CT_EINVAL;
  if (const int error = usable(); error != CT_OK) return error;
  if (!requests_.is_open(token)) return CT_EINVAL;
  const int error = send_frames(native::to_frames(native::Reply{token, 0, {}}, data), Deadline{timeout_ms_});
  if (error == CT_OK) requests_.answered(token);
  return error;
}

int Job::print(native::Stream stream, std::string_view text) {
  if (text.size() > native::kMaxPrint) return CT_EINVAL;
  if (const int error = usable(); error != CT_OK) return error;
  if (alone_) return write_all(static_cast<int>(stream), text);
  if (text.empty()) return CT_OK;
  return send(native::Print{stream, std::string{text}}, Deadline{timeout_ms_});
}

int Job::abort(int status, std::string_view text) {
  text = text.substr(0, native::kMaxAbortText);
  if (alone_) {
    if (const int error = usable(); error != CT_OK) return error;
    aborted_ = true;
    return write_all(STDERR_FILENO, text);
  }
  const Deadline deadline{timeout_ms_};
  if (!aborted_) {
    if (const int error = usable(); error != CT_OK) return error;
    if (const int error = send(native::Abort{status, std::string{text}}, deadline); error != CT_OK)
      return error;
    aborted_ = true;
  }
  return channel_.flush(deadline);
}

int Job::finalize(int status, std::uint32_t peers) {
  if (aborted_) return CT_EENDED;
  if (broken_ != CT_OK) return broken_;
  if (serving_ || telling()) return CT_EORDER;
  if (barriers_.is_inside() || exchange_.any_to_wait_for()) {
    if (const int error = hear_all(); error != CT_OK) return error;
  }
  if (barriers_.is_inside() || barriers_.is_voided() || exchange_.any_to_wait_for()) return CT_EORDER;
  const Deadline deadline{timeout_ms_};
  if (const int error = ensure_registered(deadline); error != CT_OK) return error;
  if (alone_) return CT_OK;
  if (!finalizing_) {
    if (const int error = send(native::Finalize{status, peers}, deadline); error != CT_OK) return error;
    finalizing_ = true;
  }
  const int error = wait_until([] { return false; }, deadline);
  return error == CT_EENDED ? CT_OK : error;
}

}  // namespace charmtree::client
