/* SPDX-License-Identifier: MIT */
/*
 * "locus gen" makes a trace in locus' own format, then "locus replay" runs over it as a
 * process of its own, policies taking turns round by round: start, reading, every connection
 * opened and closed, the report. Memory is what the kernel says that the process had at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "programs.h"

enum { POLICIES = 3, ROUNDS_MAX = 99, SERVERS_MAX = 256, WEIGHT = 100 };

static const char *const policies[POLICIES] = {"lblc", "lblcr", "wlc"};

struct options {
    const char *locus, *connections, *destinations, *skew, *seed, *format;
    unsigned long servers, rounds;
    bool json, all_cpus;
};

struct outcome {
    struct samples wall, cpu; /* million connections per second */
    long peak_kib;
};

static void usage(FILE *out)
{
    fprintf(out,
            "usage: locus-bench replay [options]\n\n"
            "Times \"locus replay --json\" over a generated trace, one policy at a "
            "time, on "
            "one\nprocessor.\n\n"
            "  --locus PATH        the command (as built beside this)\n"
            "  --connections M     in the trace (10000000)\n"
            "  --dest N            destinations (10000)\n"
            "  --skew S            exponent of Zipf's law for them (0.9)\n"
            "  --seed N            of the trace (1)\n"
            "  --format NAME       of the trace, as 'locus gen --to' has it (locus)\n"
            "  --servers N         each of weight 100 (16)\n"
            "  --rounds N          of which the median is shown (5)\n"
            "  --all-cpus          not tied to one processor\n"
            "  --json              one object per line\n");
}

static unsigned long parse_number(const char *text, unsigned long most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || value == 0 || value > most) {
        fprintf(stderr, "locus-bench replay: expected 1 to %lu, not '%s'\n", most,
                text);
        exit(2);
    }
    return value;
}

static bool set_option(struct options *o, int c)
{
    switch (c) {
    case 'l':
        o->locus = optarg;
        return true;
    case 'n':
        o->connections = optarg;
        return true;
    case 'd':
        o->destinations = optarg;
        return true;
    case 'k':
        o->skew = optarg;
        return true;
    case 'e':
        o->seed = optarg;
        return true;
    case 'f':
        o->format = optarg;
        return true;
    case 's':
        o->servers = parse_number(optarg, SERVERS_MAX);
        return true;
    case 'r':
        o->rounds = parse_number(optarg, ROUNDS_MAX);
        return true;
    case 'a':
        o->all_cpus = true;
        return true;
    case 'j':
        o->json = true;
        return true;
    default:
        return false;
    }
}

static struct options parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"locus", required_argument, NULL, 'l'},
        {"connections", required_argument, NULL, 'n'},
        {"dest", required_argument, NULL, 'd'},
        {"skew", required_argument, NULL, 'k'},
        {"seed", required_argument, NULL, 'e'},
        {"format", required_argument, NULL, 'f'},
        {"servers", required_argument, NULL, 's'},
        {"rounds", required_argument, NULL, 'r'},
        {"all-cpus", no_argument, NULL, 'a'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options o = {.locus = built_locus(),
                        .connections = "10000000",
                        .destinations = "10000",
                        .skew = "0.9",
                        .seed = "1",
                        .format = "locus",
                        .servers = 16,
                        .rounds = 5};
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'h') {
            usage(stdout);
            exit(0);
        }
        if (!set_option(&o, c)) {
            usage(stderr);
            exit(2);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(2);
    }
    return o;
}

/* The last processor that this process may use, for it and its children. */
static void use_one_processor(void)
{
    cpu_set_t allowed, one;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return;
    }
    for (size_t i = CPU_SETSIZE; i-- > 0;) {
        if (CPU_ISSET(i, &allowed)) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
}

/* Runs it with stdout nowhere. False, after a message, unless it ended with 0. */
static bool run(const char *const argv[], struct rusage *used)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0) {
            /* POSIX promises that execvp() leaves the strings alone. */
            union {
                const char *const *in;
                char *const *out;
            } args = {argv};
            execvp(argv[0], args.out);
        }
        fprintf(stderr, "locus-bench replay: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    if (child > 0 && wait4(child, &status, 0, used) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == 0) {
        return true;
    }
    fprintf(stderr, "locus-bench replay: '%s %s' failed\n", argv[0], argv[1]);
    return false;
}

