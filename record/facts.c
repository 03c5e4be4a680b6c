/* The facts about a run for the raw extension.
 * SPDX-License-Identifier: MIT */
#include "record/facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"

enum { MAX_COMMAND = 64 * 1024 };

void facts_add(struct facts *facts, const char *name, char *value)
{
    if (facts->count == MAX_FACTS) {
        free(value);
        return;
    }
    facts->list[facts->count++] = (struct raw_fact){mem_strdup(name), value};
}

void facts_free(struct facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->list[i].name);
        free(facts->list[i].value);
    }
    facts->count = 0;
}

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./-_";
    return word[0] != '\0' && word[strspn(word, plain)] == '\0';
}

static void put_word(struct buffer *text, const char *word)
{
    if (is_plain(word)) {
        buffer_bytes(text, word, strlen(word));
        return;
    }
    buffer_u8(text, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buffer_bytes(text, "'\\'", 3);
        buffer_u8(text, (uint8_t)*word);
    }
    buffer_u8(text, '\'');
}

/* Returns COMMAND quoted for a shell. Caller frees. */
static char *facts_command(char *const *command)
{
    struct buffer text = {0};
    for (; *command != NULL && text.size < MAX_COMMAND; command++) {
        if (text.size > 0)
            buffer_u8(&text, ' ');
        put_word(&text, *command);
    }
    char *result =
        mem_strndup((const char *)text.data, text.size < MAX_COMMAND ? text.size : MAX_COMMAND);
    buffer_free(&text);
    return result;
}

static char *now_utc(void)
{
    char text[32];
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return mem_strdup(text);
}

void facts_begin(struct facts *facts, const struct options *options, const char *engine,
                 const struct power *power)
{
    struct utsname system = {0};
    uname(&system);
    facts_add(facts, "sampler", mem_strdup("pbin-tools " PBIN_TOOLS_VERSION));
    if (options->command != NULL)
        facts_add(facts, "command", facts_command(options->command));
    facts_add(facts, "host", mem_strdup(system.nodename));
    facts_add(facts, "started", now_utc());
    facts_add(facts, "frequency", mem_printf("%g", options->engine.frequency));
    facts_add(facts, "engine", mem_strdup(engine));
    facts_add(facts, "interval", mem_strdup(options->engine.random ? "random" : "fixed"));
    facts_add(facts, "pmu", mem_strdup(options->pmu_specs));
    facts_add(facts, "pmu_kind", mem_strdup(pmu_kind_name(power_kind(power))));
    facts_add(facts, "unit", mem_strdup(power_unit(power)));
    if (power_baseline(power) >= 0)
        facts_add(facts, "baseline_w", mem_printf("%.17g", power_baseline(power)));
    facts_add(facts, "cpus", mem_printf("%ld", sysconf(_SC_NPROCESSORS_ONLN)));
    if (clock_tick() > 0)
        facts_add(facts, "tick_ns", mem_printf("%" PRIu64, clock_tick()));
    char *folder = getcwd(NULL, 0);
    facts_add(facts, "cwd", folder != NULL ? folder : mem_strdup(""));
}
