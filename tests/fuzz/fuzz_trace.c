/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as any trace: the first byte chooses the format (0: found by looking) and the
 * key, the rest is the file. Whatever they are, it ends; every bad record has an example
 * that names file and line; what is read is in order and the same when read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/formats.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok, const char *what)
{
    if (!ok) {
        dprintf(STDERR_FILENO, "fuzz_trace: %s\n", what);
        abort();
    }
}

static uint64_t read_all(struct trace *trace)
{
    struct record batch[64];
    char text[64];
    uint64_t last_ns = 0;
    uint64_t count = 0;
    ssize_t got;

    while ((got = trace_next(trace, batch, 64)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            require(batch[i].start_ns >= last_ns, "records are out of order");
            last_ns = batch[i].start_ns;
            trace_key_text(trace, batch[i].dst_family, &batch[i].dst, text,
                           sizeof(text));
            count++;
        }
    }
    require(got == 0, "reading failed");
    return count;
}

static void check(struct trace *trace)
{
    const struct trace_summary *s = trace_summary(trace);
    uint64_t sum = 0;

    for (size_t i = 0; i < s->reason_count; i++) {
        sum += s->reasons[i].count;
    }
    require(sum == s->bad, "reasons do not add up");
    require((s->bad == 0) == (s->example_count == 0), "bad without an example");
    for (size_t i = 0; i < s->example_count; i++) {
        require(strchr(s->examples[i], ':') != NULL, "example without a line");
    }
    require(read_all(trace) == s->records, "other records than counted");
    require(trace_rewind(trace) && read_all(trace) == s->records,
            "other records when read again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    char *paths[] = {path};
    struct trace *trace;
    size_t formats = 0;

    if (file < 0) {
        file = memfd_create("trace", 0);
        require(file >= 0, "no memory file");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        /* Complaints go nowhere; what sanitizers say does not come through stdio. */
        FILE *nowhere = fopen("/dev/null", "w");
        require(nowhere != NULL, "no /dev/null");
        stderr = nowhere;
    }
    if (size == 0) {
        return 0;
    }
    while (trace_format_name(formats, NULL) != NULL) {
        formats++;
    }
    size_t choice = data[0] % (formats + 1);
    struct trace_options options = {
        .format = choice == 0 ? NULL : trace_format_name(choice - 1, NULL),
        .key = data[0] / (formats + 1) % 6,
        .max_bad = UINT64_MAX,
        .memory_bytes = 1,
    };
    if (options.format != NULL && strcmp(options.format, "csv") == 0 && data[0] & 1) {
        options.columns = "time=1,dst=2,bytes=3,client=4,duration=5";
    }
    require(ftruncate(file, 0) == 0 &&
                pwrite(file, data + 1, size - 1, 0) == (ssize_t)size - 1,
            "memory file not written");
    trace_open(&options, paths, 1, &trace);
    if (trace != NULL) {
        check(trace);
        trace_close(trace);
    }
    return 0;
}
