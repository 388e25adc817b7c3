#include "emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

/* Words of C11 and C++17, types that the generated header uses, and macros that a header or a GNU
 * compiler defines, that a kernel may well use as a name. */
static const char reserved_words[] =
    " EOF I NULL alignas alignof and and_eq asm assert auto bitand bitor bool break case catch "
    "char char16_t char32_t class compl complex const const_cast constexpr continue decltype "
    "default delete do double dynamic_cast else enum errno explicit export extern false float "
    "for friend goto i386 if imaginary inline int int16_t int32_t int64_t int8_t linux long "
    "mutable namespace new noexcept noreturn not not_eq nullptr offsetof operator or or_eq "
    "private protected public register reinterpret_cast restrict return short signed sizeof "
    "static static_assert static_cast stderr stdin stdout struct switch template this "
    "thread_local throw true try typedef typeid typename typeof uint16_t uint32_t uint64_t "
    "uint8_t union unix unsigned using va_arg va_end va_start virtual void volatile wchar_t "
    "while xor xor_eq ";

static bool is_reserved(const char* name)
{
    return kc_has_word(reserved_words, name);
}

/* Functions of C and POSIX that programs are likely to have declared. The header's type has the
 * prefix for its name, and would be another thing of that name. */
static const char library_functions[] =
    " abort abs accept access acos acosh alarm aligned_alloc asctime asin asinh asprintf atan "
    "atan2 atanh atexit atof atoi atol atoll basename bcmp bcopy bind brk bsearch btowc bzero "
    "cabs cacos calloc carg casin catan cbrt ccos ceil cexp chdir chmod chown cimag clearerr "
    "clock clog close conj connect copysign cos cosh cpow cproj creal creat csin csqrt ctan "
    "ctime daemon difftime dirname div dprintf drand48 dup dup2 environ erf erfc err errx execv "
    "execve execvp exit exp exp10 exp2 expm1 fabs fchmod fclose fcntl fdim fdopen feof ferror "
    "fflush ffs fgetc fgetpos fgets fileno floor fma fmax fmin fmod fopen fork fprintf fputc "
    "fputs fread free freopen frexp fscanf fseek fsetpos fstat fsync ftell ftruncate fwrite "
    "gamma getc getchar getcwd getenv getline getopt getpid gets glob gmtime hcreate hypot ilogb "
    "imaxabs imaxdiv index insque ioctl isalnum isalpha isblank iscntrl isdigit isfinite isgraph "
    "isinf islower isnan isnormal isprint ispunct isspace isupper isxdigit j0 j1 jn kill labs "
    "ldexp ldiv lfind lgamma link listen llabs lldiv llrint llround localeconv localtime lockf "
    "log log10 log1p log2 logb longjmp lrint lround lsearch lseek lstat malloc mblen mbtowc "
    "memchr memcmp memcpy memmove memset mkdir mkfifo mknod mktime mlock mmap modf mount "
    "mprotect munmap nan nanosleep nearbyint nextafter nexttoward nice open optarg optind pause "
    "pclose perror pipe poll popen pow pread printf putc putchar putenv puts pwrite qsort raise "
    "rand random read readlink readv realloc realpath recv regcomp regexec regfree remainder "
    "remove remque remquo rename rewind rindex rint rmdir round sbrk scalbln scalbn scanf select "
    "send setbuf setenv setjmp setlocale setvbuf shutdown sigaction signal signbit significand "
    "sin sincos sinh sleep snprintf socket sprintf sqrt srand srandom sscanf stat strcat strchr "
    "strcmp strcoll strcpy strcspn strdup strerror strftime strlen strncat strncmp strncpy "
    "strndup strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtok strtol strtoll "
    "strtoul strtoull strxfrm swab symlink sync syscall sysconf system tan tanh tdelete telldir "
    "tfind tgamma time times tmpfile tmpnam tolower toupper trunc truncate tsearch twalk umask "
    "uname ungetc unlink unsetenv usleep utime vfork vfprintf vprintf vsnprintf vsprintf wait "
    "wait4 waitpid warn warnx wctob wmemcpy write writev y0 y1 yn ";

