// SPDX-License-Identifier: Apache-2.0
#include "tree/io/pmix/pmix_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "tree/io/host/program_reader.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

constexpr const char* kName = "libpmix.so.2";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string{"."} : path.substr(0, slash);
}

/// Debian, Fedora and those who build it themselves have it beside Open MPI's libraries, PyPI's package one
/// folder below.
void add_beside(const std::string& folder, std::vector<std::string>& paths) {
  for (const char* below : {"/openmpi/", "/"}) paths.push_back(folder + below + kName);
}

Error unusable(std::string what) {
  return {Errc::library_missing, Phase::spawn, std::move(what),
          "install OpenPMIx 4.2 or later there (Debian: libpmix2), or put its folder into LD_LIBRARY_PATH"};
}

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::vector<std::string> pmix_paths(const std::string& program) {
  std::vector<std::string> paths;
  const std::string path = program.find('/') == std::string::npos ? find_program(program) : program;
  for (const std::string& library : needed_libraries(path)) {
    const std::string name = library.substr(library.rfind('/') + 1);
    if (name == kName)
      paths.insert(paths.begin(), library);
    else if (name.starts_with("libmpi.") || name.starts_with("libopen-pal."))
      add_beside(folder_of(library), paths);
  }
  // A script has nothing but its interpreter to go by, whose modules load it, and where they are told to
  // look.
  const std::string folders = own_variable("LD_LIBRARY_PATH").value_or("");
  for (const std::string& each : split_list(folders, ':')) add_beside(each, paths);
  if (const auto prefix = own_variable("OPAL_PREFIX")) add_beside(*prefix + "/lib", paths);
  for (const std::string& each : {path, find_program("python3")})
    if (!each.empty()) add_beside(folder_of(folder_of(each)) + "/lib", paths);
  paths.emplace_back(kName);
  return paths;
}

Result<PmixLibrary> PmixLibrary::load(const std::string& program, const std::string& first) {
  void* library = nullptr;
  std::string path;
  std::vector<std::string> paths = pmix_paths(program);
  if (!first.empty()) paths.insert(paths.begin(), first);
  for (const std::string& each : paths) {
    if (each != kName && ::access(each.c_str(), R_OK) != 0) continue;
    path = each;
    library = ::dlopen(each.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return unusable("no libpmix.so.2 for a program that finds its processes by PMIx");
  PmixLibrary found;
  const bool complete = find(library, "PMIx_server_init", found.init) &&
                        find(library, "PMIx_server_finalize", found.finalize) &&
                        find(library, "PMIx_server_register_nspace", found.register_nspace) &&
                        find(library, "PMIx_server_deregister_nspace", found.deregister_nspace) &&
                        find(library, "PMIx_server_register_client", found.register_client) &&
                        find(library, "PMIx_server_setup_fork", found.setup_fork) &&
                        find(library, "PMIx_generate_regex", found.generate_regex) &&
                        find(library, "PMIx_generate_ppn", found.generate_ppn) &&
                        find(library, "PMIx_server_dmodex_request", found.dmodex_request) &&
                        find(library, "PMIx_Notify_event", found.notify_event) &&
                        find(library, "PMIx_Data_pack", found.data_pack) &&
                        find(library, "PMIx_Data_unpack", found.data_unpack) &&
                        find(library, "PMIx_Info_load", found.info_load) &&
                        find(library, "PMIx_Error_string", found.error_string);
  if (!complete) return unusable(fmt::format("{} is older than OpenPMIx 4.2", path));
  return found;
}

std::string PmixLibrary::failure(const char* what, pmix_status_t status) const {
  const bool good = status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
  return good ? std::string{} : fmt::format("{}: {}", what, error_string(status));
}

std::string PmixLibrary::pack(const pmix_value_t& value) const {
  pmix_data_buffer_t buffer{};
  std::string bytes;
  if (data_pack(nullptr, &buffer, const_cast<pmix_value_t*>(&value), 1, PMIX_VALUE) == PMIX_SUCCESS)
    bytes.assign(buffer.base_ptr, buffer.bytes_used);
  std::free(buffer.base_ptr);  // NOLINT(cppcoreguidelines-no-malloc): the library has allocated it
  return bytes;
}

std::optional<pmix_value_t> PmixLibrary::unpack(std::string_view bytes) const {
  std::string copy{bytes};
  pmix_data_buffer_t buffer{};
  buffer.base_ptr = buffer.unpack_ptr = copy.data();
  buffer.pack_ptr = copy.data() + copy.size();
  buffer.bytes_allocated = buffer.bytes_used = copy.size();
  pmix_value_t value{};
  std::int32_t count = 1;
  if (data_unpack(nullptr, &buffer, &value, &count, PMIX_VALUE) != PMIX_SUCCESS || count != 1) return {};
  return value;
}

}  // namespace charmtree::io
