/* printf of kernels: formatted here, handed on in one piece. */
#ifndef KHAL_CPU_PRINT_H
#define KHAL_CPU_PRINT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct khal_print_arg {
    char kind;                  /* 'i', 'u', 'f' (in u, or in data for vectors); 'p' */
    unsigned char lanes, width; /* width: bytes of a lane in data */
    const void* data;
    union {
        long long i;
        unsigned long long u;
        double f;
        const void* p;
    } u;
} khal_print_arg;

typedef struct khal_print_text {
    char* data;
    size_t size, capacity;
    char first[512];
} khal_print_text;

KHAL_C_FUNCTION void khal_print_put(khal_print_text* t, const char* s, size_t n)
{
    if (t->size + n + 1 > t->capacity) {
        const size_t capacity = (t->size + n + 1) * 2;
        char* data = malloc(capacity);
        if (!data)
            return; /* the text is cut short */
        memcpy(data, t->data, t->size);
        if (t->data != t->first)
            free(t->data);
        t->data = data;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, s, n);
    t->size += n;
}

/* One lane as the conversion wants it. */
KHAL_C_FUNCTION khal_print_arg khal_print_lane(const khal_print_arg* a, unsigned lane)
{
    khal_print_arg r = *a;
    if (!a->data)
        return r;
    const char* p = (const char*)a->data + (size_t)lane * a->width;
    r.data = NULL;
    r.lanes = 1;
    if (a->kind == 'f') {
        float f = 0;
        double d = 0;
        if (a->width == 4)
            memcpy(&f, p, 4);
        else
            memcpy(&d, p, 8);
        r.u.f = a->width == 4 ? (double)f : d;
        return r;
    }
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    switch (a->width) {
    case 1:
        memcpy(&i8, p, 1);
        r.u.i = a->kind == 'u' ? (uint8_t)i8 : i8;
        break;
    case 2:
        memcpy(&i16, p, 2);
        r.u.i = a->kind == 'u' ? (uint16_t)i16 : i16;
        break;
    case 4:
        memcpy(&i32, p, 4);
        r.u.i = a->kind == 'u' ? (long long)(uint32_t)i32 : i32;
        break;
    default:
        memcpy(&i64, p, 8);
        r.u.i = i64;
        break;
    }
    return r;
}

KHAL_C_FUNCTION long long khal_print_integer(const khal_print_arg* a)
{
    if (a->kind == 'f')
        return a->u.f > -9.2e18 && a->u.f < 9.2e18 ? (long long)a->u.f : 0;
    return a->kind == 'p' ? (long long)(intptr_t)a->u.p : a->u.i;
}

/* `spec` is "%", flags, width, precision, without length; `bytes` the lane's size as the length
 * says, 0: the argument's own. */
KHAL_C_FUNCTION void khal_print_one(khal_print_text* t, const char* spec, char conversion,
                                      unsigned bytes, const khal_print_arg* a)
{
    char format[64], out[512];
    const size_t n = strlen(spec);
    int size = 0;
    if (n > sizeof format - 8)
        return;
    memcpy(format, spec, n);
    if (strchr("diouxX", conversion)) {
        long long v = khal_print_integer(a);
        const bool is_signed = conversion == 'd' || conversion == 'i';
        if (bytes == 0)
            bytes = a->width ? a->width : 4;
        if (bytes == 1)
            v = is_signed ? (long long)(int8_t)v : (long long)(uint8_t)v;
        else if (bytes == 2)
            v = is_signed ? (long long)(int16_t)v : (long long)(uint16_t)v;
        else if (bytes == 4)
            v = is_signed ? (long long)(int32_t)v : (long long)(uint32_t)v;
        format[n] = 'l';
        format[n + 1] = 'l';
        format[n + 2] = conversion;
        format[n + 3] = 0;
        size = snprintf(out, sizeof out, format, v);
    } else if (conversion == 'c') {
        format[n] = 'c';
        format[n + 1] = 0;
        size = snprintf(out, sizeof out, format, (int)khal_print_integer(a));
    } else if (conversion == 'p') {
        format[n] = 'p';
        format[n + 1] = 0;
        size = snprintf(out, sizeof out, format,
                        a->kind == 'p' ? a->u.p : (const void*)(intptr_t)khal_print_integer(a));
    } else if (conversion == 's') {
        const char* s = a->kind == 'p' && a->u.p ? a->u.p : "(null)";
        khal_print_put(t, s, strlen(s));
        return;
    } else {
        format[n] = conversion;
        format[n + 1] = 0;
        const double v = a->kind == 'f'   ? a->u.f
                         : a->kind == 'u' ? (double)a->u.u
                                          : (double)khal_print_integer(a);
        size = snprintf(out, sizeof out, format, v);
    }
    if (size > 0)
        khal_print_put(t, out, (size_t)size < sizeof out ? (size_t)size : sizeof out - 1);
}

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#endif

KHAL_C_FUNCTION void khal_print(const khal_cpu_launch* launch, const char* format, size_t size,
                                  const khal_print_arg* args, unsigned count)
{
    khal_print_text t;
    t.data = t.first;
    t.size = 0;
    t.capacity = sizeof t.first;
    unsigned next = 0;
    const char *p = format, *end = format + size;
    while (p < end) {
        const char* percent = memchr(p, '%', (size_t)(end - p));
        khal_print_put(&t, p, (size_t)((percent ? percent : end) - p));
        if (!percent)
            break;
        p = percent + 1;
        if (p < end && *p == '%') {
            khal_print_put(&t, "%", 1);
            p++;
            continue;
        }
        char spec[40] = "%";
        size_t n = 1;
        int number = 0;
        for (; p < end && strchr("-+ #0123456789.", *p) && *p; p++) {
            number = *p >= '0' && *p <= '9' ? number * 10 + (*p - '0') : 0;
            if (n < sizeof spec - 1 && number <= 400) /* wider would not fit below */
                spec[n++] = *p;
        }
        spec[n] = 0;
        unsigned lanes = 1, bytes = 0;
        if (p < end && *p == 'v') {
            lanes = 0;
            for (p++; p < end && *p >= '0' && *p <= '9' && lanes < 100; p++)
                lanes = lanes * 10 + (unsigned)(*p - '0');
        }
        const bool is_vector = lanes != 1;
        if (p + 1 < end && p[0] == 'h' && p[1] == 'h') {
            bytes = 1;
            p += 2;
        } else if (p + 1 < end && p[0] == 'h' && p[1] == 'l') {
            bytes = 4;
            p += 2;
        } else if (p < end && *p == 'h') {
            bytes = 2;
            p++;
        } else if (p < end && *p == 'l') {
            bytes = 8;
            p++;
        }
        if (p >= end)
            break;
        const char conversion = *p++;
        if (!conversion || !strchr("diouxXfFeEgGaAcsp", conversion) || next >= count)
            continue;
        const khal_print_arg* a = &args[next++];
        const unsigned have = is_vector && a->data ? a->lanes : 1;
        for (unsigned i = 0; i < have; i++) {
            const khal_print_arg lane = khal_print_lane(a, i);
            if (i)
                khal_print_put(&t, ",", 1);
            khal_print_one(&t, spec, conversion, bytes, &lane);
        }
    }
    t.data[t.size] = 0;
    if (launch->print)
        launch->print(launch->print_user, t.data, t.size);
    if (t.data != t.first)
        free(t.data);
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
