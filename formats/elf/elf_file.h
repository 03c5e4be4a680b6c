/* An ELF file or image: headers, program headers, section headers, build-id.
 *
 * formats/elf is the only code that opens ELF files. It uses libelf, and adds the checks that
 * libelf omits, which elf_file.c lists.
 *
 *   elf_file.h      open, headers, build-id, addresses
 *   elf_sections.h  contents of sections, decompressed
 *   elf_symbols.h   functions by address
 *   elf_minidebug.h the symbols in .gnu_debugdata
 *   elf_plt.h       the stubs that call functions of libraries
 *   elf_frames.h    the bounds of functions according to the unwind tables
 *   elf_content.h   identifies a file without build-id
 *   elf_match.h     checks whether a file is the one that ran; locates a mapping in it
 *   elf_search.h    searches for the file of a mapping, and for its debug file
 *   elf_split.h     searches for split debug information, which is not linked into the program
 *   elf_options.h   the command-line options of the search
 *
 * Files are read, not mapped: another process may truncate them, and reading a mapped file would
 * then raise SIGBUS.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_FILE_H
#define FORMATS_ELF_ELF_FILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ELF_CONTENT_ID = 48 }; /* of elf_content.h, [bytes] with its NUL */

struct elf_segment {
    uint64_t offset, address, file_size, memory_size; /* [bytes] */
    bool executable;
};

struct elf_section {
    const char *name; /* borrowed from the file; "" when the name is unreadable */
    uint64_t address, offset, size, flags;
    uint32_t type, link;
};

struct elf_file {
    char *path;            /* as given when the file was opened; a label for an image in memory */
    int fd;                /* -1 for an image in memory */
    const uint8_t *memory; /* NULL: read from FD */
    uint64_t size;         /* of the file or image [bytes] */
    struct Elf *elf;       /* libelf's handle, used by formats/elf only */
    bool big_endian, is_64;
    uint16_t type, machine;       /* ET_..., EM_... */
    struct elf_segment *segments; /* PT_LOAD only, in file order */
    size_t segment_count;
    struct elf_segment unwind;    /* the segment that refers to the unwind tables; all zero: none */
    struct elf_section *sections; /* indices as in the file; a file may have none */
    size_t section_count;
    char build_id[129]; /* lower-case hex, "": none */
    int *failed;        /* errno of the first failed read, 0: none; see elf_file_failed */
    char *content;      /* for elf_content.h, "": not yet computed */
};

/* Opens the regular file PATH. Returns NULL with ERR filled if the file does not exist (then
 * *ERRNUM is the errno, otherwise 0), is unreadable or not ELF, or has program headers outside the
 * file. Caller closes with elf_file_close. */
struct elf_file *elf_file_open(const char *path, int *errnum, struct error *err);

/* Like elf_file_open, for the path that FORMAT and ARGS, as of vprintf, make. No file has a path that
 * is too long: *ERRNUM is then ENOENT. */
__attribute__((format(printf, 1, 0))) struct elf_file *
elf_file_open_as(const char *format, va_list args, int *errnum, struct error *err);

/* Like elf_file_open, for the open file descriptor FD, which elf_file_close closes. PATH is for messages. */
struct elf_file *elf_file_from_descriptor(int fd, const char *path, struct error *err);

/* Like elf_file_open, for SIZE bytes at MEMORY, which are borrowed until elf_file_close. LABEL is for messages.
 */
struct elf_file *elf_file_from_memory(const uint8_t *memory, size_t size, const char *label,
                                      struct error *err);

/* The errno of the first failure to read a part that the file has, or 0. If it is not 0, parts that
 * seem to be missing may exist. NULL is allowed and gives 0. */
int elf_file_failed(const struct elf_file *file);

/* NULL is allowed. */
void elf_file_close(struct elf_file *file);

/* Copies SIZE bytes from OFFSET. Returns false if the file does not have all of them. */
bool elf_file_read(const struct elf_file *file, uint64_t offset, void *to, uint64_t size);

/* Copies up to SIZE bytes of the segment at ADDRESS of the file. Returns the number of bytes that were available. */
size_t elf_file_read_code(const struct elf_file *file, uint64_t address, uint8_t *to, size_t size);

/* Maps the file into memory, to be read without system calls. Truncating the file then kills the process, so use it
 * only in a process that may die. Returns false if the system refuses. */
bool elf_file_map(struct elf_file *file);

/* Frees the memory that holds SIZE bytes from OFFSET of a mapped file; if they are used again, they
 * are read from the file. Does nothing for other files. */
void elf_file_unload(const struct elf_file *file, uint64_t offset, uint64_t size);

/* Returns whether ADDRESS is in an executable section (or segment, in a file without section
 * headers). */
bool elf_file_is_code(const struct elf_file *file, uint64_t address);

#endif
