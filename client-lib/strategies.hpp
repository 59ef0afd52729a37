// SPDX-License-Identifier: Apache-2.0
// How a value of each process of the job gets to all of them: by the launchers' own gather, or in one of the
// ways that start-ups of MPI have been measured with (ct_exchange_start), made of fences, asks, and memory
// that the processes of a host share. Functions return CT_OK (or the number asked for) or a negative CT_E...
// value; charmtree.h documents them for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client-lib/asks.hpp"
#include "client-lib/charmtree.h"
#include "client-lib/fences.hpp"
#include "client-lib/segment.hpp"

namespace charmtree::client {

/// The application's own way between the first processes of the hosts: `values` of `size` bytes each, by
/// rank, in which those of this host are; true: now all are.
using Transport = std::function<bool(char* values, std::size_t size, const std::vector<int>& roots)>;

class Strategies {
public:
  enum class Strategy : std::uint8_t {
    table = CT_TABLE,
    node_roots = CT_NODE_ROOTS,
    shared = CT_SHARED,
    simple = CT_SIMPLE,
  };

  /// They must outlive the object.
  Strategies(Job& job, Fences& fences, Asks& asks) : job_(job), fences_(fences), asks_(asks) {}

  void set_transport(Transport transport) { transport_ = std::move(transport); }
  /// The number of a request.
  int begin(Strategy how, std::string_view value);
  /// Goes on with what is under way, as far as that goes without waiting.
  int advance();

private:
  enum class Phase : std::uint8_t {
    table,    // says who is on which host
    arrange,  // values are offered, the memory of this host is made and its name told
    fetch,    // what other hosts' processes gave comes here
    close,    // all of this host have done their part
  };
  struct UnderWay {
    int request = -1;
    Strategy how = Strategy::table;
    std::string value;  // of this process
    Phase phase = Phase::table;
    bool is_good = true;
    std::vector<std::vector<int>> hosts = {};  // the ranks of each, rising; in the order of the first ones
    std::size_t own_host = 0;                  // in these
    std::optional<int> named = {}, met = {}, closed = {};  // requests
    std::vector<int> pieces = {};                          // requests of what the roots give each other
    std::map<int, int> asked = {};                         // ranks, by their requests
    int next = 0, end = 0;                                 // ranks that are to be asked
    std::optional<Segment> segment = {};                   // the values of all
    std::string own = {};                                  // or these, where no other process has to see them
  };
  // Each goes on to the next phase. CT_OK: it has; CT_EFAILED: for good.
  int go_on();
  int lay_out();
  int arrange();
  int fetch_by_asking();
  int fetch_by_roots();
  int close();

  int own_rank() const;
  const std::vector<int>& here() const { return all_->hosts[all_->own_host]; }
  bool is_root() const;
  std::vector<int> roots() const;
  char* slot(int rank);
  void place(int rank, std::string_view value);
  int meet(std::optional<int>& request, const std::vector<int>& ranks, Fences::Gives gives,
           std::string_view value);
  bool has_failed(const std::optional<int>& request) const;
  int tell_name();
  void take_memory();
  std::pair<int, int> to_be_asked() const;
  void collect_asked();
  int gather_from_roots();
  void take_piece(int request, const std::vector<int>& ranks, std::size_t first, std::size_t count);
  void finish(bool is_over);

  Job& job_;
  Fences& fences_;
  Asks& asks_;
  Transport transport_;
  std::optional<UnderWay> all_;
  int count_ = 0;  // of those that were begun
  bool advancing_ = false;
};

}  // namespace charmtree::client
