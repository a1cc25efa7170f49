// EXPECT_ERROR(statement, ErrorCode::io, "part of the message")
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "vectis/base/error.hpp"

#define EXPECT_ERROR(statement, expected_code, ...)                                           \
  try {                                                                                       \
    statement;                                                                                \
    ADD_FAILURE() << "no Error was thrown by " #statement;                                    \
  } catch (const ::vectis::Error& error) {                                                    \
    EXPECT_EQ(::vectis::describe(error.code()).name, ::vectis::describe(expected_code).name); \
    for (const std::string& part : std::initializer_list<std::string>{__VA_ARGS__})           \
      EXPECT_THAT(error.what(), ::testing::HasSubstr(part));                                  \
  }
