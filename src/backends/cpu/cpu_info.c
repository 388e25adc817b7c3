#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#define CPU_X86 1
#include <cpuid.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#if CPU_X86
#define BIT(n) (1u << (n))

/* Which registers the system saves when it switches threads. */
static uint32_t saved_state(void)
{
    uint32_t low, high;
    __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

khal_cpu_level cpu_machine_level(void)
{
#if CPU_X86
    uint32_t a, b, c, d;
    /* FMA, MOVBE, OSXSAVE, AVX, F16C; SSE3 to POPCNT, which compilers take for granted at this
     * level */
    const uint32_t leaf1 = BIT(0) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) |
                           BIT(23) | BIT(27) | BIT(28) | BIT(29);
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & leaf1) != leaf1) {
        return KHAL_CPU_LEVEL_BASE;
    }
    uint32_t state = saved_state();
    if ((state & 0x6) != 0x6) { /* XMM, YMM */
        return KHAL_CPU_LEVEL_BASE;
    }
    const uint32_t extended = BIT(0) | BIT(5); /* LAHF, LZCNT */
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || (c & extended) != extended) {
        return KHAL_CPU_LEVEL_BASE;
    }
    const uint32_t leaf7_v3 = BIT(3) | BIT(5) | BIT(8); /* BMI1, AVX2, BMI2 */
    const uint32_t leaf7_v4 =
        BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31); /* AVX-512 F, DQ, CD, BW, VL */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & leaf7_v3) != leaf7_v3) {
        return KHAL_CPU_LEVEL_BASE;
    }
    if ((b & leaf7_v4) == leaf7_v4 && (state & 0xe6) == 0xe6) { /* also masks and ZMM */
        return KHAL_CPU_LEVEL_X86_V4;
    }
    return KHAL_CPU_LEVEL_X86_V3;
#else
    return KHAL_CPU_LEVEL_BASE;
#endif
}

const char* cpu_level_name(khal_cpu_level level)
{
    switch (level) {
    case KHAL_CPU_LEVEL_X86_V4: return "AVX-512";
    case KHAL_CPU_LEVEL_X86_V3: return "AVX2";
    case KHAL_CPU_LEVEL_BASE: break;
    }
#if CPU_X86
    return "SSE2";
#elif defined(__aarch64__) || defined(__ARM_NEON)
    return "NEON";
#else
    return "scalar";
#endif
}

bool cpu_chosen_level(khal_cpu_level* out_level)
{
    static const struct {
        const char* name;
        khal_cpu_level level;
    } names[] = {
        {"base", KHAL_CPU_LEVEL_BASE},
        {"v3", KHAL_CPU_LEVEL_X86_V3},
        {"v4", KHAL_CPU_LEVEL_X86_V4},
    };
    khal_cpu_level machine = cpu_machine_level();
    const char* asked = getenv("KHAL_CPU_LEVEL");
    *out_level = machine;
    if (!asked || !*asked) {
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(asked, names[i].name) == 0) {
            *out_level = names[i].level < machine ? names[i].level : machine;
            return true;
        }
    }
    return false;
}

static void trim(char* text)
{
    size_t length = 0;
    for (const char* p = text; *p; p++) {
        bool space = (unsigned char)*p <= ' ';
        if (!space) {
            text[length++] = *p;
        } else if (length && text[length - 1] != ' ') {
            text[length++] = ' ';
        }
    }
    if (length && text[length - 1] == ' ') {
        length--;
    }
    text[length] = '\0';
}

static void processor_name(char* out, size_t capacity)
{
    out[0] = '\0';
#if CPU_X86
    uint32_t r[12];
    if (__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u) {
        for (uint32_t i = 0; i < 3; i++) {
            __get_cpuid(0x80000002u + i, &r[i * 4], &r[i * 4 + 1], &r[i * 4 + 2], &r[i * 4 + 3]);
        }
        size_t size = sizeof r < capacity - 1 ? sizeof r : capacity - 1;
        memcpy(out, r, size);
        out[size] = '\0';
    }
#elif defined(__APPLE__)
    size_t size = capacity - 1;
    if (sysctlbyname("machdep.cpu.brand_string", out, &size, NULL, 0) == 0) {
        out[size < capacity ? size : capacity - 1] = '\0';
    }
#elif defined(__linux__)
    FILE* file = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        char* colon = strchr(line, ':');
        if (colon && (strncmp(line, "model name", 10) == 0 || strncmp(line, "Model", 5) == 0 ||
                      strncmp(line, "uarch", 5) == 0)) {
            snprintf(out, capacity, "%.*s", (int)(capacity - 1), colon + 1);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
#endif
    trim(out);
    if (!out[0]) {
#if CPU_X86
        snprintf(out, capacity, "x86 processor");
#elif defined(__aarch64__) || defined(__arm__)
        snprintf(out, capacity, "Arm processor");
#elif defined(__riscv)
        snprintf(out, capacity, "RISC-V processor");
#else
        snprintf(out, capacity, "processor");
#endif
    }
}

void cpu_fill_info(khal_device_info* out_info, uint32_t thread_count, khal_cpu_level level)
{
    char processor[80];
    processor_name(processor, sizeof processor);
    uint64_t memory = khal__memory_size();
    uint64_t addressable = SIZE_MAX / 2;

    memset(out_info, 0, sizeof *out_info);
    out_info->backend = KHAL_BACKEND_CPU;
    out_info->type = KHAL_DEVICE_TYPE_CPU;
    out_info->available = true;
    snprintf(out_info->name, sizeof out_info->name, "%s, %u thread%s, %s", processor,
             (unsigned)thread_count, thread_count == 1 ? "" : "s", cpu_level_name(level));
    out_info->memory_size = memory;
    out_info->features = KHAL_FEATURE_TIMESTAMPS | KHAL_FEATURE_FP64 | KHAL_FEATURE_INT64 |
                         KHAL_FEATURE_INT64_ATOMICS | KHAL_FEATURE_PRINTF |
                         KHAL_FEATURE_PERSISTENT_MAP | KHAL_FEATURE_HOST_MEMORY |
                         KHAL_FEATURE_NATIVE_ENCODER;
    out_info->formats = 1u << KHAL_FORMAT_CPU;
    out_info->limits = (khal_limits){
        /* Systems that overcommit hand out more than there is and end the process when it is
           touched. */
        .buffer_size = memory && memory < addressable ? memory : addressable,
        .workgroup_size = {CPU_MAX_INVOCATIONS, CPU_MAX_INVOCATIONS, CPU_MAX_INVOCATIONS},
        .workgroup_invocations = CPU_MAX_INVOCATIONS,
        .local_memory_size = CPU_LOCAL_MEMORY_SIZE,
        .push_constant_size = CPU_PUSH_CONSTANT_SIZE,
        .binding_count = CPU_MAX_BINDINGS,
        .group_count = {CPU_MAX_GROUP_COUNT, CPU_MAX_GROUP_COUNT, CPU_MAX_GROUP_COUNT},
        .native_offset_alignment = 1,
    };
}
