/* The address spaces of a run and the executable mappings in them.
 *
 * An image is the address space of a process, which begins at the start of the process, a fork or
 * an exec. Images are written to the spool as blocks `imgs` and `mapx`; memory contains the current
 * mappings of live images, and for the VMMaps of the header, every mapping of a file once.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_IMAGES_H
#define RECORD_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "formats/raw/raw_extension.h"

struct images;

/* A mapping of a file. Its members have no padding between them, because it is compared as
 * bytes. */
struct vmmap {
    uint64_t address, size;
    const char *path;                 /* borrowed until images_delete */
    uint64_t offset, inode, build_id; /* BUILD_ID is a number that identifies the file */
};

struct images *images_new(void);
void images_delete(struct images *images); /* NULL is allowed */

/* Adds an image; members that are NULL are looked up in /proc. A path "" stands for the path of the
 * first mapping of a file, or after a fork for the path of the parent. Returns its number. */
uint32_t images_add(struct images *images, const struct raw_image *image);
/* Returns the newest image of process PID; RAW_NO_IMAGE: none. */
uint32_t images_find(const struct images *images, uint32_t pid);
/* Returns the image of process PID at TIME [ns of the run], or if there was none yet, its first
 * one; RAW_NO_IMAGE: none. */
uint32_t images_at(const struct images *images, uint32_t pid, uint64_t time);
/* Adds a mapping of an image: its path determines its kind. If build_id is NULL, it is looked up.
 * Returns whether it is new. */
bool images_map(struct images *images, const struct raw_mapx *map);
/* Reads /proc/PID/maps of the newest image of PID. Returns the number of new mappings. */
size_t images_read(struct images *images, uint32_t pid, uint64_t time);
/* Returns when the mappings of IMAGE were last read; if they were not, its start [ns of the
 * run]. */
uint64_t images_looked(const struct images *images, uint32_t image);
/* Returns whether PC is in a known executable mapping of IMAGE. */
bool images_know(const struct images *images, uint32_t image, uint64_t pc);
/* If PC of IMAGE is in a known mapping, asks the kernel whether another file, or another part of it, has
 * been mapped there since, and adds it. Linux before 6.11 does not answer. */
void images_check(struct images *images, uint32_t image, uint64_t pc, uint64_t time);
/* Finds the mapping of a file that contained PC of IMAGE at TIME [ns of the run], or if nothing did,
 * the next one that did. Returns whether it was found. */
bool images_place(const struct images *images, uint32_t image, uint64_t pc, uint64_t time,
                  struct vmmap *place);
/* Records that a thread of IMAGE was seen using CPU. */
void images_ran(struct images *images, uint32_t image);
/* Ends IMAGE at TIME [ns of the run]: its process has ended or replaced it. Its mappings remain
 * known. */
void images_end(struct images *images, uint32_t image, uint64_t time);
/* Forgets the mappings that were replaced, and those of images that ended, before TIME [ns of the
 * run]. */
void images_forget(struct images *images, uint64_t time);

/* Returns the dump file of a JIT that IMAGE has mapped; NULL: none. Borrowed until
 * images_delete. */
const char *images_dump(const struct images *images, uint32_t image);
/* Returns the start of IMAGE [ns of the run]. */
uint64_t images_start(const struct images *images, uint32_t image);
/* Returns the number of images. */
uint32_t images_count(const struct images *images);
/* images_pid returns the process of IMAGE. images_alive returns whether IMAGE has not ended and is the newest image of
 * its process. */
uint32_t images_pid(const struct images *images, uint32_t image);
/* Returns a number for the executable of IMAGE, which is equal for equal paths; 0: unknown. */
uint32_t images_program(const struct images *images, uint32_t image);
bool images_alive(const struct images *images, uint32_t image);

/* Appends the additions since the last call to BUFFER: `imgs`, `mapx` and `vdso` blocks. ALL: also
 * images whose path is still unknown; in addition, files without build-id are read, and a `code`
 * block describes their contents. */
void images_put(struct images *images, struct buffer *buffer, bool all);

/* Returns the executable that was most often seen using CPU; "": none. Borrowed until
 * images_delete. */
const char *images_target(const struct images *images);

/* The mappings of files, each once: first those of the target, then the other mappings of its
 * images, then others; at most MAX_VMMAPS. Different files can have the same address, size and
 * path; these mappings are consecutive. */
enum { MAX_VMMAPS = 65536 };
/* Caller frees. */
struct vmmap *images_vmmaps(struct images *images, size_t *count);
/* Returns an upper limit for the number of mappings. */
size_t images_vmmap_count(const struct images *images);

#endif
