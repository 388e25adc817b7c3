#include "core.h"

khal_status khal_encoder_create_at(const char* file, int line, khal_device* device,
                                   const khal_encoder_desc* desc, khal_encoder** out_encoder)
{
    if (device == NULL || out_encoder == NULL)
        return khal__fail_null(device, NULL, device == NULL ? "device" : "out_encoder");
    const char* label = desc != NULL ? desc->label : NULL;
    if (khal__is_lost(device))
        return khal__fail_lost(device);
    khal__mutex_lock(&device->pool_lock);
    khal_encoder* encoder = device->free_encoders;
    if (encoder != NULL)
        device->free_encoders = encoder->next_free;
    khal__mutex_unlock(&device->pool_lock);
    if (encoder == NULL) {
        encoder = khal__alloc(device, sizeof *encoder, 16);
        if (encoder == NULL)
            return khal__fail_memory(device, label, "the encoder", sizeof *encoder);
    }
    memset(encoder, 0, offsetof(khal_encoder, error));
    encoder->pass.encoder = encoder;
    khal__object_init(device, &encoder->object, KHAL__KIND_ENCODER, label, file, line);
    *out_encoder = encoder;
    return KHAL_OK;
}

void khal__encoder_empty(khal_encoder* encoder)
{
    khal__recording_release(encoder->recording);
    encoder->recording = NULL;
    encoder->sticky = KHAL_OK;
    encoder->pass.open = false;
    encoder->pass_count = 0;
}

void khal__encoder_destroy(khal_encoder* encoder)
{
    khal_device* device = encoder->object.device;
    khal__object_unlist(&encoder->object);
    khal__encoder_empty(encoder);
    khal__mutex_lock(&device->pool_lock);
    encoder->next_free = device->free_encoders;
    device->free_encoders = encoder;
    khal__mutex_unlock(&device->pool_lock);
}

void khal_encoder_release(khal_encoder* encoder)
{
    khal__object_release((khal__object*)encoder);
}

void khal_encoder_reset(khal_encoder* encoder)
{
    if (encoder != NULL)
        khal__encoder_empty(encoder);
}

khal_status khal__encoder_stick(khal_encoder* encoder, khal_status status)
{
    if (encoder->sticky == KHAL_OK && status != KHAL_OK) {
        encoder->sticky = status;
        encoder->error = *khal_error_get();
    }
    return status;
}

static khal_status need_recording(khal_encoder* encoder)
{
    if (encoder->recording == NULL) {
        encoder->recording = khal__recording_acquire(encoder->object.device);
        if (encoder->recording == NULL)
            return khal__encoder_stick(
                encoder, khal__fail_memory(encoder->object.device, encoder->object.label,
                                           "a recording", sizeof(khal__recording)));
    }
    return KHAL_OK;
}

khal_status khal__encoder_ready(khal_encoder* encoder, const char* what)
{
    khal_device* device = encoder->object.device;
    if (encoder->sticky != KHAL_OK)
        return encoder->sticky;
    if (khal__is_lost(device))
        return khal__encoder_stick(encoder, khal__fail_lost(device));
    if (encoder->pass.open)
        return khal__encoder_stick(
            encoder, khal__fail(device, KHAL_ERROR_ENCODER_STATE, 0, encoder->object.label,
                                "%s while a pass is open; end the pass first", what));
    return need_recording(encoder);
}

khal_status khal__encoder_end(khal_encoder* encoder, const char* what)
{
    khal_status status;
    if (encoder->sticky != KHAL_OK)
        status = khal__error_again(&encoder->error);
    else if (encoder->pass.open)
        return khal__fail(encoder->object.device, KHAL_ERROR_ENCODER_STATE, 0,
                          encoder->object.label, "%s while a pass is open; end the pass first",
                          what);
    else
        status = khal__encoder_ready(encoder, what);
    if (status != KHAL_OK)
        khal__encoder_empty(encoder);
    return status;
}

/* ---- passes ------------------------------------------------------------------------------------
 */

