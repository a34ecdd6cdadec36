// A test of each of some Params, on the back-end that one names. It skips where that back-end may be missing.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/conformance/backends.h"

namespace hotplate::conformance {

template <typename Param, std::string Param::*kBackend>
class OnBackend : public testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    const std::string& name = this->GetParam().*kBackend;
    backend_ = &BackendNamed(name);
    if (backend_->device != nullptr) return;
    ASSERT_TRUE(MayBeMissing(name)) << backend_->why_not;
    GTEST_SKIP() << backend_->why_not;
  }

  Device& device() const { return *backend_->device; }
  // Opened on the main thread, and used there.
  Lane& lane() const { return *backend_->lane; }

 private:
  Backend* backend_ = nullptr;
};

}  // namespace hotplate::conformance
