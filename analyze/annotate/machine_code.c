/* Machine code of a file that was profiled: bytes and symbols by address.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/machine_code.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUILD_ID_LONGEST = 64, ALONE_LONGEST = 65536 /* bytes of a function without size */ };

struct segment {
    uint64_t offset, address, file_size, memory_size;
    bool executable;
};

struct machine_code {
    char *path;
    int fd;
    Elf *elf;
    GElf_Ehdr header;
    struct segment *segments; /* PT_LOAD */
    size_t segment_count;
    struct code_symbol *symbols; /* by address */
    size_t symbol_count, symbol_capacity;
    char build_id[2 * BUILD_ID_LONGEST + 1]; /* "" if there is none */
    struct machine_code *debug;              /* where the symbols are of a stripped file, or NULL */
};

/* NOLINTNEXTLINE(misc-no-recursion): once, a debug file has no other */
void machine_code_close(struct machine_code *code)
{
    if (code == NULL)
        return;
    machine_code_close(code->debug);
    elf_end(code->elf);
    if (code->fd >= 0)
        close(code->fd);
    free(code->segments);
    free(code->symbols);
    free(code->path);
    free(code);
}

const char *machine_code_path(const struct machine_code *code)
{
    return code->path;
}

const char *machine_code_build_id(const struct machine_code *code)
{
    return code->build_id;
}

unsigned machine_code_machine(const struct machine_code *code, bool *big_endian)
{
    *big_endian = code->header.e_ident[EI_DATA] == ELFDATA2MSB;
    return code->header.e_machine;
}

/* ---- headers ---- */

static bool take_note(struct machine_code *code, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name, text;
    for (size_t at = 0; data != NULL && (at = gelf_getnote(data, at, &note, &name, &text)) > 0;) {
        const uint8_t *bytes = (const uint8_t *)data->d_buf + text;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 ||
            note.n_descsz > BUILD_ID_LONGEST)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++)
            snprintf(code->build_id + 2 * i, 3, "%02x", bytes[i]);
        return true;
    }
    return false;
}

static void read_segments(struct machine_code *code)
{
    size_t count = 0;
    GElf_Phdr p;
    if (elf_getphdrnum(code->elf, &count) != 0 || count > INT_MAX)
        return;
    code->segments = mem_zalloc(count, sizeof *code->segments);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(code->elf, (int)i, &p) == NULL)
            return;
        if (p.p_type == PT_LOAD)
            code->segments[code->segment_count++] = (struct segment){
                p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, (p.p_flags & PF_X) != 0};
        if (p.p_type == PT_NOTE && code->build_id[0] == '\0')
            take_note(code, elf_getdata_rawchunk(code->elf, (int64_t)p.p_offset, p.p_filesz,
                                                 p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
    }
}

static void take_symbols(struct machine_code *code, Elf *elf, Elf_Scn *section,
                         const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data != NULL && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i <= INT_MAX; i++) {
        GElf_Sym s;
        if (gelf_getsym(data, (int)i, &s) == NULL)
            return;
        unsigned type = GELF_ST_TYPE(s.st_info);
        const char *name = elf_strptr(elf, header->sh_link, s.st_name);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF || name == NULL)
            continue;
        if (code->header.e_machine == EM_ARM)
            s.st_value &= ~UINT64_C(1); /* says that it is Thumb code */
        mem_reserve(&code->symbols, &code->symbol_capacity, code->symbol_count + 1,
                    sizeof *code->symbols);
        code->symbols[code->symbol_count++] = (struct code_symbol){s.st_value, s.st_size, name};
    }
}

static int compare_symbols(const void *left, const void *right)
{
    const struct code_symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1; /* the longest comes last, and is found first */
    return strcmp(b->name, a->name);
}

/* Symbols of all tables: the dynamic one repeats some, which does no harm. Returns whether there is
 * a full one. */
static bool take_tables(struct machine_code *code, Elf *elf)
{
    GElf_Shdr header;
    bool full = false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;)
        if (gelf_getshdr(s, &header) != NULL &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)) {
            take_symbols(code, elf, s, &header);
            full |= header.sh_type == SHT_SYMTAB;
        }
    return full;
}

