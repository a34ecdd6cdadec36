#include "server/warm_file.h"

#include <unistd.h>

#include "hotplate/v1/endpoint.pb.h"
#include "proto/codec/json_file.h"
#include "server/endpoint.h"

namespace hotplate::server {
namespace {

std::string FolderIn(const std::string& directory) { return directory + "/warm"; }
std::string FileIn(const std::string& directory, const std::string& name) {
  return FolderIn(directory) + "/" + name + ".json";
}

}  // namespace

absl::Status LeaveWarm(const std::string& directory, const std::string& name, const WarmPythons& pythons) {
  v1::WarmEnvironments all;
  for (const WarmPythons::Known& known : pythons.WhatIsKnown()) {
    v1::WarmEnvironment& one = *all.add_environments();
    one.set_interpreter(known.interpreter);
    one.mutable_variables()->Add(known.variables.begin(), known.variables.end());
    one.mutable_modules()->Add(known.modules.begin(), known.modules.end());
    one.mutable_left_out()->insert(known.left_out.begin(), known.left_out.end());
  }
  const std::string file = FileIn(directory, name);
  if (all.environments().empty()) {
    unlink(file.c_str());
    return absl::OkStatus();
  }
  if (absl::Status made = PrivateFolder(FolderIn(directory)); !made.ok()) return made;
  return WriteWhole(file, codec::ToJson(all));
}

std::size_t TakeOverWarm(const std::string& directory, const std::string& name, WarmPythons* pythons) {
  const std::string file = FileIn(directory, name);
  v1::WarmEnvironments all;
  const absl::Status read = codec::ReadJsonFile(file, all);
  unlink(file.c_str());  // also one that made its daemon fail
  if (!read.ok() || pythons == nullptr) return 0;
  std::vector<WarmPythons::Known> known;
  for (const v1::WarmEnvironment& one : all.environments()) {
    known.push_back({one.interpreter(),
                     {one.variables().begin(), one.variables().end()},
                     {one.modules().begin(), one.modules().end()},
                     {one.left_out().begin(), one.left_out().end()}});
  }
  pythons->Prepare(known);
  return known.size();
}

}  // namespace hotplate::server
