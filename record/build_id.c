/* The build-id that a linker left in an ELF file.
 * SPDX-License-Identifier: MIT */
#include "record/build_id.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { NOTES_LARGEST = 1024 * 1024, ID_LARGEST = 64 };

static char *hex_of(const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char *text = mem_zalloc(2 * count + 1, 1);
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return text;
}

/* The id among the notes of DATA, or NULL. */
static char *find_note(Elf_Data *data)
{
    GElf_Nhdr note;
    size_t at = 0, name, description;
    while ((at = gelf_getnote(data, at, &note, &name, &description)) > 0) {
        const uint8_t *bytes = data->d_buf;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
            note.n_descsz <= ID_LARGEST)
            return hex_of(bytes + description, note.n_descsz);
    }
    return NULL;
}

static char *search(Elf *elf)
{
    size_t count = 0;
    char *id = NULL;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && id == NULL; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(elf, (int)i, &header) == NULL || header.p_type != PT_NOTE ||
            header.p_filesz > NOTES_LARGEST)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
                                              header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (data != NULL)
            id = find_note(data);
    }
    return id;
}

char *build_id_of(const char *path)
{
    struct stat st;
    char *id = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        elf_version(EV_CURRENT);
        Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
        if (elf != NULL)
            id = search(elf);
        elf_end(elf);
    }
    if (fd >= 0)
        close(fd);
    return id != NULL ? id : mem_strdup("");
}
