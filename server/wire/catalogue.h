// Kernel specs as messages. Needs neither the core nor gRPC: the catalogue's exporter links only this.
#pragma once

#include <string>

#include "hotplate/v1/catalogue.pb.h"
#include "kernels/spec/spec.h"

namespace hotplate::wire {

v1::KernelSpec ToProto(const KernelSpec& spec);
v1::ParamValue ToProto(const ParamValue& value);

v1::CatalogueFile ToCatalogueFile(const Catalog& catalog, const std::string& hotplate_version);

}  // namespace hotplate::wire
