/* SPDX-License-Identifier: MIT */
/*
 * The picture: locality against imbalance of every policy on the left, on the right each
 * policy's active connections over time, a line a server, all on one scale. Coordinates are whole
 * tenths, so that the same replay makes the same bytes everywhere.
 */
#include <inttypes.h>
#include <string.h>

#include "report.h"

/* In tenths of a pixel. */
enum {
    WIDTH = 8600,
    HEAD = 560,
    PLOT_LEFT = 560,
    PLOT_WIDTH = 2700,
    ROWS_LEFT = 4300,
    ROWS_WIDTH = 4100,
    ROW_HEIGHT = 1000, /* with its name */
    ROW_PLOT = 720,
    FOOT = 520,
    PLOT_LEAST = 3000,
    PLOT_MOST = 4500,
    LETTER = 68, /* of a name's width, about */
    LINE = 150,
    PICTURE_POLICIES = 8,
    PICTURE_SERVERS = 16,
};

static const char *const colors[] = {"#3b7dd8", "#e0803a", "#2f9e77", "#c2519b",
                                     "#8a6fd1", "#b59a1f", "#3aa6b9", "#d1495b"};
enum { COLORS = sizeof(colors) / sizeof(*colors) };

struct picture {
    FILE *out;
    const struct report *report;
    size_t policies;    /* shown */
    int64_t height;     /* of the plots */
    uint64_t end_ms;    /* of the arrivals */
    uint64_t most;      /* active on one server, of all that is shown */
    uint64_t right_ppm; /* the plot's imbalance axis: from 1 to this */
    uint64_t low_ppm;   /* its locality axis: from this to 1 */
    bool cache;
};

static void number(FILE *out, const char *name, int64_t tenths)
{
    fprintf(out, " %s=\"%" PRId64 ".%" PRId64 "\"", name, tenths / 10, tenths % 10);
}

static void text(const struct picture *p, const char *class, int64_t x, int64_t y,
                 const char *words)
{
    fprintf(p->out, "<text class=\"%s\"", class);
    number(p->out, "x", x);
    number(p->out, "y", y);
    fputc('>', p->out);
    for (; *words != '\0'; words++) {
        if (*words == '<' || *words == '&' || *words == '>') {
            fprintf(p->out, "&#%d;", *words);
        } else if ((unsigned char)*words < ' ' || (unsigned char)*words >= 0x7f) {
            fputc('?', p->out);
        } else {
            fputc(*words, p->out);
        }
    }
    fputs("</text>\n", p->out);
}

static void line(const struct picture *p, int64_t x1, int64_t y1, int64_t x2,
                 int64_t y2)
{
    fputs("<line class=\"grid\"", p->out);
    number(p->out, "x1", x1);
    number(p->out, "y1", y1);
    number(p->out, "x2", x2);
    number(p->out, "y2", y2);
    fputs("/>\n", p->out);
}

static uint64_t locality(const struct picture *p, const struct figures *f)
{
    return p->cache ? f->hit_ppm : f->warm_ppm;
}

static void draw_dot(const struct picture *p, size_t policy, int64_t x, int64_t y)
{
    fprintf(p->out, "<circle r=\"5\" fill=\"%s\"", colors[policy % COLORS]);
    number(p->out, "cx", x);
    number(p->out, "cy", y);
    fputs("/>\n", p->out);
}

/* ---- locality against imbalance -------------------------------------------------- */

static int64_t plot_x(const struct picture *p, uint64_t imbalance_ppm)
{
    uint64_t beyond = imbalance_ppm > 1000000 ? imbalance_ppm - 1000000 : 0;

    return PLOT_LEFT + (int64_t)(PLOT_WIDTH * beyond / (p->right_ppm - 1000000));
}

static int64_t plot_y(const struct picture *p, uint64_t locality_ppm)
{
    uint64_t below = 1000000 - locality_ppm;

    return HEAD + (int64_t)((uint64_t)p->height * below / (1000000 - p->low_ppm));
}

static void find_axes(struct picture *p)
{
    uint64_t right = 1000000, low = 1000000;

    for (size_t i = 0; i < p->policies; i++) {
        const struct figures *f = &p->report->policies[i].total;
        right = f->imbalance_conn_mean_ppm > right ? f->imbalance_conn_mean_ppm : right;
        low = locality(p, f) < low ? locality(p, f) : low;
    }
    /* Some room, and round ends: halves and tenths. */
    p->right_ppm = (right + 100000) / 500000 * 500000 + 500000;
    p->low_ppm = low > 150000 ? (low - 50000) / 100000 * 100000 : 0;
}

