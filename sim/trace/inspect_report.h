/* SPDX-License-Identifier: MIT */
/* What 'locus inspect' tells about a trace, as a page or as JSON. */
#ifndef LOCUS_SIM_INSPECT_REPORT_H
#define LOCUS_SIM_INSPECT_REPORT_H

#include "inspect.h"

struct inspect_report {
    char *const *paths; /* of the files read */
    size_t path_count;
    uint64_t top;           /* how many destinations to list */
    uint64_t assumed_ns;    /* how long a record without a duration lasts */
    uint64_t arrival_per_s; /* of a trace without times */
    bool brief;             /* only the summary: nothing was found yet */
    struct trace *trace;
    const struct trace_summary *summary;
    struct inspection found;
};

void inspect_print_page(const struct inspect_report *p);
/* EXIT_OK, or EXIT_RUNTIME after a message on stderr. */
int inspect_print_json(const struct inspect_report *p);

/* Which questions about scheduling the trace can answer, and why. */
enum { INSPECT_ANSWERS = 7 };
enum verdict { VERDICT_NO, VERDICT_PARTLY, VERDICT_YES };
extern const char *const inspect_verdicts[]; /* in words, by enum verdict */

struct inspect_answer {
    const char *question;
    enum verdict verdict;
    char why[120];
};

void inspect_answer(const struct inspect_report *p,
                    struct inspect_answer answers[INSPECT_ANSWERS]);

/* For both: the name of a destination, by its number in found.keys. */
void inspect_name(const struct inspect_report *p, size_t index, char *text,
                  size_t size);
double inspect_percent(uint64_t part, uint64_t whole);
/* Records that go to a destination seen before. */
uint64_t inspect_repeats(const struct inspection *f);

#endif
