// A status that names the thing that went wrong.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hotplate::core {

// "name: message", with all that the status carries.
inline absl::Status Named(absl::string_view name, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(name, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

}  // namespace hotplate::core
