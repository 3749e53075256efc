/* SPDX-License-Identifier: MIT */
#include "fake_server.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void say(int fd, const char *bytes, size_t length)
{
    (void)!send(fd, bytes, length, MSG_NOSIGNAL);
}

static bool readable(const struct fake_server *server, int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    while (!atomic_load(&server->stop)) {
        if (poll(&ready, 1, 20) > 0) {
            return true;
        }
    }
    return false;
}

static void drip(const struct fake_server *server, int fd)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    for (size_t i = 0; !atomic_load(&server->stop); i++) {
        struct pollfd gone = {.fd = fd, .events = 0};
        say(fd, server->bytes + i % server->length, 1);
        nanosleep(&pause, NULL);
        if (poll(&gone, 1, 0) > 0) {
            return;
        }
    }
}

static void converse(struct fake_server *server, int fd)
{
    char sink[65536];

    while (atomic_load(&server->manner) != FAKE_CLOSE && readable(server, fd) &&
           recv(fd, sink, sizeof(sink), 0) > 0) {
        switch (atomic_load(&server->manner)) {
        case FAKE_ANSWER:
            say(fd, server->bytes, server->length);
            break;
        case FAKE_ANSWER_CLOSE:
            say(fd, server->bytes, server->length);
            return;
        case FAKE_DRIP:
            drip(server, fd);
            return;
        case FAKE_SILENT:
            break;
        case FAKE_HANG_UP:
        case FAKE_CLOSE:
        default:
            return;
        }
    }
}

static void *serve(void *arg)
{
    struct fake_server *server = arg;

    while (readable(server, server->listening)) {
        int fd = accept(server->listening, NULL, NULL);
        if (fd >= 0) {
            atomic_fetch_add(&server->connections, 1);
            converse(server, fd);
            close(fd);
        }
    }
    return NULL;
}

void fake_server_start(struct fake_server *server, enum fake_manner manner,
                       const char *bytes, size_t length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memset(server, 0, sizeof(*server));
    atomic_store(&server->manner, manner);
    server->bytes = bytes;
    server->length = length;
    snprintf(server->folder, sizeof(server->folder), "/tmp/locus-fake-XXXXXX");
    if (mkdtemp(server->folder) == NULL) {
        abort();
    }
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", server->folder);
    snprintf(server->uri, sizeof(server->uri), "redis+unix://%s", address.sun_path);
    server->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listening, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(server->listening, 64) != 0 ||
        pthread_create(&server->thread, NULL, serve, server) != 0) {
        abort();
    }
}

void fake_server_stop(struct fake_server *server)
{
    char path[80];

    atomic_store(&server->stop, true);
    pthread_join(server->thread, NULL);
    close(server->listening);
    snprintf(path, sizeof(path), "%s/s", server->folder);
    unlink(path);
    rmdir(server->folder);
}
