/* SPDX-License-Identifier: MIT */
#include "decisions.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "../base/csv.h"
#include "../base/temporary.h"

struct decision {
    uint64_t at_ns;
    uint32_t destination;
    uint32_t server;
    uint32_t why;
    uint32_t hit;
};

static const struct {
    uint32_t bit;
    const char *word;
} why_words[] = {
    {LOCUS_WHY_HIT, "hit"},
    {LOCUS_WHY_NEW, "new"},
    {LOCUS_WHY_FORGOTTEN, "forgotten"},
    {LOCUS_WHY_MOVED, "moved"},
    {LOCUS_WHY_GROWN, "grown"},
    {LOCUS_WHY_TRIMMED, "trimmed"},
    {LOCUS_WHY_SPILLED, "spilled"},
    {LOCUS_WHY_DOWN, "down"},
    {LOCUS_WHY_REFUSED, "refused"},
    {LOCUS_WHY_BYPASS, "bypass"},
    {LOCUS_WHY_ANY, "any"},
};

bool decisions_init(struct decisions *decisions, bool cache)
{
    int fd = temporary_open();

    decisions->cache = cache;
    decisions->spool = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (fd >= 0 && decisions->spool == NULL) {
        close(fd);
        return temporary_failed("make");
    }
    return fd >= 0;
}

void decisions_fini(struct decisions *decisions)
{
    if (decisions->spool != NULL) {
        fclose(decisions->spool);
    }
}

void decisions_note(void *arg, const struct arrival *arrival, uint32_t server,
                    const struct locus_pick *pick, bool cache_hit)
{
    struct decisions *decisions = arg;
    struct decision d = {
        .at_ns = arrival->start_ns,
        .destination = arrival->destination,
        .server = server,
        .why = pick->why,
        .hit = cache_hit,
    };

    if (decisions->error == 0 && fwrite(&d, sizeof(d), 1, decisions->spool) != 1) {
        decisions->error = errno; /* until decisions_write() asks */
    }
}

void decisions_header(FILE *out)
{
    fprintf(out, "policy,time_us,destination,server,why,cache\n");
}

static void write_why(FILE *out, uint32_t why)
{
    bool first = true;

    for (size_t i = 0; i < sizeof(why_words) / sizeof(*why_words); i++) {
        if ((why & why_words[i].bit) != 0) {
            fprintf(out, "%s%s", first ? "" : "+", why_words[i].word);
            first = false;
        }
    }
}

bool decisions_write(struct decisions *decisions, FILE *out, const char *policy,
                     const struct server_list *servers,
                     const struct arrival_source *source)
{
    FILE *spool = decisions->spool;
    struct decision d;
    char name[256];

    if (decisions->error != 0 || fflush(spool) != 0 || fseek(spool, 0, SEEK_SET) != 0) {
        errno = decisions->error != 0 ? decisions->error : errno;
        return temporary_failed("write");
    }
    while (fread(&d, sizeof(d), 1, spool) == 1) {
        arrivals_destination_text(source, d.destination, name, sizeof(name));
        fprintf(out, "%s,%" PRIu64 ",", policy, d.at_ns / 1000);
        csv_text(out, name);
        fprintf(out, ",%s,",
                d.server == LOCUS_NO_SERVER ? "-" : servers->items[d.server].name);
        write_why(out, d.why);
        fprintf(out, ",%s\n", !decisions->cache ? "" : d.hit != 0 ? "hit" : "miss");
    }
    return !ferror(spool) || temporary_failed("read");
}
