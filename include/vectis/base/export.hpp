// Marks what the shared library exports; everything else is hidden.
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
