/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t wall_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void samples_add(struct samples *samples, double value)
{
    if (samples->count < SAMPLES_MAX) {
        samples->values[samples->count++] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double samples_quantile(struct samples *samples, double quantile)
{
    if (samples->count == 0) {
        return 0;
    }
    qsort(samples->values, samples->count, sizeof(*samples->values), compare);
    return samples->values[(size_t)(quantile * (double)(samples->count - 1) + 0.5)];
}

void print_machine_line(void)
{
    char line[256], model[128] = "unknown processor";
    double load = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "model name : %127[^\n]", model) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    file = fopen("/proc/loadavg", "r");
    if (file != NULL) {
        if (fscanf(file, "%lf", &load) != 1) {
            load = 0;
        }
        fclose(file);
    }
    printf("# %s, %ld processors, load %.1f, compiler %s\n", model,
           sysconf(_SC_NPROCESSORS_ONLN), load, __VERSION__);
}

static void print_heading(enum format format, const char *what,
                          const struct field *fields, size_t count)
{
    printf(format == FORMAT_MARKDOWN ? "| %s |" : "%-34s", what);
    for (size_t i = 0; i < count; i++) {
        printf(format == FORMAT_MARKDOWN ? " %s |" : " %12s", fields[i].name);
    }
    if (format == FORMAT_MARKDOWN) {
        printf("\n|---|");
        for (size_t i = 0; i < count; i++) {
            printf("---|");
        }
    }
    printf("\n");
}

static void print_json_record(const char *what, const char *name,
                              const struct field *fields, size_t count)
{
    printf("{\"%s\": \"%s\"", what, name);
    for (size_t i = 0; i < count; i++) {
        printf(", \"");
        for (const char *at = fields[i].name; *at != '\0'; at++) {
            putchar(*at == ' ' ? '_' : *at);
        }
        printf("\": %.*f", fields[i].decimals, fields[i].value);
    }
    printf("}\n");
}

void print_record(enum format format, bool first, const char *what, const char *name,
                  const struct field *fields, size_t count)
{
    if (format == FORMAT_JSON) {
        print_json_record(what, name, fields, count);
        return;
    }
    if (first) {
        print_heading(format, what, fields, count);
    }
    printf(format == FORMAT_MARKDOWN ? "| %s |" : "%-34s", name);
    for (size_t i = 0; i < count; i++) {
        printf(format == FORMAT_MARKDOWN ? " %.*f |" : " %12.*f", fields[i].decimals,
               fields[i].value);
    }
    printf("\n");
}

const char *built_locus(void)
{
    static const char beside[] = "/../sim/locus";
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(beside));

    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    if (length > 0) {
        memcpy(path + length - 1, beside, sizeof(beside));
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return "locus";
}
