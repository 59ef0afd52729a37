// SPDX-License-Identifier: Apache-2.0
#include "tree/job/binding_report.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/root_job.hpp"

namespace charmtree::binding_report_test {

using namespace charmtree::proto;
using namespace charmtree::test;

TEST_CASE("bindings are shown in the order of the hosts, once all have told", "[binding]") {
  RootJob job{2};
  const std::vector<wire::Binding> nowhere(1);
  BindingReport report;
  report.on({1, nowhere});
  report.on({0, nowhere});
  report.turn(false, job.hosts, job.out);
  CHECK(job.out.empty());
  report.turn(true, job.hosts, job.out);
  CHECK(job.lines() == std::vector<std::string>{"h[0-1]: processes 0-1: not bound"});
  job.out.clear();
  report.turn(true, job.hosts, job.out);
  CHECK(job.out.empty());
}

}  // namespace charmtree::binding_report_test
