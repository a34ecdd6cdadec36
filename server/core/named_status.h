// A status that names the thing that went wrong.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status.h"

namespace hotplate::core {

// "name: message", with all that the status carries.
inline absl::Status Named(absl::string_view name, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(name, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

// A refusal of another part of the daemon, as one about this field.
inline absl::Status About(const std::string& field, const absl::Status& status) {
  return Refused(status.code(), {{field, absl::StrCat(field, ": ", status.message())}});
}

}  // namespace hotplate::core