static khal_status begin(khal_encoder* encoder, const khal_pass_desc* desc)
{
    static const khal_pass_desc defaults;
    khal_device* device = encoder->object.device;
    khal_pass* pass = &encoder->pass;
    if (desc == NULL)
        desc = &defaults;
    khal_timestamps* timestamps = desc->timestamps;
    if (timestamps != NULL) {
        if (timestamps->object.device != device)
            return khal__fail(device, KHAL_ERROR_WRONG_DEVICE, 0, timestamps->object.label,
                              "the timestamps belong to another device");
        khal__mutex_lock(&device->track_lock);
        const bool is_busy = timestamps->requested;
        khal__mutex_unlock(&device->track_lock);
        if (is_busy)
            return khal__fail(device, KHAL_ERROR_TIMESTAMPS_BUSY, 0, timestamps->object.label,
                              "a pass is timed while a read is in flight or waits to be taken");
        if (!timestamps->enabled)
            timestamps = NULL;
    }
    khal__recording* recording = encoder->recording;
    char* label = NULL;
    if (desc->label != NULL) {
        const size_t size = strlen(desc->label) + 1;
        label = khal__recording_alloc(recording, size);
        if (label == NULL)
            return khal__fail_memory(device, encoder->object.label, "the pass", size);
        memcpy(label, desc->label, size);
    }
    pass->index = encoder->pass_count++;
    pass->label = label;
    pass->timing = NULL;
    khal__hazard_pass_begin(recording, desc->manual_barriers);
    if (timestamps != NULL) {
        pass->timing = khal__append_timing(recording, timestamps, label);
        if (pass->timing == NULL ||
            !khal__append_time(recording, pass->timing, 0, pass->index, label))
            return khal__fail_memory(device, encoder->object.label, "the pass",
                                     sizeof(khal__timing));
    }
    pass->open = true;
    return KHAL_OK;
}

khal_status khal_pass_begin(khal_encoder* encoder, const khal_pass_desc* desc, khal_pass** out_pass)
{
    if (out_pass != NULL)
        *out_pass = encoder != NULL ? &encoder->pass : NULL;
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    if (encoder->sticky != KHAL_OK)
        return encoder->sticky;
    if (out_pass == NULL)
        return khal__encoder_stick(
            encoder, khal__fail_null(encoder->object.device, encoder->object.label, "out_pass"));
    khal_status status = khal__encoder_ready(encoder, "a pass begins");
    if (status == KHAL_OK)
        status = khal__encoder_stick(encoder, begin(encoder, desc));
    return status;
}

static khal_status pass_ready(khal_pass* pass, const char* what)
{
    if (pass == NULL)
        return khal__fail_null(NULL, NULL, "pass");
    khal_encoder* encoder = pass->encoder;
    if (encoder->sticky != KHAL_OK)
        return encoder->sticky;
    if (khal__is_lost(encoder->object.device))
        return khal__encoder_stick(encoder, khal__fail_lost(encoder->object.device));
    if (!pass->open)
        return khal__encoder_stick(
            encoder, khal__fail(encoder->object.device, KHAL_ERROR_PASS_ENDED, 0,
                                encoder->object.label, "%s of a pass that has ended", what));
    return KHAL_OK;
}

khal_status khal_pass_end(khal_pass* pass)
{
    const khal_status status = pass_ready(pass, "the end");
    if (status != KHAL_OK)
        return status;
    khal_encoder* encoder = pass->encoder;
    pass->open = false;
    if (pass->timing != NULL &&
        !khal__append_time(encoder->recording, pass->timing, 1, pass->index, pass->label))
        return khal__encoder_stick(encoder,
                                   khal__fail_memory(encoder->object.device, encoder->object.label,
                                                     "the recording", sizeof(khal__node)));
    khal__hazard_pass_end(encoder->recording);
    return KHAL_OK;
}

khal_status khal_pass_barrier(khal_pass* pass)
{
    const khal_status status = pass_ready(pass, "a barrier");
    if (status != KHAL_OK)
        return status;
    khal_encoder* encoder = pass->encoder;
    khal__recording* recording = encoder->recording;
    /* Elsewhere a barrier stands before what needs it, whether asked for or not. */
    if (!recording->manual || recording->since_barrier == 0)
        return KHAL_OK;
    if (!khal__recording_barrier(recording, pass->index, pass->label, KHAL__NODE_BARRIER))
        return khal__encoder_stick(encoder,
                                   khal__fail_memory(encoder->object.device, encoder->object.label,
                                                     "the recording", sizeof(khal__node)));
    return KHAL_OK;
}

/* ---- between passes ----------------------------------------------------------------------------
 */

