#include "server/description.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "server/net/addresses.h"
#include "server/version.h"
#include "server/wire/result.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

// The file that `descriptor` writes to, if that is a regular one; else empty.
std::string FileOf(int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof path) return "";
  const std::string file(path, static_cast<std::size_t>(length));
  // It may have been removed, or another be there by now.
  struct stat open_file {
  }, named{};
  if (fstat(descriptor, &open_file) != 0 || !S_ISREG(open_file.st_mode)) return "";
  if (stat(file.c_str(), &named) != 0 || named.st_dev != open_file.st_dev || named.st_ino != open_file.st_ino)
    return "";
  return file;
}

void DescribeAllocation(const Allocation& allocation, v1::Allocation& out) {
  out.set_cluster(allocation.cluster);
  out.set_job_id(allocation.job_id);
  out.set_partition(allocation.partition);
  out.set_node_list(allocation.node_list);
  out.set_restart_count(allocation.restart_count);
  out.set_gpus_on_node(allocation.gpus);
}

void DescribeLimits(const Config& config, const core::ArrayLimits& arrays, v1::Limits& out) {
  out.set_message_bytes(config.message_bytes);
  out.set_inline_bytes(std::min(config.inline_bytes, config.retained_bytes));
  out.set_array_bytes(arrays.total_bytes);
  out.set_max_array_bytes(arrays.array_bytes);
  out.set_queued_jobs(config.queue);
  out.set_open_streams(config.max_streams);
  out.set_sessions(config.max_sessions);
  wire::ToProto(config.longest_lease, *out.mutable_longest_lease());
  wire::ToProto(config.result_retention, *out.mutable_result_retention());
  out.set_retained_jobs(config.retained_jobs);
  out.set_retained_bytes(config.retained_bytes);
  for (const std::string& root : config.path_roots) out.add_path_roots(root);
}

}  // namespace

v1::GetServerInfoResponse DescribeServer(const SelfFacts& facts, core::Engine& engine) {
  const Config& config = facts.config;
  v1::GetServerInfoResponse info;
  info.set_generation(facts.generation);
  info.set_name(config.name);
  info.mutable_versions()->set_hotplate(kVersion);
  DescribeAllocation(facts.allocation, *info.mutable_allocation());
  DescribeLimits(config, engine.arrays().limits(), *info.mutable_limits());
  for (std::size_t i = 0; i < engine.devices().size(); ++i) {
    const auto& device = engine.devices()[i];
    v1::Device& described = *info.add_devices();
    wire::ToProto(device->info(), "", described);
    described.set_workers(engine.WorkersOf(i));
    // The same for all GPUs of the node.
    v1::Versions& versions = *info.mutable_versions();
    if (!device->info().driver_version.empty()) versions.set_driver(device->info().driver_version);
    if (!device->info().runtime_version.empty()) versions.set_cuda(device->info().runtime_version);
    versions.mutable_libraries()->insert(device->info().libraries.begin(), device->info().libraries.end());
  }
  wire::ToProto(facts.start_time, *info.mutable_start_time());
  info.set_pid(static_cast<std::uint32_t>(getpid()));
  info.set_node(NodeName());
  for (const std::string& note : engine.device_notes()) info.add_device_notes(note);
  if (config.idle_timeout.count() > 0) wire::ToProto(config.idle_timeout, *info.mutable_idle_timeout());
  wire::ToProto(config.drain_timeout, *info.mutable_drain_timeout());
  info.set_saved_arrays(SavedArraysFolder(config));
  return info;
}

void DescribeUnavailable(const core::Engine& engine, const Catalog& catalog, v1::GetServerInfoResponse& info) {
  // One message for the kernels that one library takes with it on all devices.
  std::map<std::string, v1::UnavailableKernels*> by_reason;
  const auto add = [](const std::string& name, google::protobuf::RepeatedPtrField<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end()) *names.Add() = name;
  };
  for (const SharedSpec& spec : catalog.specs()) {
    if (spec->cpu_only()) continue;  // no GPU has them; the answer is about this machine's
    for (const std::unique_ptr<Device>& device : engine.devices()) {
      const absl::Status offered = device->Offers(spec->name());
      if (offered.ok()) continue;
      v1::UnavailableKernels*& entry = by_reason[std::string(offered.message())];
      if (entry == nullptr) entry = info.add_unavailable_kernels();
      entry->set_reason(std::string(offered.message()));
      add(spec->name(), *entry->mutable_kernels());
      add(device->info().id, *entry->mutable_devices());
    }
  }
}

v1::EndpointRecord DescribeEndpoint(const SelfFacts& facts, const std::vector<std::string>& addresses,
                                    std::uint16_t port) {
  v1::EndpointRecord record;
  record.set_schema_version(1);
  record.set_name(facts.config.name);
  record.set_hotplate_version(kVersion);
  record.set_cluster(facts.allocation.cluster);
  record.set_slurm_job_id(facts.allocation.job_id);
  record.set_restart_count(facts.allocation.restart_count);
  record.set_generation(facts.generation);
  for (const std::string& address : addresses) {
    v1::Endpoint& endpoint = *record.add_endpoints();
    endpoint.set_node(NodeName());
    endpoint.set_address(address);
    endpoint.set_port(port);
  }
  wire::ToProto(facts.start_time, *record.mutable_start_time());
  record.set_pid(static_cast<std::uint32_t>(getpid()));
  if (struct stat its{}; stat("/proc/self/ns/pid", &its) == 0) record.set_pid_namespace(its.st_ino);
  record.set_log_file(facts.config.log_file.empty() ? FileOf(STDERR_FILENO) : facts.config.log_file);
  return record;
}

std::string SavedArraysFolder(const Config& config) { return config.scratch + "/" + config.name; }

}  // namespace hotplate::server
