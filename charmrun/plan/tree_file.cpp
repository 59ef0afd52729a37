// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/tree_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "charmrun/plan/state_file.hpp"
#include "tree/base/handle.hpp"
#include "tree/base/join.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/write_error.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/message_members.hpp"

namespace charmtree {

namespace {

/// What comes before the lists.
struct Head {
  std::string version, machine;
  std::vector<std::string> words;
  std::int64_t limit_at = 0;
  std::string root_at;
  wire::JobSpec job;
  bool int_ends = true;
  proto::BadExit bad_exit = proto::BadExit::waits;
};

}  // namespace

namespace wire {

template <>
inline constexpr proto::BadExit kLast<proto::BadExit> = proto::BadExit::ends;
template <>
inline constexpr std::uint64_t kMostElements<Head> = 1U << 20;
CT_MEMBERS(Head, s.version, s.machine, s.words, s.limit_at, s.root_at, s.job, s.int_ends, s.bad_exit)

}  // namespace wire

namespace {

constexpr std::string_view kMagic = "charmtree-tree-4\n", kSuffix = ".tree";
constexpr std::size_t kMostBytes = 256U << 20;  // a million hosts are less

std::string file_of(const std::string& folder, const std::string& id) {
  return fmt::format("{}/{}{}", folder, id, kSuffix);
}

constexpr wire::MessageTypes kLists{wire::MessageList<wire::Assign, wire::Facts, wire::Lost>{}};

/// Lists go as the messages that they are on their way through the tree, which may be of any length.
Result<void> read_lists(std::string_view text, KeptTree& tree) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(text);
  for (;;) {
    const auto frame = decoder.next();
    if (!frame) return frame.error();
    if (!frame->has_value()) break;
    const auto message = kLists.decode((*frame)->type, (*frame)->payload);
    if (!message) return message.error();
    handle(
        *message,
        [&](const wire::Assign& assign) {
          tree.plan.hosts.insert(tree.plan.hosts.end(), assign.hosts.begin(), assign.hosts.end());
        },
        [&](const wire::Facts& facts) {
          std::vector<wire::StartedBy>& all = tree.plan.takes_over->started_by;
          all.insert(all.end(), facts.started_by.begin(), facts.started_by.end());
        },
        [&](const wire::Lost& lost) { tree.plan.takes_over->lost.add_all(lost.processes); });
  }
  return decoder.buffered() == 0 ? Result<void>{} : bad_input("it ends early");
}

}  // namespace

std::string encode(const KeptTree& tree) {
  wire::Writer out;
  out.raw(kMagic);
  wire::put(out, Head{tree.version, tree.machine, tree.words, tree.limit_at, tree.root_at, tree.plan.job,
                      tree.plan.int_ends, tree.plan.bad_exit});
  wire::Facts facts;
  facts.started_by = tree.plan.takes_over->started_by;
  const wire::Message lists[] = {wire::Assign{tree.plan.hosts}, std::move(facts),
                                 wire::Lost{0, tree.plan.takes_over->lost.ranges()}};
  for (const wire::Message& list : lists) {
    if (auto frames = wire::encode_frames(list)) out.raw(*frames);
  }
  return out.take();
}

Result<KeptTree> decode_tree(std::string_view text) {
  if (!text.starts_with(kMagic)) return bad_input("it is of another version of charmrun");
  wire::Reader in{text.substr(kMagic.size())};
  Head head;
  wire::get(in, head);
  if (!in.ok()) return bad_input("it cannot be read");
  KeptTree tree{head.version, head.machine, std::move(head.words), head.limit_at, head.root_at, {}};
  tree.plan.job = std::move(head.job);
  tree.plan.int_ends = head.int_ends;
  tree.plan.bad_exit = head.bad_exit;
  tree.plan.takes_over.emplace();
  if (auto lists = read_lists(in.rest(), tree); !lists) return lists.error();
  if (tree.plan.hosts.size() != tree.plan.job.hosts) return bad_input("it ends early");
  for (std::size_t i = 0; i < tree.plan.hosts.size(); ++i) {
    const Host& host = tree.plan.hosts[i];
    if (host.index != i || host.profile >= tree.plan.job.profiles.size())
      return bad_input("its hosts are wrong");
  }
  return tree;
}

TreeFile::TreeFile(const std::string& folder, KeptTree tree, bool kept)
    : path_(folder.empty() ? "" : file_of(folder, tree.plan.job.id)), tree_(std::move(tree)), kept_(kept) {}

/// The numbers of processes may have been given only now.
Result<void> TreeFile::keep(const proto::KeepTree& now) {
  tree_.plan.hosts = now.hosts;
  tree_.plan.takes_over = now.shape;
  tree_.plan.job.pes_per_process = now.pes_per_process;
  tree_.plan.job.processes = 0;
  for (const Host& host : now.hosts) tree_.plan.job.processes += host.processes;
  if (path_.empty()) return Error{Errc::internal, Phase::run, "there is no home for it", "set $HOME"};
  if (make_folder(path_) && replace_file(path_, encode(tree_))) {
    kept_ = ours_ = true;
    touch_tree(path_);
    return {};
  }
  return Error{Errc::internal, Phase::run, fmt::format("{}: {}", path_, io::write_error(errno)), {}};
}

/// By this machine's clock, whatever that of a file server is.
void touch_tree(const std::string& path) {
  const std::int64_t now = io::wall_ms();
  const timespec time{now / 1000, now % 1000 * 1'000'000};
  const std::array<timespec, 2> times{time, time};
  ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0);
}

void TreeFile::remove() {
  if (kept_ && !left_) ::unlink(path_.c_str());
}

std::int64_t last_seen(const std::string& folder, const std::string& id) {
  struct stat info {};
  if (::stat(file_of(folder, id).c_str(), &info) != 0) return 0;
  return std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

void remove_tree(const std::string& folder, const std::string& id) {
  ::unlink(file_of(folder, id).c_str());
}

std::vector<std::string> kept_trees(const std::string& folder) {
  std::vector<std::string> ids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{folder, ignored}) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kSuffix)) ids.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<std::string> choose_tree(const std::vector<std::string>& ids, const std::string& wanted) {
  std::vector<std::string> fitting;
  for (const std::string& id : ids) {
    if (id.starts_with(wanted)) fitting.push_back(id);
  }
  if (fitting.size() == 1) return fitting.front();
  if (ids.empty())
    return bad_input("no job of yours is kept alive", "jobs are that are started with ++keep-alive");
  const std::string all = join(ids, ", ");
  return bad_input(wanted.empty()    ? fmt::format("{} jobs of yours are kept alive", ids.size())
                   : fitting.empty() ? fmt::format("no job that is kept alive is called '{}'", wanted)
                                     : fmt::format("'{}' may be {} jobs", wanted, fitting.size()),
                   "say which one: " + all);
}

Result<KeptTree> read_tree(const std::string& folder, const std::string& id) {
  const std::string path = file_of(folder, id);
  auto text = io::read_file(path, kMostBytes);
  if (!text) return bad_input(fmt::format("{}: {}", path, text.error().what));
  auto tree = decode_tree(*text);
  if (!tree) return bad_input(fmt::format("{}: {}", path, tree.error().what), "remove it");
  return tree;
}

}  // namespace charmtree
