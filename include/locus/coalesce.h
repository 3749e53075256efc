/* SPDX-License-Identifier: MIT */
/*
 * locus/coalesce.h - one fetch for many callers.
 *
 * WHAT IT IS. Threads ask for one key each and block. The coalescer gathers the waiting keys
 * into batches, hands each batch to your function in one call, and wakes every caller
 * with its own answer or its own error. A thousand single reads become a few round trips,
 * and the callers stay as they were.
 *
 *     struct locus_coalescer_config config = {.batch = fetch, .free_value = free_row};
 *     locus_coalescer_create(&config, &c);
 *     status = locus_coalescer_get(c, key, key_length, timeout_ns, &result);   any thread
 *     if (status == LOCUS_OK) { use(locus_result_value(result)); }
 *     locus_result_release(result);
 *     locus_coalescer_destroy(c);
 *
 * WHO RUNS A BATCH. At most `concurrency` batches run at once. A caller that finds a
 * place free runs a batch itself, its own key in it; when a batch ends, one of the
 * callers waiting for the next is woken to run that. So at light load a call costs one
 * call of your function and no switch of threads, and under load no thread is woken that
 * would not have to wake anyway. But a thread inside your function cannot leave at its
 * deadline. Therefore only *patient* callers run batches: those that wait for ever, and
 * those whose deadline is at least `batch_bound_ns` away. By setting that number you promise
 * that a batch ends within that time. The batches of impatient callers run on `concurrency`
 * threads of the coalescer, which otherwise sleep. Their callers leave when their
 * deadlines pass, whatever the batch does. With `workers_only`, every batch runs there.
 *
 * SHARING. Callers of equal keys that are still queued share one place in a batch and
 * one in the queue, and get the same result. A call never joins a batch already sent, unless
 * you ask for it (LOCUS_SHARE_INFLIGHT), since the answer could be older than the
 * question. LOCUS_SHARE_NONE is for calls that need an answer each, such as picks.
 *
 * DEADLINES. A caller that gives up harms no other. A key that nobody waits for any more
 * leaves the queue and is not fetched; an answer that nobody waits for is freed.
 *
 * THREADS. Any number of threads may use a coalescer. Your functions (batch,
 * free_value, the allocator's) may be called by several threads at once, callers or the
 * coalescer's own; no lock is held meanwhile. They must not call the coalescer they
 * belong to. A call is no cancellation point.
 *
 * FORK. A coalescer belongs to the process that made it. In a child every call returns
 * LOCUS_ECLOSED, and destroy does nothing (its memory stays allocated). Make a new
 * one there.
 *
 * ERRORS. See status.h. A caller gets the very status that its own key got, any negative
 * number that your function chose included.
 *
 * Linux only: waiting is done with futexes, one wake-up call per batch.
 */
#ifndef LOCUS_COALESCE_H
#define LOCUS_COALESCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct locus_coalescer;
struct locus_result; /* one answer; shared by the callers that asked for it together */

/* ---- the batch function ---------------------------------------------------------- */

/* The status that items start with. If it is still there at the end, or any other positive
 * number is, the callers get LOCUS_EFORMAT, and a value is freed. */
#define LOCUS_UNANSWERED 1

struct locus_batch_item {
    const void *key;   /* borrowed until the function returns */
    size_t key_length; /* bytes */
    int status;        /* out: LOCUS_OK, or a negative status for this key alone */
    void *value;       /* out, with LOCUS_OK: the answer to this key alone, or NULL. The
                          result owns it from then on. With another status it is freed. */
};

struct locus_batch {
    struct locus_batch_item *items;
    size_t count;  /* 1..max_batch; with sharing, all keys differ */
    uint32_t slot; /* 0..concurrency-1; no other running batch has the same: the index
                             of a connection, say */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC: when the last of the callers who were
                             waiting at the start gives up. UINT64_MAX: one never does */
};

/*
 * Answers all items of a batch. Returns LOCUS_OK, or a negative status: every item that was
 * left unanswered then gets it, and items answered before keep their answers. A positive
 * return counts as LOCUS_EFORMAT.
 */
typedef int locus_batch_fn(void *ctx, struct locus_batch *batch);

/* Frees the value of a result; never NULL. Called on the thread that releases it last. */
typedef void locus_value_free_fn(void *ctx, void *value);

/*
 * Inside a batch function: is anybody still waiting for this item? A long batch asks
 * before each step, and ends early when nobody is.
 */
LOCUS_API bool locus_batch_wanted(const struct locus_batch *batch, size_t index);

/* ---- life ------------------------------------------------------------------------ */

enum locus_share {
    LOCUS_SHARE_QUEUED,   /* equal keys share while queued */
    LOCUS_SHARE_INFLIGHT, /* ... and while their batch runs */
    LOCUS_SHARE_NONE,     /* every call is its own */
};

#define LOCUS_BATCH_MAX 65536
#define LOCUS_CONCURRENCY_MAX 1024
#define LOCUS_KEY_MAX 65535