static bool make_trace(const struct options *o, const char *path)
{
    const char *argv[] = {
        o->locus, "gen",       "--to",   o->format,        "-o",
        path,     "--records", NULL,     "--destinations", o->destinations,
        "--zipf", o->skew,     "--seed", o->seed,          NULL};
    struct rusage used;

    argv[7] = o->connections;
    return run(argv, &used);
}

static void list_servers(char *text, size_t size, unsigned long count)
{
    size_t used = 0;

    for (unsigned long i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s10.0.0.%lu*%d",
                                 i > 0 ? "," : "", i, WEIGHT);
    }
}

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static bool replay_once(const struct options *o, const char *policy, const char *path,
                        const char *servers, struct outcome *out)
{
    const char *argv[] = {o->locus,   "replay", "--json", "--servers", servers,
                          "--policy", policy,   path,     NULL};
    struct rusage used;
    double millions = strtod(o->connections, NULL) / 1e6;

    uint64_t begin_ns = wall_ns();
    if (!run(argv, &used)) {
        return false;
    }
    double wall_s = (double)(wall_ns() - begin_ns) / 1e9;
    double cpu_s = seconds(&used.ru_utime) + seconds(&used.ru_stime);
    samples_add(&out->wall, millions / wall_s);
    samples_add(&out->cpu, millions / (cpu_s > 0 ? cpu_s : wall_s));
    out->peak_kib = used.ru_maxrss > out->peak_kib ? used.ru_maxrss : out->peak_kib;
    return true;
}

static void show(const char *policy, struct outcome *out)
{
    printf("%-6s  %6.2f  %6.2f-%-6.2f  %6.2f  %6.2f-%-6.2f  %8ld KiB\n", policy,
           samples_quantile(&out->wall, 0.5), samples_quantile(&out->wall, 0),
           samples_quantile(&out->wall, 1), samples_quantile(&out->cpu, 0.5),
           samples_quantile(&out->cpu, 0), samples_quantile(&out->cpu, 1),
           out->peak_kib);
}

static void show_json(const char *policy, const struct options *o, struct outcome *out)
{
    printf("{\"bench\":\"replay\",\"policy\":\"%s\",\"connections\":%s,"
           "\"destinations\":%s,\"format\":\"%s\",\"wall_m_per_s\":%.2f,"
           "\"wall_least\":%.2f,\"wall_most\":%.2f,\"cpu_m_per_s\":%.2f,"
           "\"cpu_least\":%.2f,\"cpu_most\":%.2f,\"peak_kib\":%ld}\n",
           policy, o->connections, o->destinations, o->format,
           samples_quantile(&out->wall, 0.5), samples_quantile(&out->wall, 0),
           samples_quantile(&out->wall, 1), samples_quantile(&out->cpu, 0.5),
           samples_quantile(&out->cpu, 0), samples_quantile(&out->cpu, 1),
           out->peak_kib);
}

static bool measure(const struct options *o, const char *path)
{
    static struct outcome outcomes[POLICIES];
    char servers[SERVERS_MAX * 16] = "";

    list_servers(servers, sizeof(servers), o->servers);
    if (!make_trace(o, path)) {
        return false;
    }
    for (unsigned long round = 0; round < o->rounds; round++) {
        for (size_t p = 0; p < POLICIES; p++) {
            if (!replay_once(o, policies[p], path, servers, &outcomes[p])) {
                return false;
            }
        }
    }
    if (!o->json) {
        printf("# %s connections to %s destinations, as %s; million opened and closed "
               "per second\n# policy  by the clock (median, least-most)  by processor "
               "time  peak memory\n",
               o->connections, o->destinations, o->format);
    }
    for (size_t p = 0; p < POLICIES; p++) {
        if (o->json) {
            show_json(policies[p], o, &outcomes[p]);
        } else {
            show(policies[p], &outcomes[p]);
        }
    }
    return true;
}

int bench_replay(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    const char *folder = getenv("TMPDIR");
    char path[4096];

    if (!o.json) {
        print_machine_line();
        fflush(stdout);
    }
    if (!o.all_cpus) {
        use_one_processor();
    }
    snprintf(path, sizeof(path), "%s/locus-bench-XXXXXX",
             folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        fprintf(stderr, "locus-bench replay: %s: %s\n", path, strerror(errno));
        return 1;
    }
    close(fd);
    bool ok = measure(&o, path);
    unlink(path);
    return ok ? 0 : 1;
}
