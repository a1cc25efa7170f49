#include "pci.hpp"

#include <array>
#include <cstdint>

#include "backends/plugin/devices.hpp"
#include "query.hpp"

namespace vectis::opencl {

namespace {

// The queries are named here: older headers lack some of them.

constexpr cl_device_info pci_bus_info_khr = 0x410F;
struct PciBusInfoKhr {
  cl_uint domain;
  cl_uint bus;
  cl_uint device;
  cl_uint function;
};

constexpr cl_device_info pci_bus_nv = 0x4008;
constexpr cl_device_info pci_slot_nv = 0x4009;  // device in the upper bits, function in the lower three
constexpr cl_device_info pci_domain_nv = 0x400A;

constexpr cl_device_info topology_amd = 0x4037;
constexpr cl_uint topology_pcie_amd = 1;
struct TopologyAmd {
  cl_uint type;
  std::array<std::uint8_t, 17> unused;
  std::uint8_t bus;
  std::uint8_t device;
  std::uint8_t function;
};
static_assert(sizeof(TopologyAmd) == 24);

// Nothing when the driver does not answer: it may state an extension and lack a query of it.
template <class Value>
std::optional<Value> answer(const Api& api, cl_device_id device, cl_device_info parameter) {
  Value value{};
  if (api.GetDeviceInfo(device, parameter, sizeof value, &value, nullptr) != CL_SUCCESS) return std::nullopt;
  return value;
}

std::optional<std::string> id_by_khr(const Api& api, cl_device_id device) {
  const auto info = answer<PciBusInfoKhr>(api, device, pci_bus_info_khr);
  if (!info) return std::nullopt;
  return plugin::pci_physical_id(info->domain, info->bus, info->device, info->function);
}

// Older drivers do not state the domain, which is 0 on most machines.
std::optional<std::string> id_by_nv(const Api& api, cl_device_id device) {
  const auto bus = answer<cl_uint>(api, device, pci_bus_nv);
  const auto slot = answer<cl_uint>(api, device, pci_slot_nv);
  if (!bus || !slot) return std::nullopt;
  const cl_uint domain = answer<cl_uint>(api, device, pci_domain_nv).value_or(0);
  return plugin::pci_physical_id(domain, *bus, *slot >> 3U, *slot & 7U);
}

std::optional<std::string> id_by_amd(const Api& api, cl_device_id device) {
  const auto topology = answer<TopologyAmd>(api, device, topology_amd);
  if (!topology || topology->type != topology_pcie_amd) return std::nullopt;
  return plugin::pci_physical_id(0, topology->bus, topology->device, topology->function);
}

}  // namespace

std::optional<std::string> pci_id(const Api& api, cl_device_id device) {
  const Extensions extensions(device_text(api, device, CL_DEVICE_EXTENSIONS));
  std::optional<std::string> id;
  if (extensions.has("cl_khr_pci_bus_info")) id = id_by_khr(api, device);
  if (!id && extensions.has("cl_nv_device_attribute_query")) id = id_by_nv(api, device);
  if (!id && extensions.has("cl_amd_device_attribute_query")) id = id_by_amd(api, device);
  return id;
}

}  // namespace vectis::opencl
