/* Reads and writes integers and doubles in either byte order, at any alignment.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get_u16(const uint8_t *p, bool big)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return big ? be16toh(v) : le16toh(v);
}

static inline uint32_t get_u32(const uint8_t *p, bool big)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return big ? be32toh(v) : le32toh(v);
}

static inline uint64_t get_u64(const uint8_t *p, bool big)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return big ? be64toh(v) : le64toh(v);
}

static inline double double_of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint64_t bits_of_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline double get_f64(const uint8_t *p, bool big)
{
    return double_of_bits(get_u64(p, big));
}

/* Writers. Output is always little-endian. */
static inline void put_u32le(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof v);
}

static inline void put_u64le(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof v);
}

#endif
