// SPDX-License-Identifier: Apache-2.0
// The functions of charmtree_verbs.h.
#include <unistd.h>

#include <new>
#include <string>
#include <utility>

#include "client-lib/charmtree_verbs.h"
#include "client-lib/ibverbs/mesh.hpp"

struct ct_verbs {
  charmtree::ibverbs::Mesh mesh;
  std::string error;
  pid_t process =
      ::getpid();  // the one that has opened it: what a child of fork destroys would be gone for it
};

namespace {

/// Keeps what went wrong.
template <class Call>
int guarded(ct_verbs& verbs, Call call) noexcept {
  charmtree::ibverbs::Outcome failure = charmtree::ibverbs::attempt(call);
  if (!failure) {
    verbs.error.clear();
    return CT_OK;
  }
  verbs.error = std::move(failure->what);
  return failure->code;
}

}  // namespace

int ct_verbs_open(ct_job* job, const ct_verbs_options* options, ct_verbs** verbs) {
  if (verbs == nullptr) return CT_EINVAL;
  *verbs = nullptr;
  if (job == nullptr) return CT_EINVAL;
  auto* opened = new (std::nothrow) ct_verbs{charmtree::ibverbs::Mesh{job}, {}};
  if (opened == nullptr) return CT_ENOMEM;
  *verbs = opened;
  const ct_verbs_options chosen = options == nullptr ? ct_verbs_options{} : *options;
  return guarded(*opened, [&] {
    return opened->mesh.open(
        chosen, chosen.made == nullptr
                    ? charmtree::ibverbs::OnDemand::WhenMade{}
                    : [=](std::uint32_t rank, ibv_qp* queue_pair) {
                        chosen.made(opened, static_cast<int>(rank), queue_pair, chosen.argument);
                      });
  });
}

int ct_verbs_connect(ct_verbs* verbs, int scheme) {
  if (verbs == nullptr) return CT_EINVAL;
  if (verbs->process != ::getpid()) return CT_EFORK;
  return guarded(*verbs, [&] { return verbs->mesh.connect(scheme); });
}

int ct_verbs_reach(ct_verbs* verbs, int rank, ibv_qp** queue_pair) {
  if (verbs == nullptr || queue_pair == nullptr) return CT_EINVAL;
  *queue_pair = nullptr;
  if (verbs->process != ::getpid()) return CT_EFORK;
  const int error = guarded(*verbs, [&] { return verbs->mesh.reach(rank); });
  if (error == CT_OK) *queue_pair = verbs->mesh.queue_pair(rank);
  return error;
}

ibv_qp* ct_verbs_queue_pair(const ct_verbs* verbs, int rank) {
  return verbs == nullptr ? nullptr : verbs->mesh.queue_pair(rank);
}

ibv_pd* ct_verbs_domain(const ct_verbs* verbs) {
  return verbs == nullptr ? nullptr : verbs->mesh.device().domain();
}

ibv_cq* ct_verbs_completions(const ct_verbs* verbs) {
  return verbs == nullptr ? nullptr : verbs->mesh.device().completions();
}

int ct_verbs_costs_of(const ct_verbs* verbs, ct_verbs_costs* costs) {
  if (verbs == nullptr || costs == nullptr) return CT_EINVAL;
  *costs = verbs->mesh.costs();
  return CT_OK;
}

const char* ct_verbs_error(const ct_verbs* verbs) {
  return verbs == nullptr ? "" : verbs->error.c_str();
}

int ct_verbs_close(ct_verbs* verbs) {
  if (verbs == nullptr) return CT_EINVAL;
  if (verbs->process != ::getpid()) return CT_EFORK;
  delete verbs;
  return CT_OK;
}
