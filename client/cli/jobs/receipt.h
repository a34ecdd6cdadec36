// A receipt as a small table: times, rates, and reasons for doubt.
#pragma once

#include <optional>
#include <string>

#include "client/cli/terminal/console.h"
#include "client/lib/client.h"
#include "hotplate/v1/receipt.pb.h"

namespace hotplate::cli {

// `client` is the part measured by this program's clock; absent for a job that another call ran. Rates are shown only
// for jobs that did all of their work: a cancelled job's would count work that was never done.
std::string ReceiptText(const v1::Receipt& receipt, v1::JobState state,
                        const std::optional<client::ClientTimings>& client = std::nullopt);

// Writes it to standard error, fitted to the terminal there.
void WriteReceipt(Console& console, const v1::Receipt& receipt, v1::JobState state,
                  const std::optional<client::ClientTimings>& client = std::nullopt);

}  // namespace hotplate::cli
