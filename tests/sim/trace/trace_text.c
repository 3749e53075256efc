/* SPDX-License-Identifier: MIT */
#include "trace_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char said[1 << 16];
static size_t used;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    int length = vsnprintf(said + used, sizeof(said) - used, format, ap);
    va_end(ap);
    if (length < 0 || (size_t)length >= sizeof(said) - used) {
        abort();
    }
    used += (size_t)length;
}

int open_text(const struct trace_options *options, const void *text, size_t length,
              struct trace **out)
{
    char path[] = "/tmp/locus-test-XXXXXX";
    char *paths[] = {path};
    int fd = mkstemp(path);

    if (fd < 0 || write(fd, text, length) != (ssize_t)length) {
        abort();
    }
    close(fd);
    int status = trace_open(options, paths, 1, out);
    unlink(path);
    return status;
}

static void say_time(uint64_t ns)
{
    char text[40];
    int length = snprintf(text, sizeof(text), "%" PRIu64 ".%09u", ns / 1000000000,
                          (unsigned)(ns % 1000000000));

    while (text[length - 1] == '0') {
        length--;
    }
    length -= text[length - 1] == '.';
    say("%.*s ", length, text);
}

static void say_end(const struct trace *trace, bool there, uint8_t family,
                    const union locus_key *key, uint16_t port)
{
    char text[128];

    if (!there) {
        say("- ");
        return;
    }
    trace_key_text(trace, family, key, text, sizeof(text));
    say(port != 0 ? "%s:%u " : "%s ", text, port);
}

static void say_record(const struct trace *trace, const struct record *r)
{
    if (r->flags & RECORD_HAS_TIME) {
        say_time(r->start_ns);
    } else {
        say("- ");
    }
    if (r->flags & RECORD_HAS_DURATION) {
        say_time(r->duration_ns);
    } else {
        say("- ");
    }
    say_end(trace, true, r->dst_family, &r->dst, r->dst_port);
    say("< ");
    say_end(trace, r->flags & RECORD_HAS_CLIENT, r->src_family, &r->src, r->src_port);
    say("%u ", r->proto);
    if (r->flags & RECORD_HAS_BYTES) {
        say("%" PRIu64 "\n", r->bytes);
    } else {
        say("-\n");
    }
}

const char *trace_text(struct trace *trace)
{
    const struct trace_summary *summary = trace_summary(trace);
    struct record batch[3]; /* small, so that batches have seams */
    ssize_t got;

    used = 0;
    said[0] = '\0';
    while ((got = trace_next(trace, batch, 3)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            say_record(trace, &batch[i]);
        }
    }
    for (size_t i = 0; i < summary->reason_count; i++) {
        say("! %" PRIu64 " %s\n", summary->reasons[i].count,
            summary->reasons[i].reason);
    }
    if (summary->others > 0) {
        say("= %" PRIu64 "\n", summary->others);
    }
    return said;
}

const char *read_text(const struct trace_options *options, const void *text,
                      size_t length)
{
    struct trace *trace;

    int status = open_text(options, text, length, &trace);
    if (trace == NULL) {
        used = 0;
        say("exit %d\n", status);
        return said;
    }
    trace_text(trace);
    trace_close(trace);
    return said;
}