static bool is_library_name(const char* name)
{
    if (kc_has_word(library_functions, name))
        return true;
    const size_t size = strlen(name);
    if (size > 2 && strcmp(name + size - 2, "_t") == 0) /* types */
        return true;
    char base[16]; /* sinf, sinl */
    if (size < 3 || size > sizeof base || !strchr("fl", name[size - 1]))
        return false;
    memcpy(base, name, size - 1);
    base[size - 1] = 0;
    return kc_has_word(library_functions, base);
}

bool kc_is_prefix(const char* name)
{
    if (!(isalpha((unsigned char)name[0]) || name[0] == '_') || is_reserved(name) ||
        is_library_name(name))
        return false;
    for (const char* c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    /* kept for the implementation, and for khal itself */
    const bool is_implementations =
        name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
    const bool is_khals = strcmp(name, "khal") == 0 || strncmp(name, "khal_", 5) == 0 ||
                          strncmp(name, "KHAL_", 5) == 0;
    return !is_implementations && !is_khals && strcmp(name, "main") != 0;
}

const char* kc_member_name(kc_module* m, const char* source_name, uint32_t index)
{
    if (!source_name || !source_name[0])
        return kc_format(m->arena, "arg_%u", index);
    const bool is_clash = is_reserved(source_name) || strncmp(source_name, "khal_", 5) == 0;
    return is_clash ? kc_format(m->arena, "%s_", source_name) : source_name;
}

/* What is declared in one scope, to find clashes. */
typedef struct scope {
    kc_module* m;
    const char* what; /* "the argument struct of kernel 'k'" */
    const char** names;
    uint32_t count, capacity;
} scope;

static void declare(scope* s, kc_loc loc, const char* name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0) {
            kc_error(s->m->diags, loc, KC_DIAG_NAME,
                     "%s would have two things named '%s': rename one of them", s->what, name);
            return;
        }
    if (s->count == s->capacity) {
        const uint32_t capacity = s->capacity ? s->capacity * 2 : 32;
        const char** names = KC_NEW_ARRAY(s->m->arena, const char*, capacity);
        if (s->count)
            memcpy(names, s->names, s->count * sizeof *names);
        s->names = names;
        s->capacity = capacity;
    }
    s->names[s->count++] = name;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const char*
scalar_name(const kc_type* t) /* as khal_slice_ and the vector types of kernel.h have it */
{
    if (t->kind == KC_TYPE_VOID)
        return "void";
    if (t->kind == KC_TYPE_FLOAT)
        return t->width == 16 ? "half" : t->width == 32 ? "float" : "double";
    switch (t->width) {
    case 8: return t->is_signed ? "char" : "uchar";
    case 16: return t->is_signed ? "short" : "ushort";
    case 32: return t->is_signed ? "int" : "uint";
    default: return t->is_signed ? "long" : "ulong";
    }
}

static const char* host_scalar(const kc_type* t)
{
    if (t->kind == KC_TYPE_FLOAT)
        return t->width == 16 ? "khal_half" : t->width == 32 ? "float" : "double";
    switch (t->width) {
    case 8: return t->is_signed ? "int8_t" : "uint8_t";
    case 16: return t->is_signed ? "int16_t" : "uint16_t";
    case 32: return t->is_signed ? "int32_t" : "uint32_t";
    default: return t->is_signed ? "int64_t" : "uint64_t";
    }
}

/* A record that the host needs, and how it is laid out there. */
typedef struct host_record {
    const kc_record* record;
    uint64_t align; /* on the host */
    bool is_packed; /* the compiler's own layout would be another one */
} host_record;

typedef struct printer {
    kc_text* out;
    kc_module* m;
    scope globals;
    host_record* records; /* what others need comes first */
    uint32_t record_count;
    const char** slices; /* names of the slice types that were declared */
    uint32_t slice_count;
} printer;

static const host_record* find_record(const printer* p, const kc_record* record)
{
    for (uint32_t i = 0; i < p->record_count; i++)
        if (p->records[i].record == record)
            return &p->records[i];
    return NULL;
}

static uint64_t host_align(const printer* p, const kc_type* t)
{
    if (t->kind == KC_TYPE_ARRAY)
        return host_align(p, t->element);
    if (t->kind == KC_TYPE_STRUCT) {
        const host_record* r = find_record(p, t->record);
        return r ? r->align : 1;
    }
    return t->align ? t->align : 1;
}

static void add_record(printer* p, const kc_type* t)
{
    while (t->kind == KC_TYPE_ARRAY)
        t = t->element;
    if (t->kind != KC_TYPE_STRUCT || find_record(p, t->record))
        return;
    const kc_record* record = t->record;
    for (uint32_t i = 0; i < record->field_count; i++)
        add_record(p, record->fields[i].type);
    host_record r = {.record = record, .align = 1};
    uint64_t end = 0;
    for (uint32_t i = 0; i < record->field_count; i++) {
        const kc_field* field = &record->fields[i];
        if (!field->type->size)
            continue;
        const uint64_t align = host_align(p, field->type);
        const uint64_t offset = record->is_union ? 0 : (end + align - 1) / align * align;
        r.is_packed |= offset != field->offset;
        r.align = align > r.align ? align : r.align;
        end = offset + field->type->size > end ? offset + field->type->size : end;
    }
    r.is_packed |= (end + r.align - 1) / r.align * r.align != record->size;
    if (r.is_packed)
        r.align = 1;
    p->records[p->record_count++] = r;
}

static const char* host_type(const printer* p, const kc_type* t)
{
    if (t->kind == KC_TYPE_VECTOR)
        return kc_format(p->m->arena, "khal_%s%u", scalar_name(t->element), (unsigned)t->count);
    if (t->kind == KC_TYPE_STRUCT)
        return kc_format(p->m->arena, "%s_%s", p->m->name, t->record->name);
    return host_scalar(t);
}

static void put_indent(printer* p, int depth)
{
    for (int i = 0; i < depth; i++)
        kc_put(p->out, "    ");
}

static void put_padding(printer* p, int depth, uint64_t at, uint64_t bytes)
{
    put_indent(p, depth);
    kc_putf(p->out, "uint8_t khal_padding_%" PRIu64 "[%" PRIu64 "];\n", at, bytes);
}

static void put_fields(printer* p, const host_record* r, int depth, scope* members);

static void put_field(printer* p, const kc_field* field, uint32_t index, int depth, scope* members,
                      kc_loc loc)
{
    const kc_type* base = field->type;
    while (base->kind == KC_TYPE_ARRAY)
        base = base->element;
    put_indent(p, depth);
    if (!field->name[0] && field->type->kind == KC_TYPE_STRUCT) {
        const host_record* inner = find_record(p, field->type->record);
        kc_putf(p->out, "KHAL_ANONYMOUS %s {\n", inner->record->is_union ? "union" : "struct");
        put_fields(p, inner, depth + 1, members);
        put_indent(p, depth);
        kc_put(p->out, "};\n");
        return;
    }
    const char* name = kc_member_name(p->m, field->name, index);
    declare(members, loc, name);
    kc_putf(p->out, "%s %s", host_type(p, base), name);
    for (const kc_type* t = field->type; t->kind == KC_TYPE_ARRAY; t = t->element)
        kc_putf(p->out, "[%" PRIu64 "]", t->count);
    kc_put(p->out, ";\n");
}

static void put_fields(printer* p, const host_record* r, int depth, scope* members)
{
    const kc_record* record = r->record;
    uint64_t end = 0;
    for (uint32_t i = 0; i < record->field_count; i++) {
        const kc_field* field = &record->fields[i];
        if (!field->type->size)
            continue; /* neither C nor C++ has objects of no size */
        if (r->is_packed && !record->is_union && field->offset > end)
            put_padding(p, depth, end, field->offset - end);
        put_field(p, field, i, depth, members, record->loc);
        const uint64_t field_end = field->offset + field->type->size;
        end = field_end > end ? field_end : end;
    }
    if (r->is_packed && record->size > end)
        put_padding(p, depth, end, record->is_union ? record->size : record->size - end);
}

/* `base` is the offset of the record in the outermost one, whose layout is asserted. */
static void put_layout_asserts(printer* p, const char* type_name, const host_record* r,
                               uint64_t base)
{
    const kc_record* record = r->record;
    for (uint32_t i = 0; i < record->field_count; i++) {
        const kc_field* field = &record->fields[i];
        if (!field->type->size)
            continue;
        if (!field->name[0] && field->type->kind == KC_TYPE_STRUCT) {
            put_layout_asserts(p, type_name, find_record(p, field->type->record),
                               base + field->offset);
            continue;
        }
        kc_putf(p->out,
                "KHAL_STATIC_ASSERT(offsetof(%s, %s) == %" PRIu64
                ", \"laid out as in the kernel\");\n",
                type_name, kc_member_name(p->m, field->name, i), base + field->offset);
    }
}

/* Records that only occur as a member without a name are printed inside the one that has them. */
static bool is_embedded(const printer* p, const kc_record* record)
{
    bool is_member = false;
    for (uint32_t i = 0; i < p->record_count; i++)
        for (uint32_t f = 0; f < p->records[i].record->field_count; f++) {
            const kc_field* field = &p->records[i].record->fields[f];
            if (field->type->kind != KC_TYPE_STRUCT || field->type->record != record)
                continue;
            if (field->name[0])
                return false;
            is_member = true;
        }
    return is_member;
}

static void put_record(printer* p, const host_record* r)
{
    const kc_record* record = r->record;
    const char* name = kc_format(p->m->arena, "%s_%s", p->m->name, record->name);
    declare(&p->globals, record->loc, name);
    if (record->loc.line)
        kc_putf(p->out, "/* line %u */\n", record->loc.line);
    if (r->is_packed)
        kc_put(p->out, "#pragma pack(push, 1)\n");
    kc_putf(p->out, "typedef %s %s {\n", record->is_union ? "union" : "struct", name);
    scope members = {.m = p->m, .what = kc_format(p->m->arena, "the host's '%s'", name)};
    put_fields(p, r, 1, &members);
    kc_putf(p->out, "} %s;\n", name);
    if (r->is_packed)
        kc_put(p->out, "#pragma pack(pop)\n");
    kc_putf(p->out,
            "KHAL_STATIC_ASSERT(sizeof(%s) == %" PRIu64 ", \"laid out as in the kernel\");\n", name,
            record->size);
    put_layout_asserts(p, name, r, 0);
    kc_put(p->out, "\n");
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* What follows `khal_slice_` in the type of a slice of `element`; khal.h has those of scalars and
 * vectors. */
static const char* slice_suffix(const printer* p, const kc_type* element, bool* out_is_own)
{
    const kc_type* base = element;
    const char* dims = "";
    for (; base->kind == KC_TYPE_ARRAY; base = base->element)
        dims = kc_format(p->m->arena, "%s_%" PRIu64, dims, base->count);
    *out_is_own = base != element || base->kind == KC_TYPE_STRUCT;
    const char* name =
        base->kind == KC_TYPE_STRUCT
            ? kc_format(p->m->arena, "%s_%s", p->m->name, base->record->name)
        : base->kind == KC_TYPE_VECTOR
            ? kc_format(p->m->arena, "%s%u", scalar_name(base->element), (unsigned)base->count)
            : scalar_name(base);
    if (base == element)
        return name;
    return kc_format(p->m->arena, "%s%s_array%s",
                     base->kind == KC_TYPE_STRUCT ? "" : kc_format(p->m->arena, "%s_", p->m->name),
                     name, dims);
}

static void put_slice_type(printer* p, const kc_type* element, kc_loc loc)
{
    bool is_own = false;
    const char* suffix = slice_suffix(p, element, &is_own);
    if (!is_own)
        return;
    for (uint32_t i = 0; i < p->slice_count; i++)
        if (strcmp(p->slices[i], suffix) == 0)
            return;
    p->slices[p->slice_count++] = suffix;
    declare(&p->globals, loc, kc_format(p->m->arena, "khal_slice_%s", suffix));
    kc_putf(p->out, "KHAL_SLICE_TYPE(%s, %" PRIu64 ")\n", suffix, element->size);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const char* access_text(uint32_t access)
{
    return access == KHAL_ACCESS_READ    ? "read"
           : access == KHAL_ACCESS_WRITE ? "written"
                                         : "read and written";
}

static void put_member(printer* p, const kc_var* param, const khal_arg_info* arg, uint32_t index,
                       scope* members)
{
    const char* name = kc_member_name(p->m, param->name, index);
    if (arg->kind == KHAL_ARG_LOCAL) {
        name = kc_format(p->m->arena, "%s_count", name);
        kc_putf(p->out, "    uint64_t %s; /* __local %s: elements for each work-group */\n", name,
                arg->type_name);
    } else if (arg->kind == KHAL_ARG_VALUE) {
        kc_putf(p->out, "    %s %s;\n", host_type(p, param->type), name);
    } else {
        bool is_own = false;
        kc_putf(p->out, "    khal_slice_%s %s; /* %s%s */\n",
                slice_suffix(p, param->type->element, &is_own), name,
                arg->kind == KHAL_ARG_CONSTANT ? "__constant, " : "", access_text(arg->access));
    }
    declare(members, param->loc, name);
}

static void put_kernel(printer* p, const kc_function* f, const khal_kernel_info* kernel)
{
    kc_text* out = p->out;
    const char* lib = p->m->name;
    const char* name = kc_format(p->m->arena, "%s_%s", lib, f->name);
    kc_putf(out, "/* %s, line %u. ", f->name, f->loc.line);
    if (kernel->workgroup_size[0])
        kc_putf(out, "Work-groups of %u x %u x %u", kernel->workgroup_size[0],
                kernel->workgroup_size[1], kernel->workgroup_size[2]);
    else
        kc_put(out, "Work-groups of any size");
    if (kernel->flags & KHAL_KERNEL_HAS_BARRIER)
        kc_put(out, ", with barriers: whole groups run");
    if (kernel->local_memory_size)
        kc_putf(out, "; %u bytes of local memory", kernel->local_memory_size);
    kc_put(out, ". */\n");

    kc_putf(out, "typedef struct %s_args {\n", name);
    scope members = {.m = p->m,
                     .what = kc_format(p->m->arena, "the argument struct of kernel '%s'", f->name)};
    for (uint32_t i = 0; i < f->param_count; i++)
        put_member(p, f->params[i], &kernel->args[i], i, &members);
    if (!f->param_count)
        kc_put(out, "    uint8_t none; /* the kernel takes no arguments */\n");
    kc_putf(out, "} %s_args;\n", name);
    kc_putf(out,
            "khal_status %s(const struct %s* k, khal_pass* pass, khal_grid grid,\n    const struct "
            "%s_args* args);\n",
            name, lib, name);
    kc_putf(out, "khal_function* %s_function(const struct %s* k);\n\n", name, lib);

    declare(&p->globals, f->loc, name);
    declare(&p->globals, f->loc, kc_format(p->m->arena, "%s_args", name));
    declare(&p->globals, f->loc, kc_format(p->m->arena, "%s_function", name));
}

static const char* base_name(const char* path)
{
    const char* slash = strrchr(path, '/');
#ifdef _WIN32
    const char* back = strrchr(path, '\\');
    if (back && (!slash || back > slash))
        slash = back;
#endif
    return slash ? slash + 1 : path;
}

static void put_head(printer* p)
{
    const char* n = p->m->name;
    /* The name of a file may hold what would end the comment. */
    kc_put(p->out, "/* Made by khalc from ");
    for (const char* c = base_name(p->m->source_path ? p->m->source_path : ""); *c; c++)
        kc_putf(p->out, "%c", isalnum((unsigned char)*c) || strchr("._-+", *c) ? *c : '?');
    kc_put(p->out, "; changes are lost when it is made again.\n *\n");
    kc_putf(p->out,
            " *   %s* k;\n"
            " *   %s_load(device, &k);                               // a reference; %s_release(k) "
            "drops it\n"
            " *   %s_KERNEL(k, pass, khal_threads(n, 1, 1), &args);   // records a dispatch in the "
            "pass\n"
            " *   %s_KERNEL_function(k)                               // the kernel as "
            "khal_dispatch_desc takes it\n"
            " *\n"
            " * A launcher returns what khal_pass_dispatch does; its status may be left unread, "
            "for submit repeats it. It may be\n"
            " * called from any thread that may use the pass. A `k` or `args` that is NULL is the "
            "error ARGUMENT_NULL. */\n",
            n, n, n, n, n);
    kc_putf(p->out, "#ifndef KHAL_GENERATED_%s_H\n#define KHAL_GENERATED_%s_H\n\n", n, n);
    kc_put(p->out, "#include <stddef.h>\n#include <stdint.h>\n\n#include <khal/kernel.h>\n#include "
                   "<khal/khal.h>\n\n");
    kc_put(p->out,
           "/* Another kernel's arguments must not compile; older C compilers only warn. */\n"
           "#if defined(__GNUC__) && !defined(__cplusplus)\n"
           "#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"\n"
           "#endif\n\n");
    kc_put(p->out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    kc_putf(p->out,
            "typedef struct %s %s;\n"
            "extern const khal_kernel_library %s_library;\n"
            "/* Loads the module and creates all its kernels. */\n"
            "KHAL_MUST_USE khal_status %s_load_at(const char* file, int line, khal_device* device, "
            "struct %s** out_k);\n"
            "#define %s_load(...) %s_load_at(__FILE__, __LINE__, __VA_ARGS__)\n"
            "/* The same in two steps that never block: poll gives KHAL_NOT_READY until the "
            "launchers can be used. */\n"
            "KHAL_MUST_USE khal_status %s_load_begin(khal_device* device, struct %s** out_k);\n"
            "KHAL_MUST_USE khal_status %s_load_poll(struct %s* k);\n"
            "void %s_retain(struct %s* k);\n"
            "void %s_release(struct %s* k);\n\n",
            n, n, n, n, n, n, n, n, n, n, n, n, n, n, n);
    static const char* const own[] = {"library",   "load",   "load_at", "load_begin",
                                      "load_poll", "retain", "release"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        declare(&p->globals, (kc_loc){0}, kc_format(p->m->arena, "%s_%s", n, own[i]));
}

void kc_emit_header(kc_text* out, kc_module* m, uint32_t kernel_count,
                    const khal_kernel_info* kernels)
{
    printer p = {.out = out, .m = m, .globals = {.m = m, .what = "the generated header"}};
    p.records = KC_NEW_ARRAY(m->arena, host_record, m->record_count + 1);
    uint32_t pointer_count = 0;
    put_head(&p);
    for (const kc_function* f = m->functions; f; f = f->next)
        for (uint32_t i = 0; f->is_kernel && i < f->param_count; i++) {
            const kc_type* t = f->params[i]->type;
            pointer_count += kc_is_pointer(t);
            if (!kc_is_pointer(t) || t->space != KC_SPACE_LOCAL)
                add_record(&p, kc_is_pointer(t) ? t->element : t);
        }
    for (uint32_t i = 0; i < p.record_count; i++)
        if (!is_embedded(&p, p.records[i].record))
            put_record(&p, &p.records[i]);

    p.slices = KC_NEW_ARRAY(m->arena, const char*, pointer_count + 1);
    for (const kc_function* f = m->functions; f; f = f->next)
        for (uint32_t i = 0; f->is_kernel && i < f->param_count; i++) {
            const kc_type* t = f->params[i]->type;
            if (kc_is_pointer(t) && t->space != KC_SPACE_LOCAL)
                put_slice_type(&p, t->element, f->params[i]->loc);
        }
    if (p.slice_count)
        kc_put(out, "\n");

    uint32_t index = 0;
    for (const kc_function* f = m->functions; f && index < kernel_count; f = f->next)
        if (f->is_kernel)
            put_kernel(&p, f, &kernels[index++]);
    kc_put(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
