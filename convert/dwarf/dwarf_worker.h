/* A confined process that answers questions about the debug information of a file.
 *
 * Damaged files make readers of DWARF crash, loop and allocate gigabytes. Therefore this reader
 * runs in a child process that can neither open nor write files, and its answers are checked:
 *
 *   question  u32 count, count x u64 address of the file, ascending;
 *             later, a bit for each address, starting with the lowest of a byte: set if symbols
 *             show that it is between functions
 *   answer    u32 size of the rest
 *             u32 number of decoding errors so far
 *             u32 count of new strings, each u32 length and bytes;
 *                 numbering continues from the last answer, 0 is ""
 *             per address: u8 count of frames, each u32 function, u32 file, u32 line, u32 checksum,
 *                             u32 discriminator;
 *                          or u8 255: the same frames as the previous address of this answer
 *                          or u8 254: the other part answers
 *
 * A large file is read by two threads, the parts of the worker, each with a socket. Both get every
 * question, and the part that first finds an address in a unit answers for that unit from then on.
 *
 * Before it answers, it may request files with split debug information, which it cannot open:
 *
 *   wanted    u32 0xffffffff, u32 size of the rest; folder and name, each u32 length and bytes
 *   file      u32 0xffffffff, u64 size; with a descriptor, or size 0 for none; after all questions
 *             that were sent earlier
 *   refused   u32 0xfffffffe: the last file is from another build
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_WORKER_H
#define CONVERT_DWARF_DWARF_WORKER_H

#include "base/error.h"
#include "base/intern.h"
#include "convert/dwarf/dwarf_answer.h"
#include "formats/elf/elf_file.h"

enum {
    MAX_PARTS = 2,
    MAX_QUESTION = 4096,   /* addresses */
    MAX_ANSWER = 16 << 20, /* [bytes] */
};

/* Size of the second part of a question [bytes]. */
#define BETWEEN_SIZE(count) (((count) + 7) / 8)

#define FILE_WANTED  UINT32_C(0xffffffff)
#define FILE_REFUSED UINT32_C(0xfffffffe)

struct dwarf_worker;

/* The files that have the debug information of a program. */
struct dwarf_files {
    struct elf_file *debug;       /* may be IMAGE */
    struct elf_file *alternate;   /* to which DEBUG refers; NULL: none */
    struct elf_file *package;     /* with split units; NULL: none */
    const struct elf_file *image; /* of the program */
    /* OPEN_SPLIT opens the file NAME, with the split unit of a compilation in FOLDER; NULL if there
     * is none. Caller closes. REFUSE_SPLIT reports that the last file is from another build. */
    struct elf_file *(*open_split)(void *context, const char *folder, const char *name);
    void (*refuse_split)(void *context);
    void *context; /* valid until the worker is deleted */
};

/* Starts the worker for FILES, which are borrowed only during the call. TIMEOUT is the maximum time for an answer [s].
 * Returns NULL with ERR filled if no process can be created. */
struct dwarf_worker *dwarf_worker_start(const struct dwarf_files *files, unsigned timeout,
                                        struct error *err);

/* Sends the question about COUNT (at most MAX_QUESTION) ascending addresses, to be asked later with
 * dwarf_worker_ask: meanwhile, the worker reads the data that it needs for the answer. Never waits.
 * Announced questions must be asked next, in the same order. */
void dwarf_worker_announce(struct dwarf_worker *worker, const uint64_t *addresses, size_t count);

/* Completes the question that was announced last; no other call may come between. BETWEEN has a bit
 * for each of its COUNT addresses, set if symbols show that it is between functions. The worker
 * then computes the answer. Never waits. */
void dwarf_worker_complete(struct dwarf_worker *worker, const uint8_t *between, size_t count);

/* Returns the number of questions that were announced, but not asked yet. */
unsigned dwarf_worker_announced(const struct dwarf_worker *worker);

/* Asks the first announced question, about COUNT addresses. Returns 0 with ANSWER filled and its
 * names added to STRINGS; or -1 with ERR filled if the worker died, took too long or sent a
 * malformed answer. After an error, only dwarf_worker_delete is allowed. */
int dwarf_worker_ask(struct dwarf_worker *worker, size_t count, struct strings *strings,
                     struct dwarf_answer *answer, struct error *err);

/* Return the size of the files that a worker reads [bytes], and the CPU time that it may use for
 * this size [s]. */
uint64_t dwarf_files_size(const struct dwarf_files *files);
unsigned dwarf_worker_seconds(uint64_t size);

/* Begins to end the process. Only dwarf_worker_delete, which waits for it, may follow. NULL is
 * allowed. */
void dwarf_worker_end(const struct dwarf_worker *worker);

/* Ends the process and waits for it. NULL is allowed. */
void dwarf_worker_delete(struct dwarf_worker *worker);

/* The main function of the child: answers questions from COUNT (at most MAX_PARTS) SOCKETS until
 * they are closed or process PARENT ends. */
_Noreturn void dwarf_worker_serve(const int *sockets, unsigned count, int parent,
                                  const struct dwarf_files *files);

#endif
