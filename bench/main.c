/* SPDX-License-Identifier: MIT */
/* locus-bench: the hot path beside what one would use instead. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "pauses.h"
#include "schedule.h"

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: locus-bench [lblc|lblcr|wlc|pauses]... [options]\n\n"
        "Times pick + open + close of locus, of a stock uthash design, of a "
        "kernel-like\n"
        "one with 1,024 chains, and of the floor, in one run. All must decide "
        "alike.\n\n"
        "  --dest N[,N...]     destinations (10000,1000000)\n"
        "  --servers N[,N...]  servers (16; wlc: 4,64,1024,10000)\n"
        "  --skew S            exponent of Zipf's law for destinations (0: uniform)\n"
        "  --seconds S         per design and case (0.5)\n"
        "  --json              one object per line\n");
}

struct sizes {
    uint32_t values[16];
    int count;
};

static struct sizes parse_sizes(const char *text)
{
    struct sizes sizes = {{0}, 0};

    while (sizes.count < 16) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || value == 0 || value > 100000000 ||
            (*end != '\0' && *end != ',')) {
            fprintf(stderr,
                    "locus-bench: expected sizes such as 1000,100000, not '%s'\n",
                    text);
            exit(2);
        }
        sizes.values[sizes.count++] = (uint32_t)value;
        if (*end == '\0') {
            break;
        }
        text = end + 1;
    }
    return sizes;
}

struct options {
    struct sizes destinations, servers;
    double skew, seconds;
    bool json;
};

static bool run_policy(const char *name, enum policy policy, const struct options *o)
{
    struct sizes destinations = o->destinations, servers = o->servers;
    bool agree = true;

    if (policy == POLICY_WLC) {
        destinations = parse_sizes("1000");
    }
    if (servers.count == 0) {
        servers = parse_sizes(policy == POLICY_WLC ? "4,64,1024,10000" : "16");
    }
    for (int d = 0; d < destinations.count; d++) {
        for (int s = 0; s < servers.count; s++) {
            struct bench_case c = {name, policy, destinations.values[d],
                                   servers.values[s], o->skew};
            agree = bench_schedule(&c, o->seconds, o->json) && agree;
            fflush(stdout);
        }
    }
    return agree;
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

static struct options parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"dest", required_argument, NULL, 'd'},
        {"servers", required_argument, NULL, 's'},
        {"skew", required_argument, NULL, 'k'},
        {"seconds", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options o = {.destinations = {{10000, 1000000}, 2}, .seconds = 0.5};
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
            o.skew = atof(optarg);
            break;
        case 't':
            o.seconds = atof(optarg);
            break;
        case 'j':
            o.json = true;
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

int main(int argc, char **argv)
{
    static const char *const names[] = {"lblc", "lblcr", "wlc"};
    static const enum policy policies[] = {POLICY_LBLC, POLICY_LBLCR, POLICY_WLC};
    struct options o = parse(argc, argv);
    bool agree = true;

    if (!o.json) {
        print_machine_line();
    }
    if (wanted("pauses", argc, argv)) {
        for (int i = 0; i < o.destinations.count; i++) {
            bench_pauses(o.destinations.values[i], 10000, o.json);
        }
    }
    if (!o.json && (wanted("lblc", argc, argv) || wanted("lblcr", argc, argv) ||
                    wanted("wlc", argc, argv))) {
        bench_schedule_heading();
    }
    for (int i = 0; i < 3; i++) {
        if (wanted(names[i], argc, argv)) {
            agree = run_policy(names[i], policies[i], &o) && agree;
        }
    }
    if (!agree) {
        fprintf(stderr, "locus-bench: the designs did not decide alike\n");
    }
    return agree ? 0 : 1;
}
