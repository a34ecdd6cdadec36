// HOTPLATE_VERSION comes from the build (project's version).
#pragma once

namespace hotplate::server {

inline constexpr char kVersion[] = HOTPLATE_VERSION;

}  // namespace hotplate::server
