// SPDX-License-Identifier: Apache-2.0
// The server library of OpenPMIx, loaded at run time: that one which the program itself brings, else the
// system's. It is not linked, as no host must have it, and programs want theirs: all versions from 4.2 on
// have what is used here, and say the same to each other's clients.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::io {

struct PmixLibrary {
  decltype(&PMIx_server_init) init = nullptr;
  decltype(&PMIx_server_finalize) finalize = nullptr;
  decltype(&PMIx_server_register_nspace) register_nspace = nullptr;
  decltype(&PMIx_server_deregister_nspace) deregister_nspace = nullptr;
  decltype(&PMIx_server_register_client) register_client = nullptr;
  decltype(&PMIx_server_setup_fork) setup_fork = nullptr;
  decltype(&PMIx_generate_regex) generate_regex = nullptr;
  decltype(&PMIx_generate_ppn) generate_ppn = nullptr;
  decltype(&PMIx_server_dmodex_request) dmodex_request = nullptr;
  decltype(&PMIx_Notify_event) notify_event = nullptr;
  decltype(&PMIx_Data_pack) data_pack = nullptr;
  decltype(&PMIx_Data_unpack) data_unpack = nullptr;
  decltype(&PMIx_Info_load) info_load = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;

  /// For this program, as it is started here: a path, or a name to be found in PATH. `first`: where to look
  /// before all other places; empty: nowhere. Error: there is none, or none that can be used.
  static Result<PmixLibrary> load(const std::string& program, const std::string& first = {});

  /// Of a call: empty, or what has gone wrong.
  std::string failure(const char* what, pmix_status_t status) const;
  /// The value as bytes, which the library of another host understands; empty: it cannot be said so.
  std::string pack(const pmix_value_t& value) const;
  /// Nothing: these are none. What it points to lives as long as this process.
  std::optional<pmix_value_t> unpack(std::string_view bytes) const;
};

/// Where that of a program may be, the likeliest first; the last one is for the loader to find.
std::vector<std::string> pmix_paths(const std::string& program);

}  // namespace charmtree::io
