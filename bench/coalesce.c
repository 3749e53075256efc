/* SPDX-License-Identifier: MIT */
/*
 * picks of a Redis pool, one round trip each against all threads'
 * picks together, interleaved in one run. Besides picks per second it shows what a pick
 * costs in CPU time, of this process and of the redis-server, which is what a busy machine
 * does not blur.
 */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <locus/pool.h>

#include "measure.h"
#include "programs.h"

enum { THREADS_MAX = 256, ROUNDS_MAX = 64, MEMBERS = 16, LATENCIES = 20000 };

struct server {
    pid_t pid;
    char folder[64];
    char uri[128];
};

/* One way of picking; coalesce as in struct locus_pool_config. */
struct design {
    const char *name;
    uint32_t coalesce;
};

static const struct design designs[] = {
    {"one round trip each", 0},
    {"coalesced, 1 at once", 1},
    {"coalesced, 2 at once", 2},
};

enum { DESIGNS = sizeof(designs) / sizeof(designs[0]) };

struct outcome {
    struct samples per_s, commands, own_us, redis_us, p50_us, p99_us, ratio;
};

struct worker {
    pthread_t thread;
    struct locus_pool *pool;
    uint64_t picks;
    size_t sampled;
    float latency_us[LATENCIES];
};

static _Atomic bool stop;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "locus-bench coalesce: %s: %s\n", what, why);
    exit(1);
}

/* ---- the server ------------------------------------------------------------------ */

static void exec_server(const struct server *server)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/s", server->folder);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path, "--dir",
           server->folder, "--save", "", (char *)NULL);
    _exit(127);
}

static void start_server(struct server *server)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    char path[96];

    snprintf(server->folder, sizeof(server->folder), "/tmp/locus-bench-XXXXXX");
    if (mkdtemp(server->folder) == NULL) {
        die("cannot make a folder", server->folder);
    }
    snprintf(server->uri, sizeof(server->uri), "redis+unix://%s/s", server->folder);
    snprintf(path, sizeof(path), "%s/s", server->folder);
    server->pid = fork();
    if (server->pid == 0) {
        exec_server(server);
    }
    for (int tries = 0; access(path, F_OK) != 0; tries++) {
        if (tries == 250) {
            die("redis-server", "did not start; is it installed?");
        }
        nanosleep(&pause, NULL);
    }
}

static void stop_server(struct server *server)
{
    if (server->pid > 0) {
        kill(server->pid, SIGTERM);
        waitpid(server->pid, NULL, 0);
        char path[96];
        snprintf(path, sizeof(path), "%s/s", server->folder);
        unlink(path);
        rmdir(server->folder);
    }
}

static double server_cpu_s(const struct server *server)
{
    char path[64];
    unsigned long long ns = 0;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)server->pid);
    FILE *file = server->pid > 0 ? fopen(path, "r") : NULL;
    if (file != NULL) {
        if (fscanf(file, "%llu", &ns) != 1) {
            ns = 0;
        }
        fclose(file);
    }
    return (double)ns * 1e-9;
}

static double own_cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* ---- one measurement ------------------------------------------------------------- */

static void *work(void *arg)
{
    struct worker *w = arg;
    char member[LOCUS_POOL_MEMBER_SIZE];

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint64_t before_ns = wall_ns();
        int status = locus_pool_pick(w->pool, member);
        if (status != LOCUS_OK) {
            die("pick", locus_strerror(status));
        }
        if (w->sampled < LATENCIES) {
            w->latency_us[w->sampled++] = (float)(wall_ns() - before_ns) * 1e-3f;
        }
        w->picks++;
    }
    return NULL;
}

static int compare_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

static void add_latencies(struct outcome *out, const struct worker *workers,
                          int threads)
{
    float *all = malloc(sizeof(float) * LATENCIES * (size_t)threads);
    size_t count = 0;

    if (all == NULL) {
        die("latencies", "out of memory");
    }
    for (int i = 0; i < threads; i++) {
        memcpy(all + count, workers[i].latency_us, workers[i].sampled * sizeof(float));
        count += workers[i].sampled;
    }
    if (count > 0) {
        qsort(all, count, sizeof(float), compare_float);
        samples_add(&out->p50_us, (double)all[count / 2]);
        samples_add(&out->p99_us, (double)all[count - 1 - count / 100]);
    }
    free(all);
}

static struct locus_pool *open_pool(const struct server *server, int threads,
                                    const struct design *design)
{
    const struct locus_pool_config config = {
        .connections = design->coalesce > 0 ? design->coalesce : (size_t)threads,
        .coalesce = design->coalesce,
    };
    struct locus_pool *pool;
    char why[256];
    char member[LOCUS_POOL_MEMBER_SIZE];

    if (locus_pool_open(server->uri, "locus-bench", &config, &pool, why, sizeof(why)) !=
        LOCUS_OK) {
        die("open", why);
    }
    for (int i = 0; i < MEMBERS; i++) {
        const char *const names[] = {member};
        snprintf(member, sizeof(member), "10.0.0.%d:80", i + 1);
        int status = locus_pool_add(pool, names, 1, LOCUS_POOL_START_MIN, 0, NULL);
        if (status != LOCUS_OK) {
            die("add", locus_strerror(status));
        }
    }
    return pool;
}

