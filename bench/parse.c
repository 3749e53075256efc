/* SPDX-License-Identifier: MIT */
/*
 * How fast logs are read, from the file to sorted records: "locus inspect --brief" as a child
 * process, beside "wc -l", which only looks for line ends, and "gzip -dc", which only
 * decompresses. Logs are made by "locus gen", or given. Figures are MB of plain log per
 * second of CPU time, the kernel's share included; rounds go through all of them in turn, so
 * that what else happens on the machine hits all alike.
 */
#include <fcntl.h>
#include <getopt.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "programs.h"

extern char **environ;

enum { LOGS_MAX = 32, PATH_BYTES = 512 };

/* A column of the table. */
enum kind { READ_PLAIN, READ_GZIP, COUNT_LINES, DECOMPRESS, KINDS };

static const char *const kind_names[KINDS] = {"locus", "locus, gz", "wc -l",
                                              "gzip -dc"};

struct log {
    char name[64];
    char path[PATH_BYTES], gzip_path[PATH_BYTES];
    const char *format; /* NULL: found by looking */
    double megabytes;   /* plain */
    struct samples mb_per_s[KINDS];
};

struct settings {
    const char *locus, *records, *format;
    unsigned rounds;
    char folder[PATH_BYTES / 2];
    struct log logs[LOGS_MAX];
    size_t log_count;
};

static const char *const made_formats[] = {"squid",   "zeek-tsv", "zeek-json", "weblog",
                                           "haproxy", "nginx",    "csv",       "nfdump",
                                           "eve",     "objects",  "locus",     NULL};

/* The child's exit code, -1 when there was no child; its stdout goes to the file. cpu_s may
 * be NULL. */
static int run(char *const argv[], const char *stdout_path, double *cpu_s)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t child;
    int status;

    if (posix_spawn_file_actions_init(&actions) != 0) {
        return -1;
    }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, stdout_path,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0 || wait4(child, &status, 0, &usage) != child) {
        fprintf(stderr, "locus-bench parse: cannot run %s\n", argv[0]);
        return -1;
    }
    if (cpu_s != NULL) {
        *cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* argv of const strings: none of the programs that are run may change them. */
static int run_words(const char *const *words, const char *stdout_path, double *cpu_s)
{
    char *argv[16];
    size_t count = 0;

    while (words[count] != NULL && count < 15) {
        argv[count] = strdup(words[count]);
        count++;
    }
    argv[count] = NULL;
    int status = run(argv, stdout_path, cpu_s);
    while (count > 0) {
        free(argv[--count]);
    }
    return status;
}

static bool add_log(struct settings *s, const char *name, const char *path,
                    const char *format)
{
    struct stat st;

    if (s->log_count == LOGS_MAX || strlen(path) >= PATH_BYTES) {
        fprintf(stderr, "locus-bench parse: too many logs or too long a path\n");
        return false;
    }
    struct log *log = &s->logs[s->log_count];
    snprintf(log->name, sizeof(log->name), "%s", name);
    snprintf(log->path, sizeof(log->path), "%s", path);
    snprintf(log->gzip_path, sizeof(log->gzip_path), "%s/%zu.gz", s->folder,
             s->log_count);
    log->format = format;
    if (stat(path, &st) != 0 || st.st_size == 0) {
        fprintf(stderr, "locus-bench parse: %s cannot be read or is empty\n", path);
        return false;
    }
    log->megabytes = (double)st.st_size / 1e6;
    s->log_count++;
    const char *const gzip[] = {"gzip", "-c", path, NULL};
    return run_words(gzip, log->gzip_path, NULL) == 0;
}

static bool make_logs(struct settings *s)
{
    char path[PATH_BYTES];

    for (size_t i = 0; made_formats[i] != NULL; i++) {
        const char *const gen[] = {s->locus,    "gen",      "--to", made_formats[i],
                                   "--records", s->records, NULL};
        snprintf(path, sizeof(path), "%s/%s.log", s->folder, made_formats[i]);
        if (run_words(gen, path, NULL) != 0 ||
            !add_log(s, made_formats[i], path, made_formats[i])) {
            return false;
        }
    }
    return true;
}

static bool measure(const struct settings *s, struct log *log, enum kind kind)
{
    const char *path = kind == READ_GZIP ? log->gzip_path : log->path;
    const char *const formats[] = {s->locus,
                                   "inspect",
                                   "--brief",
                                   path,
                                   log->format == NULL ? NULL : "--format",
                                   log->format,
                                   NULL};
    const char *const wc[] = {"wc", "-l", path, NULL};
    const char *const gzip[] = {"gzip", "-dc", log->gzip_path, NULL};
    double cpu_s;

    int status = run_words(kind == COUNT_LINES  ? wc
                           : kind == DECOMPRESS ? gzip
                                                : formats,
                           "/dev/null", &cpu_s);
    if (status != 0) {
        fprintf(stderr, "locus-bench parse: %s of %s: exit status %d\n",
                kind_names[kind], log->name, status);
        return false;
    }
    /* A tick of the clock that counts CPU time. */
    cpu_s = cpu_s < 1e-4 ? 1e-4 : cpu_s;
    samples_add(&log->mb_per_s[kind], log->megabytes / cpu_s);
    return true;
}

static void print_table(struct settings *s)
{
    printf("%-20s %7s", "MB/s (least-most)", "MB");
    for (int kind = 0; kind < KINDS; kind++) {
        printf(" %16s", kind_names[kind]);
    }
    printf("\n");
    for (size_t i = 0; i < s->log_count; i++) {
        struct log *log = &s->logs[i];
        printf("%-20s %7.1f", log->name, log->megabytes);
        for (int kind = 0; kind < KINDS; kind++) {
            char cell[64];
            snprintf(cell, sizeof(cell), "%.0f (%.0f-%.0f)",
                     samples_quantile(&log->mb_per_s[kind], 0.5),
                     samples_quantile(&log->mb_per_s[kind], 0),
                     samples_quantile(&log->mb_per_s[kind], 1));
            printf(" %16s", cell);
        }
        printf("\n");
    }
}

static void remove_files(const struct settings *s)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < s->log_count; i++) {
        unlink(s->logs[i].gzip_path);
    }
    for (size_t i = 0; made_formats[i] != NULL; i++) {
        snprintf(path, sizeof(path), "%s/%s.log", s->folder, made_formats[i]);
        unlink(path);
    }
    rmdir(s->folder);
}

