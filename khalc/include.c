/* Where <khal/kernel.h> is, for kernels that include it. */
#define _GNU_SOURCE /* realpath */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "clang.h"

/* The path of the running khalc without links in it, to be freed; NULL when it can't be told. */
static char* own_path(kc_arena* arena, const char* program)
{
    char* found = realpath("/proc/self/exe", NULL); /* Linux */
#ifdef __APPLE__
    char path[PATH_MAX];
    uint32_t size = sizeof path;
    if (!found && _NSGetExecutablePath(path, &size) == 0)
        found = realpath(path, NULL);
#endif
    const char* named = !found && program && *program ? kc_find_program(arena, program) : NULL;
    return named ? realpath(named, NULL) : found;
}

static bool has_kernel_header(kc_arena* arena, const char* folder)
{
    struct stat s;
    return stat(kc_format(arena, "%s/khal/kernel.h", folder), &s) == 0 && S_ISREG(s.st_mode);
}

const char* kc_include_folder(kc_arena* arena, const char* program)
{
    char* path = own_path(arena, program);
    const char* folder = NULL;
    for (int i = 0; path && i < 2; i++) { /* PREFIX/bin/khalc */
        char* slash = strrchr(path, '/');
        if (slash)
            *slash = 0;
    }
    if (path)
        folder = kc_format(arena, "%s/include", path);
    free(path);
    if (folder && has_kernel_header(arena, folder))
        return folder;
#ifdef KHALC_SOURCE_INCLUDE /* of a khalc that is not installed */
    if (has_kernel_header(arena, KHALC_SOURCE_INCLUDE))
        return KHALC_SOURCE_INCLUDE;
#endif
    return NULL;
}
