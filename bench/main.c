/* SPDX-License-Identifier: MIT */
/* locus-bench: the hot path beside what one would use instead. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary.h"
#include "map.h"
#include "measure.h"
#include "pauses.h"
#include "programs.h"
#include "schedule.h"
#include "snapshot.h"

enum { SIZES_MAX = 16, SLICE_SLOTS = 10000 };

struct sizes {
    uint32_t values[SIZES_MAX];
    int count;
};

struct options {
    struct sizes destinations, servers; /* none: each measurement's own */
    double skew, seconds;
    enum format format;
};

/* One measurement of all sizes; false: something is not as it must be. */
struct subject {
    const char *name;
    bool (*run)(const struct subject *subject, const struct options *o);
    enum policy policy;
    struct sizes destinations, servers;
    const char *about;
};

static const struct sizes *or_own(const struct sizes *asked, const struct sizes *own)
{
    return asked->count > 0 ? asked : own;
}

static bool run_policy(const struct subject *subject, const struct options *o)
{
    const struct sizes *destinations = or_own(&o->destinations, &subject->destinations);
    const struct sizes *servers = or_own(&o->servers, &subject->servers);
    bool agree = true;

    if (subject->policy == POLICY_WLC) {
        destinations = &subject->destinations; /* it has no use for them */
    }
    for (int d = 0; d < destinations->count; d++) {
        for (int s = 0; s < servers->count; s++) {
            struct bench_case c = {subject->name, subject->policy,
                                   destinations->values[d], servers->values[s],
                                   o->skew};
            agree = bench_schedule(&c, o->seconds, o->format) && agree;
            fflush(stdout);
        }
    }
    return agree;
}

static bool run_map(const struct subject *subject, const struct options *o)
{
    const struct sizes *sizes = or_own(&o->destinations, &subject->destinations);

    for (int i = 0; i < sizes->count; i++) {
        bench_map(sizes->values[i], o->format, i == 0);
        fflush(stdout);
    }
    return true;
}

static bool run_gc(const struct subject *subject, const struct options *o)
{
    const struct sizes *sizes = or_own(&o->destinations, &subject->destinations);

    for (int i = 0; i < sizes->count; i++) {
        bench_gc(sizes->values[i], SLICE_SLOTS, o->format);
    }
    return true;
}

static bool run_pauses(const struct subject *subject, const struct options *o)
{
    const struct sizes *sizes = or_own(&o->destinations, &subject->destinations);

    for (int i = 0; i < sizes->count; i++) {
        bench_pauses(sizes->values[i], SLICE_SLOTS, o->format);
    }
    return true;
}

static bool run_snapshot(const struct subject *subject, const struct options *o)
{
    const struct sizes *sizes = or_own(&o->destinations, &subject->destinations);
    bool good = true;

    for (int i = 0; i < sizes->count; i++) {
        good = bench_snapshot(sizes->values[i], o->format, i == 0) && good;
        fflush(stdout);
    }
    return good;
}

static bool run_adversary(const struct subject *subject, const struct options *o)
{
    const struct sizes *sizes = or_own(&o->destinations, &subject->destinations);

    for (int i = 0; i < sizes->count; i++) {
        bench_adversary(sizes->values[i], o->format);
    }
    return true;
}

static const struct subject subjects[] = {
    {"lblc",
     run_policy,
     POLICY_LBLC,
     {{10000, 1000000}, 2},
     {{16}, 1},
     "pick + open + close, all designs in one run"},
    {"lblcr", run_policy, POLICY_LBLCR, {{10000, 1000000}, 2}, {{16}, 1}, "the same"},
    {"wlc",
     run_policy,
     POLICY_WLC,
     {{1000}, 1},
     {{4, 16, 64, 1024, 10000}, 5},
     "the same"},
    {"map",
     run_map,
     POLICY_LBLC,
     {{10000, 1000000}, 2},
     {{0}, 0},
     "add, find, miss, take out; bytes per destination"},
    {"gc",
     run_gc,
     POLICY_LBLC,
     {{1000000}, 1},
     {{0}, 0},
     "the collector in slices of 10,000 slots"},
    {"pauses",
     run_pauses,
     POLICY_LBLC,
     {{10000000}, 1},
     {{0}, 0},
     "the longest single calls: growing, collecting, purging"},
    {"snapshot",
     run_snapshot,
     POLICY_LBLC,
     {{10000, 1000000}, 2},
     {{0}, 0},
     "save and load; bytes per destination"},
    {"adversary",
     run_adversary,
     POLICY_LBLC,
     {{100000}, 1},
     {{0}, 0},
     "crafted destinations beside random ones"},
};

enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

