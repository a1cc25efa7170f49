#include "base/os/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace vectis {
namespace {

TEST(Library, OpensByNameAndFindsSymbols) {
  const OpenedLibrary library = open_library("libm.so.6");
  ASSERT_NE(library.handle, nullptr) << library.error;
  EXPECT_EQ(library.error, "");
  auto* const cosine = reinterpret_cast<double (*)(double)>(library_symbol(library.handle, "cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(library_symbol(library.handle, "no_such_function"), nullptr);
  EXPECT_EQ(open_library("libm.so.6").handle, library.handle);
}

TEST(Library, AMissingOneGivesTheLoadersWords) {
  const OpenedLibrary library = open_library("libvectis_is_not_here.so");
  EXPECT_EQ(library.handle, nullptr);
  EXPECT_THAT(library.error, testing::HasSubstr("libvectis_is_not_here.so"));
  EXPECT_EQ(open_library("").error, "no library was named");
}

TEST(Library, TheOwnModuleIsThisTestsFolder) {
  EXPECT_EQ(own_module_directory(), std::filesystem::canonical("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace vectis
