// SPDX-License-Identifier: Apache-2.0
// hwloc is kept from what counting processors does not need: its plugins (they would bring X11, OpenCL and
// PCI libraries into the process, and 40 ms), caches and devices, and its x86 back end, which moves the
// caller to each PU in turn and waits there.
#include "tree/io/host/cpus.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <memory>

// Debian's static libhwloc wants libudev, for the names of disks, and there is no static libudev. hwloc does
// without it where udev_new gives nothing. In this file, because only what is linked for it is linked before
// hwloc.
extern "C" {
void* udev_new();
void* udev_unref(void* udev);
void* udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name);
void* udev_device_unref(void* device);
const char* udev_device_get_property_value(void* device, const char* key);

void* udev_new() {
  return nullptr;
}
void* udev_unref(void* /*udev*/) {
  return nullptr;
}
void* udev_device_new_from_subsystem_sysname(void* /*udev*/, const char* /*subsystem*/,
                                             const char* /*name*/) {
  return nullptr;
}
void* udev_device_unref(void* /*device*/) {
  return nullptr;
}
const char* udev_device_get_property_value(void* /*device*/, const char* /*key*/) {
  return nullptr;
}
}

namespace charmtree::io {

namespace {

/// hwloc's directory of plugins is chosen by the environment only. Changing that would not be safe beside the
/// resolver's threads; another array of the same variables is. Arrays are kept: somebody may be reading one.
class WithoutPlugins {
public:
  WithoutPlugins() : before_(environ) {
    static char nowhere[] = "HWLOC_PLUGINS_PATH=/dev/null", quiet[] = "HWLOC_HIDE_ERRORS=2";
    static std::list<std::vector<char*>> kept;
    std::vector<char*>& variables = kept.emplace_back();
    variables.push_back(nowhere);
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) variables.push_back(*each);
    variables.insert(variables.end(), {quiet, nullptr});
    environ = variables.data();
  }
  ~WithoutPlugins() { environ = before_; }
  WithoutPlugins(const WithoutPlugins&) = delete;
  WithoutPlugins& operator=(const WithoutPlugins&) = delete;

private:
  char** before_;
};

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Machine = std::unique_ptr<hwloc_topology, Destroy>;

Error hwloc_failed(const char* step) {
  return {Errc::internal, Phase::spawn,
          fmt::format("hwloc cannot tell the processors ({}: {})", step, std::strerror(errno)),
          "try lstopo there"};
}

/// As `choose` has it, which says what of it is looked for.
template <class F>
Result<Machine> load(F&& choose) {
  const WithoutPlugins guard;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return hwloc_failed("init");
  Machine machine{raw};
  choose(raw);
  if (hwloc_topology_load(raw) != 0) return hwloc_failed("load");
  return machine;
}

void choose_processors(hwloc_topology_t machine) {
  hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE})
    hwloc_topology_set_type_filter(machine, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_components(machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
}

void choose_all(hwloc_topology_t machine) {
  hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_ALL);
}

/// Takes away what we are bound off. Refused or unknown: nothing is.
void restrict_to_ours(hwloc_topology_t machine) {
  hwloc_bitmap_t ours = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(machine, ours, HWLOC_CPUBIND_PROCESS) == 0) hwloc_topology_restrict(machine, ours, 0);
  hwloc_bitmap_free(ours);
}

std::vector<proto::CpuSet> sets_of(hwloc_topology_t machine, hwloc_obj_type_t type) {
  std::vector<proto::CpuSet> sets;
  for (hwloc_obj_t each = nullptr; (each = hwloc_get_next_obj_by_type(machine, type, each)) != nullptr;) {
    proto::CpuSet set;
    for (int pu = -1; (pu = hwloc_bitmap_next(each->cpuset, pu)) >= 0;)
      set.push_back(static_cast<std::uint32_t>(pu));
    if (!set.empty()) sets.push_back(std::move(set));  // memory without processors is no place to be
  }
  return sets;
}

}  // namespace

bool write_topology(const std::string& file) {
  if (::access(file.c_str(), R_OK) == 0) return true;
  const auto machine = load(choose_all);
  if (machine && hwloc_topology_export_xml(machine->get(), file.c_str(), 0) == 0) return true;
  ::unlink(file.c_str());
  return false;
}

Result<proto::CpuMap> load_cpus() {
  const auto machine = load(choose_processors);
  if (!machine) return machine.error();
  proto::CpuMap cpus;
  cpus.bindable = hwloc_topology_is_thissystem(machine->get()) != 0;
  if (cpus.bindable) restrict_to_ours(machine->get());
  cpus.pus = sets_of(machine->get(), HWLOC_OBJ_PU);
  cpus.cores = sets_of(machine->get(), HWLOC_OBJ_CORE);
  cpus.numas = sets_of(machine->get(), HWLOC_OBJ_NUMANODE);
  cpus.sockets = sets_of(machine->get(), HWLOC_OBJ_PACKAGE);
  if (cpus.pus.empty()) return hwloc_failed("no PU");
  // What the system does not tell (virtual machines): each PU is a core, and all are one socket and node.
  if (cpus.cores.empty()) cpus.cores = cpus.pus;
  proto::CpuSet all;
  for (const proto::CpuSet& pu : cpus.pus) all.insert(all.end(), pu.begin(), pu.end());
  for (auto* whole : {&cpus.sockets, &cpus.numas}) {
    if (whole->empty()) whole->push_back(all);
  }
  return cpus;
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("{}.{}", version >> 16U, version >> 8U & 0xFFU);
}

}  // namespace charmtree::io
