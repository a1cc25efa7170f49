// VECTIS_API: the symbols that the shared library exports. All others are hidden.
#pragma once

#if defined(VECTIS_STATIC)
#define VECTIS_API
#elif defined(_WIN32)
#if defined(VECTIS_BUILDING)
#define VECTIS_API __declspec(dllexport)
#else
#define VECTIS_API __declspec(dllimport)
#endif
#else
#define VECTIS_API __attribute__((visibility("default")))
#endif