struct machine_code *machine_code_try(const char *path)
{
    struct stat info;
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    struct machine_code *code = mem_zalloc(1, sizeof *code);
    code->fd = fd;
    code->path = mem_strdup(path);
    /* read, not mapped: a file that is cut short meanwhile would be a SIGBUS */
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (code->elf = elf_begin(fd, ELF_C_READ, NULL)) != NULL && elf_kind(code->elf) == ELF_K_ELF &&
        gelf_getehdr(code->elf, &code->header) != NULL) {
        read_segments(code);
        return code;
    }
    machine_code_close(code);
    return NULL;
}

bool machine_code_read_symbols(struct machine_code *code)
{
    bool full = take_tables(code, code->debug != NULL ? code->debug->elf : code->elf);
    if (code->symbol_count > 0)
        qsort(code->symbols, code->symbol_count, sizeof *code->symbols, compare_symbols);
    return full;
}

void machine_code_take_debug(struct machine_code *code, struct machine_code *debug)
{
    code->debug = debug;
    machine_code_read_symbols(code);
}

/* ---- addresses ---- */

/* mmap takes whole pages: code may be said to lie a little before its segment, or behind. */
static uint64_t page_down(uint64_t value, uint64_t page)
{
    return value & ~(page - 1);
}

static uint64_t mapped_size(const struct segment *s, uint64_t bytes, uint64_t page)
{
    return page_down(s->address % page + bytes + page - 1, page);
}

bool machine_code_at_offset(const struct machine_code *code, uint64_t offset, uint64_t *address)
{
    for (int executable = 1; executable >= 0; executable--)
        for (size_t i = 0; i < code->segment_count; i++) {
            const struct segment *s = &code->segments[i];
            if (s->executable != (executable == 1) || offset < s->offset ||
                offset - s->offset >= s->file_size)
                continue;
            *address = s->address + (offset - s->offset);
            return true;
        }
    return false;
}

bool machine_code_at_map(const struct machine_code *code, uint64_t map_size, uint64_t distance,
                         uint64_t *address)
{
    static const uint64_t pages[] = {4096, 16384, 65536};
    const struct segment *first = NULL;
    for (size_t p = 0; p < sizeof pages / sizeof pages[0]; p++)
        for (size_t i = 0; i < code->segment_count; i++) {
            const struct segment *s = &code->segments[i];
            if (!s->executable)
                continue;
            first = first == NULL ? s : first;
            if (map_size != mapped_size(s, s->file_size, pages[p]) &&
                map_size != mapped_size(s, s->memory_size, pages[p]))
                continue;
            *address = page_down(s->address, pages[p]) + distance;
            return true;
        }
    if (first == NULL || code->build_id[0] == '\0')
        return false;
    *address = page_down(first->address, pages[0]) + distance; /* it is the file that ran */
    return true;
}

static int compare_address(const void *key, const void *element)
{
    uint64_t address = *(const uint64_t *)key;
    const struct code_symbol *s = element, *next = s + 1; /* the last one is not searched */
    return address < s->address ? -1 : address >= next->address ? 1 : 0;
}

const struct code_symbol *machine_code_symbol(const struct machine_code *code, uint64_t address)
{
    size_t n = code->symbol_count;
    const struct code_symbol *s;
    if (n == 0 || address < code->symbols[0].address)
        return NULL;
    s = address >= code->symbols[n - 1].address
            ? &code->symbols[n - 1]
            : bsearch(&address, code->symbols, n - 1, sizeof *s, compare_address);
    if (s == NULL)
        return NULL;
    uint64_t size = s->size > 0 ? s->size : ALONE_LONGEST;
    return address - s->address < size ? s : NULL;
}

size_t machine_code_read(const struct machine_code *code, uint64_t address, uint8_t *to,
                         size_t size)
{
    size_t have = 0;
    for (size_t i = 0; i < code->segment_count; i++) {
        const struct segment *s = &code->segments[i];
        if (address < s->address || address - s->address >= s->file_size)
            continue;
        uint64_t at = address - s->address, left = s->file_size - at;
        size = left < size ? (size_t)left : size;
        while (have < size) {
            ssize_t got = pread(code->fd, to + have, size - have, (off_t)(s->offset + at + have));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return have;
            have += (size_t)got;
        }
        break;
    }
    return have;
}
