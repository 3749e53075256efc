/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "../base/errors.h"
#include "../base/output.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of a line, in order. */
static const struct column {
    const char *heading; /* NULL: in JSON only */
    const char *key;     /* in JSON */
    int width;           /* in the table */
    enum { PLAIN, HUNDREDTHS, PERCENT } unit;
    size_t offset;
} columns[] = {
#define AT(field) offsetof(struct load_line, field)
    {"concurrency", "concurrency", 11, PLAIN, AT(concurrency)},
    {"max_batch", "max_batch", 9, PLAIN, AT(max_batch)},
    {"calls/s", "calls_per_s", 9, PLAIN, AT(calls_per_s)},
    {"batches/s", "batches_per_s", 9, PLAIN, AT(batches_per_s)},
    {"keys/batch", "keys_per_batch_x100", 10, HUNDREDTHS, AT(keys_per_batch_x100)},
    {"busy", "busy_percent", 5, PERCENT, AT(busy_percent)},
    {"p50 us", "p50_us", 8, PLAIN, AT(p50_us)},
    {"p90 us", "p90_us", 8, PLAIN, AT(p90_us)},
    {"p99 us", "p99_us", 8, PLAIN, AT(p99_us)},
    {"max us", "max_us", 8, PLAIN, AT(max_us)},
    {"queued", "queued_max", 6, PLAIN, AT(queued_max)},
    {NULL, "shared", 0, PLAIN, AT(shared)},
    {"lost", "lost", 6, PLAIN, AT(lost)},
#undef AT
};

static uint64_t value_of(const struct load_line *line, const struct column *column)
{
    return *(const uint64_t *)(const void *)((const char *)line + column->offset);
}

/* The headings, or the cells of a line; tag NULL: in columns of text. */
static void write_row(FILE *out, const char *tag, const struct load_line *line)
{
    for (const struct column *c = columns; c < columns + COUNT(columns); c++) {
        uint64_t value = line != NULL ? value_of(line, c) : 0;
        char text[32];
        if (c->heading == NULL) {
            continue;
        }
        if (line == NULL) {
            snprintf(text, sizeof(text), "%s", c->heading);
        } else if (c->unit == HUNDREDTHS) {
            snprintf(text, sizeof(text), "%" PRIu64 ".%02" PRIu64, value / 100,
                     value % 100);
        } else {
            snprintf(text, sizeof(text), "%" PRIu64 "%s", value,
                     c->unit == PERCENT ? "%" : "");
        }
        if (tag != NULL) {
            fprintf(out, "%s%s", tag, text);
        } else {
            fprintf(out, "%s%*s", c == columns ? "" : " ", c->width, text);
        }
    }
}

void load_print_heading(const struct load *load)
{
    if (load->pool == NULL) {
        printf("backend: %.0f us + %.3f us per key\n", (double)load->rtt_ns * 1e-3,
               (double)load->per_key_ns * 1e-3);
    } else {
        printf("backend: picks of a pool in Redis\n");
    }
    printf("%" PRIu64 " calls/s due, by %" PRIu64 " callers\n\n", load->rate,
           load->callers);
    write_row(stdout, NULL, NULL);
    putchar('\n');
}

void load_print_line(const struct load_line *line)
{
    write_row(stdout, NULL, line);
    putchar('\n');
    fflush(stdout);
}

