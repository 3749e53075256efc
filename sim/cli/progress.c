/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/now.h"
#include "../base/texts.h"

enum { BAR = 24 };
#define REDRAW_NS 100000000u

volatile int progress_stop;

static void interrupted(int number)
{
    (void)number;
    progress_stop = 1;
}

void progress_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = interrupted,
                               .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void progress_begin(struct progress *progress, const char *what, const char *unit,
                    uint64_t total)
{
    *progress = (struct progress){
        .shown = isatty(STDERR_FILENO) == 1,
        .what = what,
        .unit = unit,
        .total = total,
        .begin_ns = now_ns(),
    };
    progress->last_ns = progress->begin_ns;
}

static void draw(const struct progress *progress, uint64_t done, uint64_t elapsed_ns)
{
    double rate = (double)done * 1e9 / (double)elapsed_ns;
    bool bytes = strcmp(progress->unit, "B") == 0;
    char bar[BAR + 1], number[TEXT_SIZE], left[TEXT_SIZE];

    fprintf(stderr, "\r%s ", progress->what);
    if (progress->total > 0) {
        double part = (double)done / (double)progress->total;
        int full = part >= 1 ? BAR : (int)(part * BAR);
        memset(bar, '.', BAR);
        memset(bar, '#', (size_t)full);
        bar[BAR] = '\0';
        fprintf(stderr, "[%s] %3d%% ", bar, part >= 1 ? 100 : (int)(part * 100));
    }
    fprintf(stderr, "%s%s%s/s",
            bytes ? text_bytes((uint64_t)rate, number)
                  : text_count((uint64_t)rate, number),
            bytes ? "" : " ", bytes ? "" : progress->unit);
    if (progress->total > done && rate > 0) {
        uint64_t left_s = (uint64_t)((double)(progress->total - done) / rate) + 1;
        fprintf(stderr, ", %s left", text_time(left_s * 1000, left));
    }
    fprintf(stderr, "\033[K");
}

void progress_update(struct progress *progress, uint64_t done)
{
    if (!progress->shown) {
        return;
    }
    uint64_t now = now_ns();
    if (now - progress->last_ns >= REDRAW_NS) {
        progress->last_ns = now;
        draw(progress, done, now - progress->begin_ns);
    }
}

void progress_end(struct progress *progress)
{
    if (progress->shown && progress->last_ns != progress->begin_ns) {
        fprintf(stderr, "\r\033[K");
    }
}
