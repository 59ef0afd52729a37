// SPDX-License-Identifier: Apache-2.0
// Whether those at the other ends of a launcher's links live. Something goes over every link at least once in
// a beat, in both directions; who is silent for longer than its own gaps let expect is suspected. Silence
// alone convicts nobody: a lost packet holds up all that follows on its link for a second and more, and a
// starved machine hears late. So a suspicion is looked into from three sides:
//   ourselves   time in which we did not run does not count, nor what came meanwhile and is not read yet;
//   our parent  says whether we ourselves were punctual;
//   the host    whether it still acknowledges our bytes, of which it is sent more meanwhile, and one
//   connection
//               to its ssh port.
// No answer and no acknowledgement: the host or its network is gone. Acknowledgements: the launcher is
// frozen. An answer without acknowledgements: the link is dead, the host is not. The last two are given more
// time. Pure.
//
// A suspicion begins after 0.6 to 0.7 s. A host that is gone acknowledges nothing later than a beat after it
// was last heard, so whoever did lives. A suspect is sent more while it is looked into: each message that is
// lost, or its acknowledgement, makes a false verdict fifty times rarer. Acknowledgements that are missing
// soon after this launcher itself did not run prove nothing: it had sent nothing. `tests/campaign silence`
// runs a million detectors over such a network and extrapolates (tests/bench/results/health.txt). "Gone"
// means that nothing of a host can be reached, not that it is dead: a dead link looks the same while a packet
// of the one connection to the port is lost, too. A parent is judged in the same way (the kernel knows sshd's
// connection, too: tree/io/sock_diag), but given 8 s without any sign, since the verdict is SIGKILL; one that
// is frozen on a living host is waited for, because who started it sees to it. A root that hears nobody, and
// has nobody to ask, takes its own network for the cause first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "health/verdict.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::health {

using proto::Evidence;

struct Timing {
  Duration beat{250ms};          // something is sent on every link so often
  Duration gone_after{1s};       // silence of a host that answers in no way
  Duration half_open_after{8s};  // of a link whose host lives and acknowledges nothing
  Duration frozen_after{30s};    // of a launcher whose host acknowledges, or does not tell
  Duration orphan_after{8s};     // of our parent, in place of the first two; a frozen one is waited for

  /// A host that is gone may have acknowledged until a beat after it was last heard: who did so less than
  /// this before `gone_after` lives.
  Duration last_word() const { return std::max(gone_after / 2, gone_after - beat * 5 / 4); }
  /// Who acknowledged something less than this ago will have done so late enough when a probe ends `within`.
  Duration fresh(Duration within) const { return std::max(Duration{0}, last_word() - within); }
};

/// What the verdict will be and when, if nothing changes.
struct Outlook {
  Symptom cause = Symptom::gone;
  Duration left{0};  // negative: only an answer is awaited, of a port or our parent
};

class Detector {
public:
  /// What is to be done.
  struct Orders {
    std::vector<LinkId> beats;                        // send something
    std::vector<std::pair<LinkId, Duration>> probes;  // find out about them within this time: probed()
    bool ask_parent = false;                          // whether we are punctual: parent_says()
    std::vector<Verdict> verdicts;                    // their links are watched no longer
  };

  explicit Detector(Timing timing, bool has_parent) : timing_(timing), has_parent_(has_parent) {}

  /// A link begins. The parent's is watched like others. `here`: it does not leave this machine.
  void watch(LinkId link, Instant now, bool here = false);
  void forget(LinkId link);
  void sent(LinkId link, Instant now);
  void heard(LinkId link, Instant now);
  void tick(Instant now, Orders& orders);
  /// Answer to a probe.
  void probed(LinkId link, const Evidence& evidence, Instant now, Orders& orders);
  void parent_says(bool punctual, Instant now, Orders& orders);
  /// How a child's beats have come: what to answer if it asks.
  bool was_punctual(LinkId link, Instant now) const;
  /// It asks; nothing: it has just asked.
  std::optional<bool> asked(LinkId link, Instant now);
  /// All begin anew: nobody was to send anything until now.
  void resume(Instant now);

  /// Of a link that is watched; while nothing has been found out the worst is expected.
  std::optional<Outlook> outlook(LinkId link, Instant now) const;
  const Timing& timing() const { return timing_; }

  Instant next_deadline() const;

private:
  /// Gaps between what is heard, in the manner of TCP's round trips.
  struct Gaps {
    Duration mean{0}, deviation{0};
    void add(Duration gap);
  };
  struct Suspicion {
    std::optional<Evidence> evidence = {};  // none: the answer to the probe is awaited
    Instant stale_at = kNever;              // when it is taken again
    bool was_premature = false;             // it was taken before we had run for long enough
    bool confirmed = false;                 // by our parent, or there is none to ask
    bool was_half_open = false;             // its host answered, but acknowledgements had stopped, too
    int misses = 0;                         // so many times in a row the port did not answer
  };
  struct Peer {
    Instant sent_at, heard_at;
    Instant late_at = kNever;   // when something came that had been awaited for too long
    Instant asked_at = kNever;  // whether it was punctual itself
    bool here = false;
    Gaps gaps = {};
    std::optional<Suspicion> suspicion = {};
  };
  using Peers = std::map<LinkId, Peer>;

  Duration suspect_after(const Peer& peer) const;
  Duration patience(LinkId link, const Suspicion& suspicion) const;
  bool hears_nobody() const;
  Symptom cause(const Suspicion& suspicion) const;
  bool forgive(Instant now);
  void beat(Instant now, Orders& orders);
  void suspect(LinkId link, Peer& peer, Instant now, Orders& orders);
  bool is_guilty(LinkId link, const Peer& peer, Instant now) const;
  Instant look_at(LinkId link, const Peer& peer) const;
  void look_at_all(Instant now, Orders& orders);

  Timing timing_;
  bool has_parent_, asks_again_ = false;
  Peers peers_;
  Instant beat_at_ = kNever, look_at_ = kNever;
  Instant forgiven_at_ = kNever;
};

}  // namespace charmtree::health