static void draw_axes(const struct picture *p)
{
    char words[TEXT_SIZE];

    for (unsigned i = 0; i <= 4; i++) {
        uint64_t imbalance = 1000000 + (p->right_ppm - 1000000) * i / 4;
        uint64_t share = p->low_ppm + (1000000 - p->low_ppm) * i / 4;
        line(p, plot_x(p, imbalance), HEAD, plot_x(p, imbalance), HEAD + p->height);
        line(p, PLOT_LEFT, plot_y(p, share), PLOT_LEFT + PLOT_WIDTH, plot_y(p, share));
        text(p, "m", plot_x(p, imbalance), HEAD + p->height + 180,
             text_ratio(imbalance, words));
        text(p, "e", PLOT_LEFT - 60, plot_y(p, share) + 40, text_share(share, words));
    }
    text(p, "m", PLOT_LEFT + PLOT_WIDTH / 2, HEAD + p->height + 380,
         "imbalance that connections meet");
}

struct box {
    int64_t x, y, width; /* a line of text, or a point */
};

static bool is_free(const struct box *taken, size_t count, const struct box *wanted)
{
    for (size_t i = 0; i < count; i++) {
        int64_t dy = taken[i].y - wanted->y;
        if (dy > -LINE && dy < LINE && taken[i].x < wanted->x + wanted->width &&
            wanted->x < taken[i].x + taken[i].width) {
            return false;
        }
    }
    return wanted->x >= 0 && wanted->x + wanted->width < PLOT_LEFT + PLOT_WIDTH + 400;
}

/* Right of its point, else left of it, else further down. */
static struct box place(const struct box *taken, size_t count, int64_t x, int64_t y,
                        const char *name)
{
    struct box box = {.width = (int64_t)strlen(name) * LETTER};

    for (int64_t down = 45; down < 10 * LINE; down += LINE / 2) {
        box.y = y + down;
        box.x = x + 90;
        if (is_free(taken, count, &box)) {
            return box;
        }
        box.x = x - 90 - box.width;
        if (is_free(taken, count, &box)) {
            return box;
        }
    }
    box.x = x + 90; /* on top of another */
    return box;
}

static void draw_points(const struct picture *p)
{
    struct box taken[2 * PICTURE_POLICIES];
    size_t count = p->policies;

    for (size_t i = 0; i < p->policies; i++) {
        const struct figures *f = &p->report->policies[i].total;
        int64_t x = plot_x(p, f->imbalance_conn_mean_ppm);
        int64_t y = plot_y(p, locality(p, f));
        taken[i] = (struct box){.x = x - 60, .y = y + 45, .width = 120};
        draw_dot(p, i, x, y);
    }
    for (size_t i = 0; i < p->policies; i++) {
        const char *name = p->report->policies[i].name;
        taken[count] = place(taken, count, taken[i].x + 60, taken[i].y - 45, name);
        text(p, "n", taken[count].x, taken[count].y, name);
        count++;
    }
}

/* ---- connections over time ------------------------------------------------------- */

static int64_t row_top(size_t row)
{
    return HEAD + (int64_t)row * ROW_HEIGHT + (ROW_HEIGHT - ROW_PLOT);
}

static void draw_server(const struct picture *p, size_t row, uint32_t server)
{
    const struct timeline *t = p->report->policies[row].timeline;

    fprintf(p->out, "<polyline class=\"s\" stroke=\"%s\" points=\"",
            colors[row % COLORS]);
    for (size_t i = 0; i < t->count; i++) {
        uint64_t at_ms = t->points[i].at_ns / 1000000u;
        uint64_t active = t->servers[i * t->server_count + server].active;
        if (at_ms > p->end_ms) {
            break;
        }
        int64_t x = ROWS_LEFT + (int64_t)(ROWS_WIDTH * at_ms / p->end_ms);
        int64_t y = row_top(row) + ROW_PLOT - (int64_t)(ROW_PLOT * active / p->most);
        fprintf(p->out, "%s%" PRId64 ".%" PRId64 ",%" PRId64 ".%" PRId64,
                i > 0 ? " " : "", x / 10, x % 10, y / 10, y % 10);
    }
    fputs("\"/>\n", p->out);
}