/* Picks per second. */
static double measure(const struct server *server, int threads, double seconds,
                      const struct design *design, struct outcome *out)
{
    static struct worker workers[THREADS_MAX];
    struct locus_pool *pool = open_pool(server, threads, design);
    struct locus_pool_stats before, after;
    uint64_t picks = 0;

    locus_pool_get_stats(pool, &before);
    double own_s = own_cpu_s(), redis_s = server_cpu_s(server);
    uint64_t start_ns = wall_ns();
    atomic_store(&stop, false);
    for (int i = 0; i < threads; i++) {
        workers[i].pool = pool;
        workers[i].picks = 0;
        workers[i].sampled = 0;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            die("thread", "cannot be started");
        }
    }
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&stop, true);
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        picks += workers[i].picks;
    }
    double elapsed_s = (double)(wall_ns() - start_ns) * 1e-9;
    own_s = own_cpu_s() - own_s;
    redis_s = server_cpu_s(server) - redis_s;
    locus_pool_get_stats(pool, &after);
    locus_pool_close(pool);

    double n = (double)picks;
    samples_add(&out->per_s, n / elapsed_s);
    samples_add(&out->commands, (double)(after.commands - before.commands) / n);
    samples_add(&out->own_us, own_s * 1e6 / n);
    samples_add(&out->redis_us, redis_s * 1e6 / n);
    add_latencies(out, workers, threads);
    return n / elapsed_s;
}

/* ---- the table ------------------------------------------------------------------- */

static void print_rows(int threads, struct outcome *outcomes)
{
    for (int d = 0; d < DESIGNS; d++) {
        struct outcome *o = &outcomes[d];
        printf("%7d  %-21s %9.0f %7.2f %9.4f %8.1f %8.1f %8.1f %8.1f\n", threads,
               designs[d].name, samples_quantile(&o->per_s, 0.5),
               samples_quantile(&o->ratio, 0.5), samples_quantile(&o->commands, 0.5),
               samples_quantile(&o->own_us, 0.5), samples_quantile(&o->redis_us, 0.5),
               samples_quantile(&o->p50_us, 0.5), samples_quantile(&o->p99_us, 0.5));
    }
}

static void run(const struct server *server, int threads, int rounds, double seconds)
{
    static struct outcome outcomes[DESIGNS];

    memset(outcomes, 0, sizeof(outcomes));
    for (int round = 0; round < rounds; round++) {
        double first = 0;
        for (int d = 0; d < DESIGNS; d++) {
            double per_s = measure(server, threads, seconds, &designs[d], &outcomes[d]);
            first = d == 0 ? per_s : first;
            samples_add(&outcomes[d].ratio, per_s / first);
        }
    }
    print_rows(threads, outcomes);
    fflush(stdout);
}

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: locus-bench coalesce [options] [THREADS...]\n\n"
        "Times picks of a Redis pool, each a round trip of its own or all threads' "
        "together,\n"
        "for 1, 8 and 64 threads, or those given. Starts a redis-server of its own.\n\n"
        "  --uri URI      measure there instead\n"
        "  --rounds N     of all designs, interleaved; medians are shown (7)\n"
        "  --seconds S    per design and round (0.5)\n");
}

int bench_coalesce(int argc, char **argv)
{
    static const struct option table[] = {
        {"uri", required_argument, NULL, 'u'},
        {"rounds", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct server server = {0};
    double seconds = 0.5;
    int rounds = 7;
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 'u':
            snprintf(server.uri, sizeof(server.uri), "%s", optarg);
            break;
        case 'r':
            rounds = atoi(optarg);
            break;
        case 's':
            seconds = atof(optarg);
            break;
        default:
            usage(c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
    }
    if (rounds < 1 || rounds > ROUNDS_MAX || seconds < 0.01 || seconds > 3600) {
        usage(stderr);
        return 2;
    }
    if (server.uri[0] == '\0') {
        start_server(&server);
    }
    print_machine_line();
    printf("%7s  %-21s %9s %7s %9s %8s %8s %8s %8s\n", "threads", "picks", "per s",
           "ratio", "cmds/pick", "own us", "redis us", "p50 us", "p99 us");
    if (optind == argc) {
        run(&server, 1, rounds, seconds);
        run(&server, 8, rounds, seconds);
        run(&server, 64, rounds, seconds);
    }
    for (int i = optind; i < argc; i++) {
        int threads = atoi(argv[i]);
        if (threads < 1 || threads > THREADS_MAX) {
            die(argv[i], "expected 1 to 256 threads");
        }
        run(&server, threads, rounds, seconds);
    }
    stop_server(&server);
    return 0;
}
