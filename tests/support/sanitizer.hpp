// Whether this program is built with a sanitizer, under which it runs two to twenty times as long.
#pragma once

namespace vectis::test {

#if defined(__SANITIZE_THREAD__)
#define VECTIS_TEST_THREAD_SANITIZER true
#elif defined(__has_feature)
#define VECTIS_TEST_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define VECTIS_TEST_THREAD_SANITIZER false
#endif

#if defined(__SANITIZE_ADDRESS__)
#define VECTIS_TEST_ADDRESS_SANITIZER true
#elif defined(__has_feature)
#define VECTIS_TEST_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define VECTIS_TEST_ADDRESS_SANITIZER false
#endif

inline constexpr bool thread_sanitizer = VECTIS_TEST_THREAD_SANITIZER;
inline constexpr bool address_sanitizer = VECTIS_TEST_ADDRESS_SANITIZER;
inline constexpr bool sanitized = thread_sanitizer || address_sanitizer;

}  // namespace vectis::test
