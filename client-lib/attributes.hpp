// SPDX-License-Identifier: Apache-2.0
// What the processes of a host tell each other under a name, at once and without a fence (client-lib/pmi).
// Functions return CT_OK or a negative CT_E... value.
#pragma once

#include <map>
#include <string>

namespace charmtree::client {

class Job;

class Attributes {
public:
  /// `job` must outlive the object.
  explicit Attributes(Job& job) : job_(job) {}

  /// CT_EORDER: there are too many names.
  int put(const std::string& name, const std::string& value);
  /// `waits`: until a process has put it, whatever the job's time-out is. CT_ENOKEY: none has.
  int get(const std::string& name, bool waits, std::string& value);

private:
  Job& job_;
  std::map<std::string, std::string> own_;  // of a job of one
};

}  // namespace charmtree::client
