/* Marks the functions that the library exports; all others have hidden visibility. */
#ifndef FASTCAM_EXPORTED_H
#define FASTCAM_EXPORTED_H

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#endif