/* Asked for alone, by their names, with what comes behind them. */
static const struct program {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} programs[] = {
    {"replay", bench_replay, "the whole command over a generated trace"},
    {"parse", bench_parse, "how fast logs are read, beside wc and gzip"},
#ifdef HAVE_REDIS
    {"pool", bench_pool, "picks of a shared pool: by hand, by script, many a call"},
    {"coalesce", bench_coalesce, "picks of many threads: alone and together"},
#endif
};

enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static void usage(FILE *out)
{
    fprintf(out,
            "usage: locus-bench [WHAT]... [options]\n"
            "       locus-bench PROGRAM [options of its own]\n\n"
            "Times locus beside a stock uthash design, a kernel-like one with 1,024 "
            "chains and\nthe floor (one cache line, no rules), which must decide "
            "alike. WHAT, all by default:\n\n");
    for (int i = 0; i < SUBJECTS; i++) {
        fprintf(out, "  %-19s %s\n", subjects[i].name, subjects[i].about);
    }
    fprintf(out,
            "\n"
            "  --dest N[,N...]     destinations, 1 to 100,000,000\n"
            "  --servers N[,N...]  servers of lblc, lblcr (16), wlc (4 to 10,000)\n"
            "  --skew S            exponent of Zipf's law for destinations (0: "
            "uniform)\n"
            "  --seconds S         per design and case (0.5)\n"
            "  --json              one object per line\n"
            "  --markdown          tables as docs/speed.md has them\n"
            "  --help              this text\n\n"
            "With GLIBC_TUNABLES=glibc.malloc.hugetlb=1 the maps lie on huge pages.\n\n"
            "PROGRAM, which has its own --help:\n\n");
    for (int i = 0; i < PROGRAMS; i++) {
        fprintf(out, "  %-19s %s\n", programs[i].name, programs[i].about);
    }
}

static _Noreturn void refuse(const char *what, const char *text)
{
    fprintf(stderr, "locus-bench: expected %s, not '%s'\n", what, text);
    exit(2);
}

static struct sizes parse_sizes(const char *text)
{
    struct sizes sizes = {{0}, 0};
    const char *at = text;

    for (;;) {
        char *end;
        unsigned long value = strtoul(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || value == 0 || value > 100000000 ||
            (*end != '\0' && *end != ',') || sizes.count == SIZES_MAX) {
            refuse("up to 16 sizes such as 1000,100000", text);
        }
        sizes.values[sizes.count++] = (uint32_t)value;
        if (*end == '\0') {
            return sizes;
        }
        at = end + 1;
    }
}

static double parse_number(const char *text, double least, double most,
                           const char *what)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        refuse(what, text);
    }
    return value;
}

static struct options parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"dest", required_argument, NULL, 'd'},
        {"servers", required_argument, NULL, 's'},
        {"skew", required_argument, NULL, 'k'},
        {"seconds", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},
        {"markdown", no_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options o = {.seconds = 0.5};
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 'd':
            o.destinations = parse_sizes(optarg);
            break;
        case 's':
            o.servers = parse_sizes(optarg);
            break;
        case 'k':
            o.skew = parse_number(optarg, 0, 10, "an exponent from 0 to 10");
            break;
        case 't':
            o.seconds = parse_number(optarg, 0.001, 3600, "seconds from 0.001 to 3600");
            break;
        case 'j':
            o.format = FORMAT_JSON;
            break;
        case 'm':
            o.format = FORMAT_MARKDOWN;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
        }
    }
    return o;
}

static void check_words(int argc, char **argv)
{
    for (int i = optind; i < argc; i++) {
        int found = 0;
        while (found < SUBJECTS && strcmp(argv[i], subjects[found].name) != 0) {
            found++;
        }
        if (found == SUBJECTS) {
            usage(stderr);
            exit(2);
        }
    }
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = optind; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return optind == argc;
}

/* What is measured by default, and by its sizes. */
static bool run_subjects(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    bool ok = true, in_table = false;

    check_words(argc, argv);
    if (o.format == FORMAT_TEXT) {
        print_machine_line();
    }
    for (int i = 0; i < SUBJECTS; i++) {
        if (!wanted(subjects[i].name, argc, argv)) {
            continue;
        }
        if (subjects[i].run == run_policy && !in_table) {
            bench_schedule_heading(o.format);
        }
        in_table = subjects[i].run == run_policy;
        ok = subjects[i].run(&subjects[i], &o) && ok;
        fflush(stdout);
    }
    if (!ok) {
        fprintf(stderr, "locus-bench: the designs did not decide alike\n");
    }
    return ok;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < PROGRAMS && argc > 1; i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            return programs[i].run(argc - 1, argv + 1);
        }
    }
    return run_subjects(argc, argv) ? 0 : 1;
}
