/* Lists the devices that khal can open. */
#include <khal/khal.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: khal-info [--json] [--backend NAME]\n"
    "Lists the devices that khal finds, in its order of preference.\n"
    "\n"
    "  --json           one JSON document, for programs\n"
    "  --backend NAME   only this backend: cuda, metal, vulkan, webgpu, cpu or noop\n"
    "  --help           this text\n"
    "  --version        the library's version\n"
    "\n"
    "Exit status: 0 when a device can be opened, 1 when none can, 2 for wrong arguments, 3 for "
    "other errors.\n";

typedef struct named {
    uint32_t value;
    const char* name;
} named;

static const named backends[] = {
    {KHAL_BACKEND_CUDA, "cuda"},     {KHAL_BACKEND_METAL, "metal"}, {KHAL_BACKEND_VULKAN, "vulkan"},
    {KHAL_BACKEND_WEBGPU, "webgpu"}, {KHAL_BACKEND_CPU, "cpu"},     {KHAL_BACKEND_NOOP, "noop"},
};
static const named types[] = {
    {KHAL_DEVICE_TYPE_OTHER, "other"},
    {KHAL_DEVICE_TYPE_DISCRETE, "discrete GPU"},
    {KHAL_DEVICE_TYPE_INTEGRATED, "integrated GPU"},
    {KHAL_DEVICE_TYPE_CPU, "CPU"},
};
static const named features[] = {
    {KHAL_FEATURE_TIMESTAMPS, "timestamps"},
    {KHAL_FEATURE_FP64, "fp64"},
    {KHAL_FEATURE_INT64, "int64"},
    {KHAL_FEATURE_INT64_ATOMICS, "int64_atomics"},
    {KHAL_FEATURE_PRINTF, "printf"},
    {KHAL_FEATURE_PERSISTENT_MAP, "persistent_map"},
    {KHAL_FEATURE_HOST_MEMORY, "host_memory"},
    {KHAL_FEATURE_NATIVE_ENCODER, "native_encoder"},
    {KHAL_FEATURE_SPIRV_PASSTHROUGH, "spirv_passthrough"},
};
static const named formats[] = {
    {1u << KHAL_FORMAT_CPU, "cpu"},     {1u << KHAL_FORMAT_SPIRV, "spirv"},
    {1u << KHAL_FORMAT_WGSL, "wgsl"},   {1u << KHAL_FORMAT_PTX, "ptx"},
    {1u << KHAL_FORMAT_CUBIN, "cubin"}, {1u << KHAL_FORMAT_MSL, "msl"},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char* name_of(const named* list, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].value == value) {
            return list[i].name;
        }
    }
    return "unknown";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_bytes(uint64_t bytes)
{
    static const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < COUNT(units)) {
        value /= 1024.0;
        unit++;
    }
    if (value == (double)(uint64_t)value) {
        printf("%.0f %s", value, bytes == 1 ? "byte" : units[unit]);
    } else {
        printf("%.1f %s", value, units[unit]);
    }
}

static void print_flags(const char* title, const named* list, size_t count, uint32_t flags)
{
    printf("    %-22s", title);
    const char* gap = "";
    for (size_t i = 0; i < count; i++) {
        if (flags & list[i].value) {
            printf("%s%s", gap, list[i].name);
            gap = ", ";
        }
    }
    puts(*gap ? "" : "none");
}

static void print_size(const char* title, uint64_t bytes)
{
    printf("    %-22s", title);
    print_bytes(bytes);
    putchar('\n');
}

static void print_device(uint32_t index, const khal_device_info* info)
{
    const char* backend = name_of(backends, COUNT(backends), (uint32_t)info->backend);
    if (!info->available) {
        printf("%u: %s: not available: %s\n", (unsigned)index, backend, info->reason);
        return;
    }
    const khal_limits* l = &info->limits;
    printf("%u: %s: %s\n", (unsigned)index, backend, info->name);
    printf("    %-22s%s\n", "type", name_of(types, COUNT(types), (uint32_t)info->type));
    if (info->driver[0]) {
        printf("    %-22s%s\n", "driver", info->driver);
    }
    if (info->memory_size) {
        print_size("memory", info->memory_size);
    }
    print_flags("features", features, COUNT(features), info->features);
    print_flags("module formats", formats, COUNT(formats), info->formats);
    print_size("buffer size", l->buffer_size);
    printf("    %-22s%u x %u x %u, %u in all\n", "work-group size", (unsigned)l->workgroup_size[0],
           (unsigned)l->workgroup_size[1], (unsigned)l->workgroup_size[2],
           (unsigned)l->workgroup_invocations);
    printf("    %-22s%" PRIu64 " x %" PRIu64 " x %" PRIu64 "\n", "work-groups", l->group_count[0],
           l->group_count[1], l->group_count[2]);
    print_size("local memory", l->local_memory_size);
    print_size("push constants", l->push_constant_size);
    printf("    %-22s%u\n", "bindings", (unsigned)l->binding_count);
    print_size("native alignment", l->native_offset_alignment);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Length of the well-formed UTF-8 sequence at `s`, 0 where there is none. */
static size_t utf8_length(const unsigned char* s)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t length;
    if (s[0] < 0x80) {
        return 1;
    } else if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        length = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        length = 3;
        low = s[0] == 0xe0 ? 0xa0 : low;
        high = s[0] == 0xed ? 0x9f : high; /* no surrogates */
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        length = 4;
        low = s[0] == 0xf0 ? 0x90 : low;
        high = s[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf) {
            return 0;
        }
    }
    return length;
}

