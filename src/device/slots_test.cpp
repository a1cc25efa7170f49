#include "device/slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace vectis::detail {
namespace {

using testing::HasSubstr;

// A table with every slot set to an address that is never called.
VectisBackend full_table() {
  VectisBackend table{};
  table.size = sizeof(table);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = "toy";
  void (*somewhere)() = [] {};
  for (const SlotEntry& slot : slot_entries()) {
    std::memcpy(reinterpret_cast<char*>(&table) + slot.offset, &somewhere, sizeof(somewhere));
  }
  return table;
}

void clear(VectisBackend& table, const SlotEntry& slot) {
  std::memset(reinterpret_cast<char*>(&table) + slot.offset, 0, sizeof(void (*)()));
}

TEST(Slots, AreAllListed) {
  const std::size_t head = offsetof(VectisBackend, open);
  EXPECT_EQ(slot_entries().size(), (sizeof(VectisBackend) - head) / sizeof(void (*)()));
}

TEST(Slots, ACompleteTableIsAccepted) {
  const CheckedTable checked = check_table(full_table());
  ASSERT_TRUE(checked.table) << checked.problem;
  EXPECT_STREQ(checked.table->version, "");
  EXPECT_STREQ(checked.table->requirement, "");
  EXPECT_STREQ(checked.table->install, "");
}

TEST(Slots, EachMissingRequiredSlotIsNamed) {
  for (const SlotEntry& slot : slot_entries()) {
    VectisBackend table = full_table();
    clear(table, slot);
    const CheckedTable checked = check_table(table);
    if (slot.need == SlotEntry::Need::optional) {
      EXPECT_TRUE(checked.table) << slot.name;
    } else {
      EXPECT_FALSE(checked.table) << slot.name;
      EXPECT_THAT(checked.problem, HasSubstr("'" + std::string(slot.name) + "'"));
    }
  }
}

TEST(Slots, AGroupMayBeMissingAsAWhole) {
  VectisBackend table = full_table();
  for (const SlotEntry& slot : slot_entries()) {
    if (slot.need == SlotEntry::Need::group) clear(table, slot);
  }
  EXPECT_TRUE(check_table(table).table);
}

TEST(Slots, AnOlderSmallerTableLacksLaterSlots) {
  VectisBackend table = full_table();
  table.size = offsetof(VectisBackend, program_binary);
  const CheckedTable checked = check_table(table);
  ASSERT_TRUE(checked.table);
  EXPECT_EQ(checked.table->program_binary, nullptr);
  EXPECT_NE(checked.table->launch, nullptr);
}

TEST(Slots, ANewerLargerTableIsTruncated) {
  struct Newer {
    VectisBackend known = full_table();
    void* appended = nullptr;
  } newer;
  newer.known.size = sizeof(newer);
  EXPECT_TRUE(check_table(newer.known).table);
}

TEST(Slots, AnotherMajorVersionIsRejectedWithBothVersions) {
  VectisBackend table = full_table();
  table.abi_major = 7;
  EXPECT_THAT(check_table(table).problem, HasSubstr("backend ABI 7.2, this Vectis has 1.2"));
}

TEST(Slots, ATinyTableIsNotRead) {
  VectisBackend table = full_table();
  table.size = sizeof(std::size_t);
  EXPECT_THAT(check_table(table).problem, HasSubstr("its table has 8 bytes"));
}

TEST(Slots, NamesAreLowerCaseWords) {
  for (const char* bad : {static_cast<const char*>(nullptr), "", "Open CL", "a:b", "é"}) {
    VectisBackend table = full_table();
    table.name = bad;
    EXPECT_THAT(check_table(table).problem, HasSubstr("its name"));
  }
}

}  // namespace
}  // namespace vectis::detail
