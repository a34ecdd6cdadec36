// The list of a job's files in the spool, for whoever reads them without a daemon: JSON, one file a line.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/journal/records.h"

namespace hotplate::journal {

// {"job":"4711","files":[
// {"name":"a","file":"input-a.npy","bytes":4128,"sha256":"...","dtype":"float32","shape":[1000]}]}
// A shared file is named from the job's folder, too: "../../shared/....npy".
std::string ManifestOf(std::uint64_t number, std::span<const SpooledFile> files);

// One of its lines.
std::string FileJson(const SpooledFile& file, const std::string& path);

}  // namespace hotplate::journal
