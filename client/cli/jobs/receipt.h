// A receipt as a small table: what took how long, how fast that was, and what makes the figures doubtful.
#pragma once

#include <optional>
#include <string>

#include "client/lib/client.h"
#include "hotplate/v1/receipt.pb.h"

namespace hotplate::cli {

// `client` is the part on this program's own clock; absent for a job that another call ran. Rates are shown only of a
// job that did all of its work: those of a cancelled one would be of work that was never done.
std::string ReceiptText(const v1::Receipt& receipt, v1::JobState state,
                        const std::optional<client::ClientTimings>& client = std::nullopt);

}  // namespace hotplate::cli
