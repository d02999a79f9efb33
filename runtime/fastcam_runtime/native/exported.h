/* What the library shows to the outside: everything else is hidden. */
#ifndef FASTCAM_EXPORTED_H
#define FASTCAM_EXPORTED_H

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#endif
