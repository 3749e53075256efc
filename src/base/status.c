/* SPDX-License-Identifier: MIT */
#include <locus/status.h>

const char *locus_strerror(int status)
{
    switch (status) {
    case LOCUS_OK:
        return "ok";
    case LOCUS_EINVAL:
        return "invalid argument";
    case LOCUS_ENOMEM:
        return "out of memory";
    case LOCUS_EEXIST:
        return "exists already";
    case LOCUS_ENOENT:
        return "not found";
    case LOCUS_ERANGE:
        return "number out of range";
    case LOCUS_ENOSERVER:
        return "no server available";
    case LOCUS_EBUSY:
        return "in use";
    case LOCUS_EFULL:
        return "full";
    case LOCUS_ETIMEDOUT:
        return "deadline passed";
    case LOCUS_ECLOSED:
        return "shut down";
    case LOCUS_EIO:
        return "input or output failed";
    case LOCUS_EAMBIGUOUS:
        return "sent but unanswered: done or not is unknown";
    case LOCUS_EFORMAT:
        return "not of the expected form";
    case LOCUS_EREFUSED:
        return "refused by a rule";
    case LOCUS_ENOTSUP:
        return "not supported";
    default:
        return "unknown status";
    }
}