/* Zero-initialise; zero or NULL means the default. */
struct locus_coalescer_config {
    locus_batch_fn *batch;           /* required */
    locus_value_free_fn *free_value; /* NULL: values need no freeing */
    void *ctx;            /* for both; must outlive the coalescer and its results */
    uint32_t concurrency; /* batches at once, 1..LOCUS_CONCURRENCY_MAX; 1 */
    uint32_t max_batch;   /* keys in a batch, 1..LOCUS_BATCH_MAX; 64. Never exceeded */
    uint64_t linger_ns;   /* how long a batch that is not full waits for more; 0 */
    uint32_t queue_capacity; /* keys waiting for a batch to start; 65,536 */
    enum locus_share share;  /* LOCUS_SHARE_QUEUED */
    uint64_t batch_bound_ns; /* the promise of WHO RUNS A BATCH; 0: none is made */
    bool workers_only;       /* no batch on a caller's thread */
    const struct locus_allocator *allocator; /* copied; NULL: malloc and free. Called by
                                                 many threads */
};

/*
 * Makes a coalescer and its threads (which block all signals). EINVAL: no batch function;
 * ERANGE: a number outside its range; ENOMEM: memory or threads.
 */
LOCUS_API int locus_coalescer_create(const struct locus_coalescer_config *config,
                                     struct locus_coalescer **out) LOCUS_NODISCARD;

enum locus_shutdown {
    LOCUS_DRAIN,  /* queued and running calls are served; new ones are refused */
    LOCUS_REFUSE, /* all waiting callers leave at once with ECLOSED. A caller that runs a
                     batch leaves with its answer when the batch function returns */
};

/*
 * Closes the coalescer: later calls get LOCUS_ECLOSED. Returns at once. A drain that takes
 * too long may be followed by a refusal; a drain after a refusal changes nothing.
 */
LOCUS_API void locus_coalescer_shutdown(struct locus_coalescer *c,
                                        enum locus_shutdown how);

/*
 * Waits until all callers have left and all batches have ended, then frees everything. The
 * waiting callers are refused, unless the coalescer was told to drain. No call may begin
 * after it. NULL is fine.
 */
LOCUS_API void locus_coalescer_destroy(struct locus_coalescer *c);

/* ---- calls ----------------------------------------------------------------------- */

/*
 * Asks for a key (copied; any bytes, length 0 included) and blocks until it is answered, or
 * for timeout_ns; 0 or less waits for ever. On LOCUS_OK the caller must release *out once;
 * otherwise it is NULL. Returns the key's own status, or
 * EINVAL     no key, or one longer than LOCUS_KEY_MAX
 * ENOMEM     no memory for the call; nothing was sent
 * EFULL      queue_capacity keys are waiting already
 * ETIMEDOUT  not answered in time
 * ECLOSED    shut down, before or meanwhile; or in a child of fork()
 * EFORMAT    the batch function left the key unanswered, or answered nonsense
 */
LOCUS_API int locus_coalescer_get(struct locus_coalescer *c, const void *key,
                                  size_t key_length, int64_t timeout_ns,
                                  struct locus_result **out) LOCUS_NODISCARD;

/* The value that the batch function gave; borrowed until the release. Others may be reading
 * it, so it must not be changed. */
LOCUS_API const void *locus_result_value(const struct locus_result *result);

/* Once per successful call, on any thread, even after the coalescer's destroy. NULL is
 * fine. */
LOCUS_API void locus_result_release(struct locus_result *result);

/* ---- figures --------------------------------------------------------------------- */

/* A distribution: percentiles are upper bounds, at most 1/8 too high; max is exact. */
struct locus_distribution {
    uint64_t count, sum, p50, p90, p99, max;
};

/* Since the creation. For the rates of an interval, take two and subtract. */
struct locus_coalescer_figures {
    uint64_t age_ns;     /* since the creation; the rates are over this time */
    uint64_t calls;      /* all, refused ones too; of them: */
    uint64_t answered;   /* LOCUS_OK */
    uint64_t failed;     /* their key's own error */
    uint64_t timeouts;   /* ETIMEDOUT */
    uint64_t queue_full; /* EFULL */
    uint64_t closed;     /* ECLOSED */
    uint64_t no_memory;  /* ENOMEM */
    uint64_t shared;     /* calls that joined an equal key */

    uint64_t batches;        /* ended */
    uint64_t batches_failed; /* ... that returned an error */
    uint64_t batches_led;    /* ... that a caller ran */
    uint64_t keys;           /* fetched by them */
    uint64_t unanswered; /* keys that came back without an answer or with nonsense */
    uint64_t late;       /* keys answered when nobody waited any more */
    uint64_t abandoned;  /* keys that left the queue because nobody waited any more */

    uint64_t calls_per_s, batches_per_s; /* over age_ns */

    uint32_t queued, queued_max;   /* keys waiting for a batch to start, now and ever */
    uint32_t running, running_max; /* batches */
    uint32_t inflight;             /* keys in them */

    struct locus_distribution call_ns;    /* of calls answered, failed or timed out */
    struct locus_distribution batch_ns;   /* inside the batch function */
    struct locus_distribution batch_size; /* keys */
};

/* Calls that are going on may be counted in some of the figures and not yet in others. */
LOCUS_API void locus_coalescer_get_figures(struct locus_coalescer *c,
                                           struct locus_coalescer_figures *out);

/* Takes text; returning anything but 0 stops the writing. */
typedef int locus_text_fn(void *ctx, const char *text, size_t length);

/*
 * Writes the figures in Prometheus' text format, with the label coalescer="name" (name is
 * escaped; borrowed for the call): about 90 series. LOCUS_EIO when write said stop.
 */
LOCUS_API int locus_coalescer_write_metrics(struct locus_coalescer *c, const char *name,
                                            locus_text_fn *write,
                                            void *ctx) LOCUS_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
