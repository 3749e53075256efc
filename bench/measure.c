/* SPDX-License-Identifier: MIT */
#include "measure.h"

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