static khal_status copy(khal_encoder* encoder, const khal_slice* source, const khal_slice* target)
{
    khal_device* device = encoder->object.device;
    khal__range from, to;
    khal_status status = khal__copy_resolve(device, source, target, &from, &to);
    if (status == KHAL_OK)
        status = khal__copy_check(device, encoder->object.label, &from, &to);
    if (status != KHAL_OK)
        return status;
    if (from.size == 0)
        return KHAL_OK;
    if (!khal__append_copy(encoder->recording, from, to))
        return khal__fail_memory(device, encoder->object.label, "the recording",
                                 sizeof(khal__node));
    return KHAL_OK;
}

khal_status khal_encoder_copy(khal_encoder* encoder, khal_slice source, khal_slice target)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    const khal_status status = khal__encoder_ready(encoder, "a copy");
    return status != KHAL_OK ? status
                             : khal__encoder_stick(encoder, copy(encoder, &source, &target));
}

static khal_status fill(khal_encoder* encoder, const khal_slice* target, const void* pattern,
                        uint32_t pattern_size)
{
    khal_device* device = encoder->object.device;
    khal__range to;
    khal_status status = khal__slice_resolve(device, target, &to);
    if (status == KHAL_OK)
        status = khal__usage_check(to.buffer, KHAL_USAGE_COPY_DST, "a fill");
    if (status != KHAL_OK)
        return status;
    if (pattern == NULL)
        return khal__fail_null(device, encoder->object.label, "pattern");
    if (pattern_size == 0 || pattern_size > 16 || (pattern_size & (pattern_size - 1)) != 0 ||
        to.size % pattern_size != 0)
        return khal__fail(
            device, KHAL_ERROR_FILL_PATTERN, 0, to.buffer->object.label,
            "a pattern of %u bytes for a range of %llu; 1, 2, 4, 8 or 16 that divide it",
            pattern_size, (unsigned long long)to.size);
    if (to.size == 0)
        return KHAL_OK;
    if (!khal__append_fill(encoder->recording, to, pattern, pattern_size))
        return khal__fail_memory(device, encoder->object.label, "the recording",
                                 sizeof(khal__node));
    return KHAL_OK;
}

khal_status khal_encoder_fill(khal_encoder* encoder, khal_slice target, const void* pattern,
                              uint32_t pattern_size)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    const khal_status status = khal__encoder_ready(encoder, "a fill");
    return status != KHAL_OK
               ? status
               : khal__encoder_stick(encoder, fill(encoder, &target, pattern, pattern_size));
}

static khal_status native(khal_encoder* encoder, const khal_native_desc* desc)
{
    khal_device* device = encoder->object.device;
    const char* label = encoder->object.label;
    if (desc == NULL || desc->call == NULL)
        return khal__fail_null(device, label, desc == NULL ? "desc" : "call");
    if ((device->info.features & KHAL_FEATURE_NATIVE_ENCODER) == 0)
        return khal__fail(device, KHAL_ERROR_UNSUPPORTED, 0, label, "%s has no native encoder",
                          device->info.name);
    if ((desc->read_count > 0 && desc->reads == NULL) ||
        (desc->write_count > 0 && desc->writes == NULL))
        return khal__fail_null(device, label,
                               desc->read_count > 0 && desc->reads == NULL ? "reads" : "writes");
    khal__recording* recording = encoder->recording;
    const size_t count = (size_t)desc->read_count + desc->write_count;
    khal__range* ranges = khal__recording_alloc(recording, count * sizeof *ranges);
    if (ranges == NULL)
        return khal__fail_memory(device, label, "the recording", count * sizeof *ranges);
    for (size_t i = 0; i < count; ++i) {
        const khal_slice* slice =
            i < desc->read_count ? &desc->reads[i] : &desc->writes[i - desc->read_count];
        const khal_status status = khal__slice_resolve(device, slice, &ranges[i]);
        if (status != KHAL_OK)
            return status;
    }
    if (!khal__append_native(recording, desc->call, desc->user, ranges, desc->read_count,
                             desc->write_count))
        return khal__fail_memory(device, label, "the recording", sizeof(khal__node));
    recording->work_items = UINT64_MAX;
    return KHAL_OK;
}

khal_status khal_encoder_native(khal_encoder* encoder, const khal_native_desc* desc)
{
    if (encoder == NULL)
        return khal__fail_null(NULL, NULL, "encoder");
    const khal_status status = khal__encoder_ready(encoder, "a native callback");
    return status != KHAL_OK ? status : khal__encoder_stick(encoder, native(encoder, desc));
}
