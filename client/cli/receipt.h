// A receipt as a small table: what took how long, how fast that was, and what makes the figures doubtful.
#pragma once

#include <optional>
#include <string>

#include "client/lib/client.h"
#include "hotplate/v1/receipt.pb.h"

namespace hotplate::cli {

// `client` is the part on this program's own clock; absent for a job that another call ran.
std::string ReceiptText(const v1::Receipt& receipt, const std::optional<client::ClientTimings>& client);

}  // namespace hotplate::cli
