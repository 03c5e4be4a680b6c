/* Whether this is compiled with the address sanitizer: ADDRESS_SANITIZER is 1 or 0 with any
 * compiler. The sanitizer reserves terabytes of shadow memory, so that memory limits are useless.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SANITIZERS_H
#define BASE_SANITIZERS_H

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER 1
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

#endif