static void draw_phases(const struct picture *p)
{
    int64_t bottom = row_top(p->policies - 1) + ROW_PLOT, free = ROWS_LEFT;

    for (size_t i = 1; i < p->report->phase_count; i++) {
        const struct report_phase *phase = &p->report->phases[i];
        uint64_t at_ms = phase->from_ns / 1000000u;
        int64_t x = ROWS_LEFT + (int64_t)(ROWS_WIDTH * at_ms / p->end_ms);
        if (at_ms > p->end_ms) {
            break;
        }
        line(p, x, HEAD, x, bottom);
        if (x >= free) {
            text(p, "l", x + 30, HEAD + 40, phase->name);
            free = x + (int64_t)strlen(phase->name) * LETTER + 60;
        }
    }
}

static void draw_rows(const struct picture *p)
{
    char words[TEXT_SIZE];

    for (size_t row = 0; row < p->policies; row++) {
        const struct timeline *t = p->report->policies[row].timeline;
        int64_t top = row_top(row);
        draw_dot(p, row, ROWS_LEFT + 50, top - 105);
        text(p, "n", ROWS_LEFT + 150, top - 60, p->report->policies[row].name);
        line(p, ROWS_LEFT, top, ROWS_LEFT + ROWS_WIDTH, top);
        line(p, ROWS_LEFT, top + ROW_PLOT, ROWS_LEFT + ROWS_WIDTH, top + ROW_PLOT);
        text(p, "e", ROWS_LEFT - 60, top + 40, text_count(p->most, words));
        text(p, "e", ROWS_LEFT - 60, top + ROW_PLOT + 40, "0");
        for (uint32_t s = 0; s < t->server_count && s < PICTURE_SERVERS; s++) {
            draw_server(p, row, s);
        }
    }
    int64_t below = row_top(p->policies - 1) + ROW_PLOT + 180;
    text(p, "l", ROWS_LEFT, below, "0");
    text(p, "e", ROWS_LEFT + ROWS_WIDTH, below, text_time(p->end_ms, words));
}

/* ---- all of it ------------------------------------------------------------------- */

static void find_most(struct picture *p)
{
    p->most = 1;
    for (size_t row = 0; row < p->policies; row++) {
        const struct timeline *t = p->report->policies[row].timeline;
        for (size_t i = 0; i < t->count * t->server_count; i++) {
            if (i % t->server_count < PICTURE_SERVERS &&
                t->servers[i].active > p->most) {
                p->most = t->servers[i].active;
            }
        }
    }
}

static void draw_heads(const struct picture *p)
{
    uint32_t servers = p->report->policies[0].timeline->server_count;
    char words[80];

    snprintf(words, sizeof(words), "%s against imbalance: top left is best",
             p->cache ? "Hits" : "Locality");
    text(p, "h", PLOT_LEFT - 460, 240, words);
    snprintf(words, sizeof(words), "Connections on each of %s%" PRIu32 " servers",
             servers > PICTURE_SERVERS ? "16 of " : "", servers);
    text(p, "h", ROWS_LEFT, 240, words);
}

void report_svg(FILE *out, const struct report *report)
{
    struct picture p = {
        .out = out,
        .report = report,
        .policies = report->policy_count < PICTURE_POLICIES ? report->policy_count
                                                            : PICTURE_POLICIES,
        .end_ms = report_arrivals_end_ms(report),
        .cache = report->cache.capacity > 0,
    };

    int64_t rows = (int64_t)p.policies * ROW_HEIGHT;
    p.height = rows < PLOT_LEAST ? PLOT_LEAST : rows > PLOT_MOST ? PLOT_MOST : rows;
    int64_t all = HEAD + FOOT + (rows > p.height ? rows : p.height);
    find_axes(&p);
    find_most(&p);
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRId64
        "\" font-family=\"system-ui, sans-serif\" role=\"img\">\n"
        "<title>locus replay</title>\n<style>\n"
        "text { font-size: 11px; fill: #5d6878 } .h, .n { fill: #1b2330 }\n"
        ".h { font-size: 14px; font-weight: 600 } .n { font-size: 12px }\n"
        ".m { text-anchor: middle } .e { text-anchor: end }\n"
        ".grid { stroke: #dfe3ea } .s { fill: none; stroke-width: 1.3 }\n"
        ".b { fill: #ffffff }\n"
        "@media (prefers-color-scheme: dark) { text { fill: #97a3b4 }\n"
        ".h, .n { fill: #e6eaf0 } .grid { stroke: #2c3543 } .b { fill: #12161d } }\n"
        "</style>\n<rect class=\"b\" width=\"100%%\" height=\"100%%\"/>\n",
        WIDTH / 10, all / 10);
    draw_heads(&p);
    draw_axes(&p);
    draw_points(&p);
    draw_rows(&p);
    draw_phases(&p);
    fputs("</svg>\n", out);
}