static int measure_all(struct settings *s, char **files)
{
    for (; *files != NULL; files++) {
        const char *slash = strrchr(*files, '/');
        if (!add_log(s, slash == NULL ? *files : slash + 1, *files, s->format)) {
            return 1;
        }
    }
    if (s->log_count == 0 && !make_logs(s)) {
        return 1;
    }
    print_machine_line();
    for (unsigned round = 0; round < s->rounds; round++) {
        for (size_t i = 0; i < s->log_count; i++) {
            for (int kind = 0; kind < KINDS; kind++) {
                if (!measure(s, &s->logs[i], (enum kind)kind)) {
                    return 1;
                }
            }
        }
    }
    print_table(s);
    return 0;
}

static void usage(FILE *out)
{
    fprintf(out, "usage: locus-bench parse [options] [LOG...]\n\n"
                 "MB of plain log per second of CPU time that 'locus inspect --brief' "
                 "reads, beside\n'wc -l' and 'gzip -dc'. Without logs, it makes one of "
                 "each format.\n\n"
                 "  --locus PATH     the command (as built beside this)\n"
                 "  --format NAME    of the given logs (found by looking)\n"
                 "  --records N      in each log that is made (1000000)\n"
                 "  --rounds N       (5)\n");
}

static int parse_options(struct settings *s, int argc, char **argv)
{
    static const struct option options[] = {{"locus", required_argument, NULL, 'l'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"records", required_argument, NULL, 'n'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'l') {
            s->locus = optarg;
        } else if (option == 'f') {
            s->format = optarg;
        } else if (option == 'n') {
            s->records = optarg;
        } else if (option == 'r') {
            s->rounds = (unsigned)strtoul(optarg, NULL, 10);
        } else {
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    if (s->rounds < 1 || s->rounds > SAMPLES_MAX) {
        fprintf(stderr, "locus-bench parse: --rounds: expected 1 to %d\n", SAMPLES_MAX);
        return 2;
    }
    return -1;
}

int bench_parse(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    struct settings *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        return 1;
    }
    s->locus = built_locus();
    s->records = "1000000";
    s->rounds = 5;
    int status = parse_options(s, argc, argv);
    if (status < 0) {
        snprintf(s->folder, sizeof(s->folder), "%s/locus-bench-XXXXXX",
                 tmp != NULL && strlen(tmp) < 128 ? tmp : "/tmp");
        if (mkdtemp(s->folder) == NULL) {
            fprintf(stderr, "locus-bench parse: cannot make a folder in %s\n",
                    tmp != NULL ? tmp : "/tmp");
            status = 1;
        } else {
            status = measure_all(s, argv + optind);
            remove_files(s);
        }
    }
    free(s);
    return status;
}
