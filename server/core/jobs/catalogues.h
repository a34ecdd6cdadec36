// The kernels that each principal sees.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kernels/spec/spec.h"
#include "server/core/types.h"

namespace hotplate::core {

class Catalogues {
 public:
  // Thread-safe; never null. A catalogue that it returned before stays as it is while somebody uses it.
  using Choose = std::function<std::shared_ptr<const Catalog>(const Principal&)>;

  // The same for all; `catalog` outlives the engine. Without an owner, since a count that every job changes would go
  // from processor to processor.
  Catalogues(const Catalog& catalog)  // NOLINT(google-explicit-constructor): one catalogue is the usual case
      : choose_([shared = std::shared_ptr<const Catalog>(std::shared_ptr<const Catalog>(), &catalog)](
                    const Principal&) { return shared; }) {}
  explicit Catalogues(Choose choose) : choose_(std::move(choose)) {}

  std::shared_ptr<const Catalog> For(const Principal& who) const { return choose_(who); }

 private:
  Choose choose_;
};

}  // namespace hotplate::core