static void json_string(const char* text)
{
    putchar('"');
    for (const unsigned char* s = (const unsigned char*)text; *s;) {
        size_t length = utf8_length(s);
        if (length == 0) {
            fputs("\\ufffd", stdout);
            s++;
        } else if (length > 1) {
            fwrite(s, 1, length, stdout);
            s += length;
        } else {
            if (*s == '"' || *s == '\\') {
                printf("\\%c", *s);
            } else if (*s < 0x20 || *s == 0x7f) {
                printf("\\u%04x", (unsigned)*s);
            } else {
                putchar(*s);
            }
            s++;
        }
    }
    putchar('"');
}

static void json_flags(const char* key, const named* list, size_t count, uint32_t flags)
{
    printf("      \"%s\": [", key);
    const char* gap = "";
    for (size_t i = 0; i < count; i++) {
        if (flags & list[i].value) {
            printf("%s\"%s\"", gap, list[i].name);
            gap = ", ";
        }
    }
    puts("],");
}

static void json_text(const char* key, const char* value)
{
    printf("      \"%s\": ", key);
    json_string(value);
    puts(",");
}

static void json_device(uint32_t index, const khal_device_info* info, bool last)
{
    const khal_limits* l = &info->limits;
    printf("    {\n      \"index\": %u,\n", (unsigned)index);
    json_text("backend", name_of(backends, COUNT(backends), (uint32_t)info->backend));
    printf("      \"available\": %s,\n", info->available ? "true" : "false");
    if (!info->available) {
        fputs("      \"reason\": ", stdout);
        json_string(info->reason);
        printf("\n    }%s\n", last ? "" : ",");
        return;
    }
    json_text("name", info->name);
    json_text("type", name_of(types, COUNT(types), (uint32_t)info->type));
    json_text("driver", info->driver);
    printf("      \"memory_size\": %" PRIu64 ",\n", info->memory_size);
    json_flags("features", features, COUNT(features), info->features);
    json_flags("formats", formats, COUNT(formats), info->formats);
    printf("      \"limits\": {\n        \"buffer_size\": %" PRIu64 ",\n", l->buffer_size);
    printf("        \"workgroup_size\": [%u, %u, %u],\n", (unsigned)l->workgroup_size[0],
           (unsigned)l->workgroup_size[1], (unsigned)l->workgroup_size[2]);
    printf("        \"workgroup_invocations\": %u,\n", (unsigned)l->workgroup_invocations);
    printf("        \"local_memory_size\": %u,\n", (unsigned)l->local_memory_size);
    printf("        \"push_constant_size\": %u,\n", (unsigned)l->push_constant_size);
    printf("        \"binding_count\": %u,\n", (unsigned)l->binding_count);
    printf("        \"group_count\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "],\n", l->group_count[0],
           l->group_count[1], l->group_count[2]);
    printf("        \"native_offset_alignment\": %u\n      }\n    }%s\n",
           (unsigned)l->native_offset_alignment, last ? "" : ",");
}

/* ---------------------------------------------------------------------------------------------- */

int main(int argc, char** argv)
{
    bool json = false;
    uint32_t wanted = KHAL_BACKEND_AUTO;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (strcmp(argv[i], "--version") == 0) {
            uint32_t v = khal_version();
            printf("khal-info %u.%u.%u\n", (unsigned)(v >> 16), (unsigned)(v >> 8 & 0xff),
                   (unsigned)(v & 0xff));
            return 0;
        } else if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            const char* name = argv[++i];
            for (size_t k = 0; k < COUNT(backends); k++) {
                if (strcmp(backends[k].name, name) == 0) {
                    wanted = backends[k].value;
                }
            }
            if (wanted == KHAL_BACKEND_AUTO) {
                fprintf(stderr, "khal-info: there is no backend \"%s\"\n", name);
                return 2;
            }
        } else {
            fprintf(stderr, "khal-info: can't make sense of \"%s\"; try --help\n", argv[i]);
            return 2;
        }
    }

    uint32_t count = 0;
    if (khal_device_enumerate(0, NULL, &count) != KHAL_OK) {
        fprintf(stderr, "khal-info: %s\n", khal_error_get()->message);
        return 3;
    }
    uint32_t capacity = count ? count : 1;
    khal_device_info* infos = calloc(capacity, sizeof *infos);
    if (!infos) {
        fprintf(stderr, "khal-info: out of memory\n");
        return 3;
    }
    if (khal_device_enumerate(capacity, infos, &count) != KHAL_OK) {
        fprintf(stderr, "khal-info: %s\n", khal_error_get()->message);
        free(infos);
        return 3;
    }
    count = count < capacity ? count : capacity;

    uint32_t last = UINT32_MAX;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (wanted == KHAL_BACKEND_AUTO || (uint32_t)infos[i].backend == wanted) {
            last = i;
            any = any || infos[i].available;
        }
    }
    if (json) {
        uint32_t v = khal_version();
        printf("{\n  \"version\": \"%u.%u.%u\",\n  \"devices\": [\n", (unsigned)(v >> 16),
               (unsigned)(v >> 8 & 0xff), (unsigned)(v & 0xff));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (wanted != KHAL_BACKEND_AUTO && (uint32_t)infos[i].backend != wanted) {
            continue;
        }
        if (json) {
            json_device(i, &infos[i], i == last);
        } else {
            print_device(i, &infos[i]);
        }
    }
    if (json) {
        puts("  ]\n}");
    } else if (last == UINT32_MAX) {
        puts("no device of this backend in this build");
    }
    free(infos);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "khal-info: can't write to the standard output\n");
        return 3;
    }
    return any ? 0 : 1;
}
