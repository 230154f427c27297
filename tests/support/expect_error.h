#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "util/error.h"

namespace batchplus::testing {

/// Runs `action` and expects an Error whose whole text has each of `parts`.
template <class Action>
void expect_error(const Action& action, std::initializer_list<std::string> parts) {
  try {
    action();
  } catch (const Error& problem) {
    for (const auto& part : parts) EXPECT_THAT(problem.what(), ::testing::HasSubstr(part));
    return;
  }
  ADD_FAILURE() << "expected an Error about " << (parts.size() > 0 ? *parts.begin() : "something");
}

}  // namespace batchplus::testing
