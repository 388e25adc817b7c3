/* Entry points of a cubin, from its symbols, and what its section .nv.info.NAME says of one: sizes of parameters and the
 * work-group size. */
#include "cubin.h"

#include "reflect.h"

enum {
    CLASS_64 = 2,
    LITTLE_ENDIAN_DATA = 1,
    HEADER_SIZE = 64,
    SECTION_SIZE = 64,
    SYMBOL_SIZE = 24,
    SECTION_SYMBOLS = 2,   /* SHT_SYMTAB */
    SECTION_NO_BYTES = 8,  /* SHT_NOBITS */
    SYMBOL_FUNCTION = 2,   /* STT_FUNC */
    SYMBOL_ENTRY = 0x10,   /* in st_other: a kernel */
    INFO_SIZED = 4,        /* attributes that a size and so many bytes follow; the others have two bytes */
    INFO_WORKGROUP = 0x10, /* three words */
    INFO_PARAMETER = 0x17, /* index, ordinal and offset, then bits: the upper 14 are the size */
    MOST_PARAMETERS = 8192,
    LONGEST_NAME = 2047,
};

typedef struct bytes {
    const unsigned char* at;
    size_t size;
} bytes;

static uint16_t u16(const unsigned char* p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static uint32_t u32(const unsigned char* p)
{
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}
static uint64_t u64(const unsigned char* p)
{
    return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

/* `size` bytes at `offset`; none where they are not all inside. */
static bytes part(bytes whole, uint64_t offset, uint64_t size)
{
    const bytes none = {whole.at, 0};
    return offset <= whole.size && size <= whole.size - offset
               ? (bytes){whole.at + (size_t)offset, (size_t)size}
               : none;
}

/* The string at `offset` of a table; NULL: it has no end. */
static const char* string_at(bytes table, uint32_t offset)
{
    if (offset >= table.size || memchr(table.at + offset, 0, table.size - offset) == NULL)
        return NULL;
    return (const char*)table.at + offset;
}

/* The section headers; none of what is no 64-bit ELF file. */
static bytes section_headers(bytes file)
{
    const bytes none = {file.at, 0};
    if (file.size < HEADER_SIZE || memcmp(file.at, "\x7f" "ELF", 4) != 0 || file.at[4] != CLASS_64 ||
        file.at[5] != LITTLE_ENDIAN_DATA || u16(file.at + 58) != SECTION_SIZE)
        return none;
    return part(file, u64(file.at + 40), (uint64_t)u16(file.at + 60) * SECTION_SIZE);
}

static bytes section(bytes file, bytes headers, uint32_t index)
{
    const bytes none = {file.at, 0};
    if (index >= headers.size / SECTION_SIZE)
        return none;
    const unsigned char* header = headers.at + (size_t)index * SECTION_SIZE;
    return u32(header + 4) == SECTION_NO_BYTES ? none : part(file, u64(header + 24), u64(header + 32));
}

bool khal__cubin_visit(const void* code, size_t size, const khal__foreign_visitor* visitor)
{
    static const uint32_t open[3] = {0, 0, 0};
    const bytes file = {code, size};
    const bytes headers = section_headers(file);
    for (uint32_t i = 0; i < headers.size / SECTION_SIZE; ++i) {
        const unsigned char* header = headers.at + (size_t)i * SECTION_SIZE;
        if (u32(header + 4) != SECTION_SYMBOLS)
            continue;
        const bytes symbols = section(file, headers, i);
        const bytes names = section(file, headers, u32(header + 40));
        for (size_t at = 0; at + SYMBOL_SIZE <= symbols.size; at += SYMBOL_SIZE) {
            const unsigned char* symbol = symbols.at + at;
            const char* name = string_at(names, u32(symbol));
            if ((symbol[4] & 0xf) == SYMBOL_FUNCTION && (symbol[5] & SYMBOL_ENTRY) != 0 && name != NULL &&
                *name != 0 && strlen(name) <= LONGEST_NAME && !visitor->entry(visitor->user, name, strlen(name), open))
                return false;
        }
        break; /* there is one table of symbols */
    }
    return true;
}

/* The section .nv.info.NAME. */
static bytes find_info(bytes file, const char* entry_point)
{
    static const char prefix[] = ".nv.info.";
    const bytes headers = section_headers(file);
    const bytes names = headers.size > 0 ? section(file, headers, u16(file.at + 62)) : headers;
    for (uint32_t i = 0; i < headers.size / SECTION_SIZE; ++i) {
        const char* name = string_at(names, u32(headers.at + (size_t)i * SECTION_SIZE));
        if (name != NULL && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
            strcmp(name + sizeof prefix - 1, entry_point) == 0)
            return section(file, headers, i);
    }
    return (bytes){file.at, 0};
}

/* Goes over the attributes. `parameters` has room for `count`, which is one more than the largest ordinal; NULL: it is only
 * counted. False: the section is broken. */
static bool read_info(bytes info, khal__parameter* parameters, uint32_t* count, uint32_t workgroup_size[3])
{
    uint32_t seen = 0;
    for (size_t at = 0; info.size - at >= 4;) {
        const unsigned char* attribute = info.at + at;
        const uint32_t size = attribute[0] == INFO_SIZED ? u16(attribute + 2) : 0;
        if (size > info.size - at - 4)
            return false;
        const unsigned char* value = attribute + 4;
        if (attribute[1] == INFO_WORKGROUP && size == 12 && u32(value) > 0 && u32(value + 4) > 0 && u32(value + 8) > 0) {
            for (int i = 0; i < 3; ++i)
                workgroup_size[i] = u32(value + 4 * i);
        } else if (attribute[1] == INFO_PARAMETER && size == 12) {
            const uint32_t ordinal = u16(value + 4), offset = u16(value + 6), length = u32(value + 8) >> 18;
            if (ordinal >= MOST_PARAMETERS || length == 0)
                return false;
            /* The alignment is not told: the largest that size and place allow. */
            const uint32_t bits = offset | length | 16;
            if (parameters != NULL)
                parameters[ordinal] = (khal__parameter){.size = length, .align = bits & (~bits + 1)};
            else if (ordinal >= *count)
                *count = ordinal + 1;
            ++seen;
        }
        at += 4 + size;
    }
    return seen >= *count;
}

khal_status khal__reflect_cubin(khal_device* device, const void* code, size_t size, const char* entry_point,
                                khal__reflection* out)
{
    const bytes file = {code, size};
    const bytes info = find_info(file, entry_point);
    uint32_t count = 0;
    out->problem = "a cubin does not tell which parameters are buffers";
    if (info.size == 0 || !read_info(info, NULL, &count, out->workgroup_size))
        return KHAL_OK;
    if (count > 0) {
        out->parameters = khal__alloc_zeroed(device, count * sizeof *out->parameters, 16);
        if (out->parameters == NULL)
            return KHAL_OUT_OF_MEMORY;
        out->parameter_count = count;
        read_info(info, out->parameters, &count, out->workgroup_size);
        for (uint32_t i = 0; i < count; ++i)
            if (out->parameters[i].size == 0) /* one was told twice, another never */
                return KHAL_OK;
    } else {
        out->problem = NULL;
    }
    out->has_parameters = true;
    return KHAL_OK;
}
