// SPDX-License-Identifier: Apache-2.0
// How OpenPMIx's library is told of processes that find each other by it: a world (wire::World), and those of
// them that are on this host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/clients/pmix/pmix_message.hpp"
#include "tree/io/pmix/pmix_library.hpp"

namespace charmtree::io {

/// A list of pmix_info_t that owns what is in it.
class InfoList {
public:
  explicit InfoList(const PmixLibrary& library) : library_(library) {}
  void add(const char* key, const std::string& text, pmix_data_type_t type = PMIX_STRING) {
    add(key, text.c_str(), type);
  }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = list_.emplace_back();
    library_.info_load(&info, key, const_cast<void*>(value), type);
  }
  void add(const char* key, std::uint32_t number) { add(key, &number, PMIX_UINT32); }
  void add(const char* key, InfoList& list) {
    pmix_data_array_t array{PMIX_INFO, list.size(), list.data()};
    add(key, &array, PMIX_DATA_ARRAY);
  }
  void add_true(const char* key) {
    const bool yes = true;
    add(key, &yes, PMIX_BOOL);
  }
  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

private:
  const PmixLibrary& library_;
  std::vector<pmix_info_t> list_;  // its texts live as long as the helper
};

pmix_proc_t process_of(const std::string& name_space, std::uint32_t rank);

/// Who is where, with how many, and which programs they run. `folder`: for its files; `parent`: who had them
/// started. Empty, or why the library does not take it.
std::string register_world(const PmixLibrary& library, const pmix::Describe& job, const std::string& folder,
                           const std::optional<pmix_proc_t>& parent);

/// Those that are here; with which variables ("NAME=value") each has to be started.
Result<std::vector<std::vector<std::string>>> register_processes(const PmixLibrary& library,
                                                                 const pmix::Describe& job,
                                                                 const std::string& folder);

}  // namespace charmtree::io