int load_print_json(const struct load_line *line)
{
    json_t *object = json_object();

    for (size_t i = 0; i < COUNT(columns); i++) {
        json_int_t value = (json_int_t)value_of(line, &columns[i]);
        if (json_object_set_new(object, columns[i].key, json_integer(value)) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return output_json_line("coalesce-bench", object);
}

/* Keeps up with the rate and loses nothing; of those, by p99, and by fewer batches where p99 is
 * alike to within a tenth. NULL: none does. */
static const struct load_line *best(const struct load_line *lines, size_t count,
                                    uint64_t rate)
{
    const struct load_line *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct load_line *l = &lines[i];
        if (l->lost > 0 || l->calls_per_s < rate - rate / 20) {
            continue;
        }
        if (best == NULL || l->p99_us * 10 < best->p99_us * 9 ||
            (l->p99_us * 9 <= best->p99_us * 10 &&
             l->batches_per_s < best->batches_per_s)) {
            best = l;
        }
    }
    return best;
}

void load_print_best(const struct load *load, const struct load_line *lines,
                     size_t count)
{
    const struct load_line *l = best(lines, count, load->rate);

    if (l == NULL) {
        printf("\nNone of these keeps up with the rate without losing calls.\n");
    } else {
        printf("\nChoose concurrency %" PRIu64 ", max_batch %" PRIu64 ": p99 %" PRIu64
               " us at %" PRIu64 " batches/s.\n",
               l->concurrency, l->max_batch, l->p99_us, l->batches_per_s);
    }
}

/* ---- the page -------------------------------------------------------------------- */

enum { WIDTH = 640, HEIGHT = 300, LEFT = 70, TOP = 20 }; /* of the chart */

static const char *const colours[] = {"#1f6fb2", "#d9762b", "#3a9a4c", "#9b4fb5",
                                      "#c23b3b", "#6b6b6b", "#2aa3a3", "#b0a020"};

static double chart_x(size_t column, size_t count)
{
    return LEFT + 30 +
           (double)column * (WIDTH - LEFT - 60) / (double)(count > 1 ? count - 1 : 1);
}

static double chart_y(double value, double low, double high)
{
    double span = log(high) - log(low);
    double part = span > 0 ? (log(value) - log(low)) / span : 0.5;

    return TOP + HEIGHT * (1 - part);
}

/* p99 over max_batch, a curve for each concurrency. */
static void draw_chart(FILE *out, const struct load_line *lines, size_t rows,
                       size_t count)
{
    double low = 1e18, high = 1;

    for (size_t i = 0; i < rows * count; i++) {
        double value = (double)lines[i].p99_us + 1;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    fprintf(out, "<svg viewBox='0 0 %d %d' role='img'>\n", WIDTH + 160, HEIGHT + 60);
    for (int i = 0; i <= 4; i++) {
        double value = exp(log(low) + (log(high) - log(low)) * i / 4);
        double y = chart_y(value, low, high);
        fprintf(out,
                "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/>"
                "<text x='%d' y='%.1f' text-anchor='end'>%.0f us</text>\n",
                LEFT, WIDTH, y, y, LEFT - 6, y + 4, value);
    }
    for (size_t r = 0; r < rows; r++) {
        const struct load_line *row = lines + r * count;
        const char *colour = colours[r % COUNT(colours)];
        fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='",
                colour);
        for (size_t c = 0; c < count; c++) {
            fprintf(out, "%.1f,%.1f ", chart_x(c, count),
                    chart_y((double)row[c].p99_us + 1, low, high));
        }
        fprintf(out,
                "'/>\n<text x='%d' y='%zu' fill='%s'>concurrency %" PRIu64 "</text>\n",
                WIDTH + 10, TOP + 18 * (r + 1), colour, row->concurrency);
    }
    for (size_t c = 0; c < count; c++) {
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%" PRIu64 "</text>\n",
                chart_x(c, count), TOP + HEIGHT + 20, lines[c].max_batch);
    }
    fprintf(out, "<text x='%d' y='%d' text-anchor='middle'>max_batch</text>\n</svg>\n",
            (LEFT + WIDTH) / 2, TOP + HEIGHT + 38);
}

static void write_table(FILE *out, const struct load_line *lines, size_t count,
                        const struct load_line *chosen)
{
    fputs("<table><tr>", out);
    write_row(out, "<th>", NULL);
    for (const struct load_line *l = lines; l < lines + count; l++) {
        fprintf(out, "</tr>\n<tr%s>", l == chosen ? " class='chosen'" : "");
        write_row(out, "<td>", l);
    }
    fputs("</tr>\n</table>\n", out);
}

int load_write_page(const char *path, const struct load *load,
                    const struct load_line *lines, size_t rows, size_t count)
{
    FILE *out = fopen(path, "we");

    if (out != NULL) {
        fprintf(
            out,
            "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>"
            "<title>coalescer: %" PRIu64 " calls/s</title>\n<style>"
            "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;"
            "padding:0 1em}svg{width:100%%}svg text{font-size:12px}"
            ".grid{stroke:#ddd}table{border-collapse:collapse;width:100%%;"
            "font-variant-numeric:tabular-nums}td,th{text-align:right;"
            "padding:.2em .5em;border-bottom:1px solid #ddd}"
            ".chosen{background:#e6f2e6}</style>\n"
            "<h1>%" PRIu64 " calls/s by %" PRIu64 " callers</h1>\n"
            "<p>p99 of a call from when it was due, by the largest batch and the "
            "number of batches at once. The marked line keeps up at the least "
            "latency.</p>\n",
            load->rate, load->rate, load->callers);
        draw_chart(out, lines, rows, count);
        write_table(out, lines, rows * count, best(lines, rows * count, load->rate));
        fputs("</html>\n", out);
    }
    bool failed = out == NULL || ferror(out) != 0;
    if (out != NULL && fclose(out) != 0) {
        failed = true;
    }
    if (failed) {
        fprintf(stderr, "locus coalesce-bench: cannot write %s\n", path);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}
