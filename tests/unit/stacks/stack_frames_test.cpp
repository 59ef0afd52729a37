// SPDX-License-Identifier: Apache-2.0
#include "stacks/stack_frames.hpp"

#include <catch2/catch.hpp>

namespace charmtree::stack_frames_test {

using namespace charmtree::stacks;
using stacks::Motion;

TEST_CASE("what is outside of main is left out", "[stacks]") {
  CHECK(fold_frames({{"_start", "??", "main", "step"}}).frames == Frames{"main", "step"});
  CHECK(fold_frames({{"clone", "start_thread", "work"}}).frames == Frames{"clone", "start_thread", "work"});
}

TEST_CASE("what is inside of an MPI function is left out, and waits", "[stacks]") {
  const Folded mpi = fold_frames({{"_start", "main", "exchange", "PMPI_Recv", "MPID_Recv", "poll"}});
  CHECK(mpi.frames == Frames{"main", "exchange", "MPI_Recv"});
  CHECK(mpi.is_waiting);
  CHECK_FALSE(fold_frames({{"main", "MPI_helper_of_mine"}}).frames == Frames{"main"});
  CHECK_FALSE(fold_frames({{"main", "MPIfoo"}}).is_waiting);
}

TEST_CASE("a Charm++ scheduler that waits for messages is idle, wherever it is caught", "[stacks]") {
  const Frames loop{"main", "ConverseInit", "CsdScheduler", "CsdScheduleForever"};
  const auto at = [&](Frames inner) {
    Frames all = loop;
    all.insert(all.end(), inner.begin(), inner.end());
    return fold_frames({all});
  };
  const Frames idle =
      at({"CsdNextMessage", "CmiGetNonLocal", "CommunicationServerNet", "CheckSocketsReady", "__poll"})
          .frames;
  CHECK(idle.back() == "(idle in scheduler)");
  for (const Frames& inner :
       {Frames{"CsdNextMessage", "CmiGetNonLocal", "CommunicationServerNet", "__vdso_gettimeofday"},
        Frames{"CcdRaiseCondition", "CmiNotifyStillIdle", "CommunicationServerNet", "__poll"}, Frames{}}) {
    CHECK(at(inner).frames == idle);
    CHECK(at(inner).is_waiting);
  }
  const Folded works = at({"CmiHandleMessage", "Main::step", "poll"});
  CHECK((works.frames.back() == "poll" && !works.is_waiting));
  const Folded callback = at({"CcdRaiseCondition", "my_callback", "nanosleep"});
  CHECK((callback.frames.back() == "nanosleep" && !callback.is_waiting));
}

TEST_CASE("a Python program is shown by its own functions, and what these call", "[stacks]") {
  const Frames native{"_start",
                      "main",
                      "Py_BytesMain",
                      "_PyEval_EvalFrameDefault",
                      "PyObject_Vectorcall",
                      "??",
                      "_PyEval_EvalFrameDefault"};
  const auto at = [&](Frames called) {
    Stack stack{native, {"<module> (solve.py)", "step (solve.py)"}};
    stack.native.insert(stack.native.end(), called.begin(), called.end());
    return stack;
  };
  CHECK(fold_frames(at({})).frames == Frames{"<module> (solve.py)", "step (solve.py)"});
  const Folded mpi = fold_frames(at({"cfunction_call", "__pyx_pf_6mpi4py", "PMPI_Bcast", "poll"}));
  CHECK((mpi.frames == Frames{"<module> (solve.py)", "step (solve.py)", "MPI_Bcast"} && mpi.is_waiting));
  const Folded charm = fold_frames(at({"??", "StartCharm", "CsdScheduler", "CsdNextMessage", "poll"}));
  CHECK(charm.frames.back() == "(idle in scheduler)");
  const Frames all = all_frames(at({"poll"}));
  CHECK((all.size() == 10 && all[7] == "<module> (solve.py)" && all.back() == "poll"));
}

TEST_CASE("several looks tell what waits from what computes and what moves", "[stacks]") {
  const Folded spin{{"main", "spin"}, false}, other{{"main", "other"}, false},
      mpi{{"main", "MPI_Recv"}, true};
  CHECK(sum_up({spin, spin, spin}, Activity::computes).motion == Motion::computes);
  CHECK(sum_up({spin, spin, spin}, Activity::none).motion == Motion::waits);
  CHECK(sum_up({mpi, mpi, mpi}, Activity::computes).motion == Motion::waits);  // it polls
  CHECK(sum_up({spin, spin, spin}, Activity::stopped).motion == Motion::stopped);
  const Seen moves = sum_up({spin, other, spin}, Activity::computes);
  CHECK((moves.motion == Motion::moves && moves.frames == Frames{"main"}));
}

}  // namespace charmtree::stack_frames_test
