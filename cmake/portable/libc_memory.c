/* SPDX-License-Identifier: Apache-2.0 */
/* What the C library has for the processor it finds itself on. The compiler brings its own of these, for any
   processor, and prefers them to the C library's, which it knows as shared; ours, which are hidden (see zcc),
   it prefers to both. */
#include <stddef.h>

#ifdef __x86_64__
#define FIRST "GLIBC_2.2.5" /* of this machine */
#define MEMCPY "GLIBC_2.14" /* the one that is not memmove */
#else
#define FIRST "GLIBC_2.17"
#define MEMCPY "GLIBC_2.17"
#endif

#define OF_LIBC(type, name, version, parameters, arguments) \
  extern type libc_##name parameters;                       \
  __asm__(".symver libc_" #name ", " #name "@" version);    \
  type name parameters {                                    \
    return libc_##name arguments;                           \
  }

OF_LIBC(void*, memcpy, MEMCPY, (void* to, const void* from, size_t size), (to, from, size))
OF_LIBC(void*, memmove, FIRST, (void* to, const void* from, size_t size), (to, from, size))
OF_LIBC(void*, memset, FIRST, (void* to, int byte, size_t size), (to, byte, size))
OF_LIBC(int, memcmp, FIRST, (const void* one, const void* other, size_t size), (one, other, size))
OF_LIBC(int, bcmp, FIRST, (const void* one, const void* other, size_t size), (one, other, size))
OF_LIBC(size_t, strlen, FIRST, (const char* text), (text))
