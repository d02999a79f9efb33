/* Calls the kernels' arithmetic over random shapes, with buffers of exactly the needed size, for the sanitizers
 * to watch. Prints the largest error of each kernel, in parts of the map's range; the test judges them. */
#include "blend_levels.h"
#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned state;

static unsigned below(unsigned limit)
{
    state = state * 1664525u + 1013904223u;
    return (unsigned)((unsigned long long)state * limit >> 32);
}

static double uniform(void) { return below(1u << 30) / (double)(1u << 30); }

static void *block(size_t bytes)
{
    void *start = malloc(bytes ? bytes : 1);
    if (start == NULL)
        exit(2);
    return start;
}

static float *floats(size_t count) { return block(count * sizeof(float)); }

/* The larger of an error so far and another one; what is no number is the largest of all. */
static double worse(double error, double other) { return fmax(error, isfinite(other) ? fabs(other) : INFINITY); }

static double largest_error(const float *found, const double *expected, size_t count)
{
    double low = expected[0], high = expected[0], error = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, expected[i]);
        high = fmax(high, expected[i]);
        error = worse(error, found[i] - expected[i]);
    }
    double range = high - low > 0.01 * high ? high - low : high;
    return range > 0 ? error / range : error;
}

/* The same activations in blocks of channels, through the kernels for these. */
static double check_blocks(const Kernels *kernels, Activations planes, size_t block, size_t count, int relu,
                           const double *expected)
{
    size_t rows = planes.channels / block, stride = (count + below(3)) * block;
    float *x = floats((rows - 1) * stride + count * block), *out = floats(count);
    for (size_t c = 0; c < planes.channels; c++)
        for (size_t p = 0; p < count; p++)
            x[c / block * stride + p * block + c % block] = planes.data[c * planes.stride + p];
    Activations blocks = {x, planes.channels, block, stride};
    (relu ? kernels->smoe_blocks_relu : kernels->smoe_blocks)(blocks, count, 1e-6f, out);
    double error = largest_error(out, expected, count);
    free(x), free(out);
    return error;
}

static double check_smoe(const Kernels *kernels)
{
    size_t block = below(2) ? 1 : below(2) ? 8 : 16; /* 1: planes alone */
    size_t channels = block * (1 + below((below(4) ? 40 : 600) / (unsigned)(block > 1 ? 4 : 1)));
    size_t count = 1 + below((below(4) ? 70 : SMOE_TILE) / (unsigned)block), stride = count + below(3);
    float *x = floats((channels - 1) * stride + count), *out = floats(count), epsilon = 1e-6f;
    double *expected = malloc(count * sizeof *expected), level = pow(10, -6 + 14 * uniform());
    int kind = (int)below(4); /* dense, sparse, equal, signed with a NaN */
    for (size_t i = 0; i < (channels - 1) * stride + count; i++)
        x[i] = (float)(kind == 2 ? level : kind == 1 && below(2) ? 0 : level * (uniform() - (kind == 3) * 0.5));
    if (kind == 3)
        x[below((unsigned)count)] = NAN;
    for (size_t p = 0; p < count; p++) {
        long double mean = 0, logs = 0;
        for (size_t c = 0; c < channels; c++)
            mean += (fmaxf(x[c * stride + p], 0) + (long double)epsilon) / channels;
        for (size_t c = 0; c < channels; c++)
            logs += log2l((fmaxf(x[c * stride + p], 0) + (long double)epsilon) / mean) / channels;
        expected[p] = kind == 2 || channels == 1 ? 0 : (double)(mean * -logs);
    }
    Activations planes = {x, channels, 1, stride};
    double error = 0;
    for (int relu = kind != 3 ? 0 : 1; relu < 2; relu++) { /* where nothing is negative, without a ReLU as well */
        (relu ? kernels->smoe_planes_relu : kernels->smoe_planes)(planes, count, epsilon, out);
        error = fmax(error, largest_error(out, expected, count));
        if (block > 1)
            error = fmax(error, check_blocks(kernels, planes, block, count, relu, expected));
    }
    free(x), free(out), free(expected);
    return error;
}

/* Quantised activations in planes, and with the channels of a pixel together where these are whole vectors. */
static double check_quantized(const Kernels *kernels)
{
    size_t together = below(2), channels = together ? 8 * (1 + below(below(4) ? 12 : 160)) : 1 + below(below(4) ? 40 : 600);
    size_t count = 1 + below(channels > 40 || below(8) ? 70 : SMOE_TILE), stride = together ? channels : count + below(3);
    size_t bytes = together ? count * channels : (channels - 1) * stride + count;
    uint8_t *x = block(bytes), zero = below(2) ? 0 : (uint8_t)below(256), flip = below(2) ? 0 : 0x80;
    float *out = floats(count), epsilon = 1e-6f, scale = (float)pow(10, -6 + 8 * uniform());
    double *expected = block(count * sizeof *expected);
    int kind = (int)below(4); /* dense, sparse, equal, nearly equal */
    for (size_t i = 0; i < bytes; i++)
        x[i] = (uint8_t)((kind == 2 ? 200 : kind == 3 ? 200 + below(2) : kind == 1 && below(2) ? zero : below(256)) ^ flip);
    Quantized all = {x, channels, together ? 1 : stride, together ? channels : 1, flip, zero, scale};
    long double log2_of_step[256];
    for (int q = 0; q < 256; q++)
        log2_of_step[q] = log2l((long double)scale * q + (long double)epsilon);
    for (size_t p = 0; p < count; p++) {
        long double mean = epsilon, logs = 0;
        int lowest = 255, highest = 0;
        for (size_t c = 0; c < channels; c++) {
            int q = (x[c * all.channel_step + p * all.pixel_step] ^ flip) - zero;
            q = q > 0 ? q : 0;
            lowest = q < lowest ? q : lowest;
            highest = q > highest ? q : highest;
            mean += (long double)scale * q / channels;
            logs += log2_of_step[q] / channels;
        }
        expected[p] = lowest < highest ? (double)(mean * (log2l(mean) - logs)) : 0;
    }
    (together ? kernels->smoe_quantized_pixels : kernels->smoe_quantized_planes)(all, count, epsilon, out);
    double error = largest_error(out, expected, count);
    free(x), free(out), free(expected);
    return error;
}

static double check_gauss(const Kernels *kernels)
{
    size_t count = below(300);
    float *s = floats(count);
    double *expected = malloc((count + 1) * sizeof *expected), mean = 0, variance = 0;
    double level = pow(10, -6 + 9 * uniform());
    for (size_t p = 0; p < count; p++)
        mean += s[p] = (float)(level * (1 + 0.01 * uniform()));
    mean /= (double)count;
    for (size_t p = 0; p < count; p++)
        variance += (s[p] - mean) * (s[p] - mean) / ((double)count - 1);
    for (size_t p = 0; p < count; p++)
        expected[p] = count > 1 ? 0.5 * (1 + erf((s[p] - mean) / sqrt(2 * variance))) : 0.5;
    float *out = floats(count);
    kernels->gauss_normalize(s, count, out);
    double error = 0;
    for (size_t p = 0; p < count; p++)
        error = worse(error, out[p] - expected[p]);
    free(s), free(out), free(expected);
    return error;
}

enum { LAYERS = 7 };

static double check_combine(const Kernels *kernels)
{
    size_t height = 1 + below(40), width = 1 + below(70), first = below((unsigned)height);
    double *expected = calloc(height * width, sizeof *expected), *largest = calloc(height * width, sizeof *largest);
    float *out = floats((height - first) * width), *scratch = floats((2 * LAYERS + 3) * width);
    uint8_t *picture = malloc(3 * (height - first) * width);
    Layer layers[LAYERS];
    for (size_t k = 0; k < LAYERS; k++) {
        size_t lengths[2] = {1 + below(20), below(2) ? 1 + below(20) : (width + 1) / 2};
        size_t sizes[2] = {height, width};
        float *pixels = floats(lengths[0] * lengths[1]), *fraction[2];
        int32_t *index[2];
        for (int axis = 0; axis < 2; axis++) {
            fraction[axis] = floats(sizes[axis]);
            index[axis] = malloc(sizes[axis] * sizeof(int32_t));
            for (size_t i = 0; i < sizes[axis]; i++) {
                double last = (double)lengths[axis] - 1;
                double at = fmin(fmax((i + 0.5) * lengths[axis] / sizes[axis] - 0.5, 0), last);
                index[axis][i] = (int32_t)fmin(floor(at), fmax(last - 1, 0));
                fraction[axis][i] = (float)(at - index[axis][i]);
            }
        }
        for (size_t i = 0; i < lengths[0] * lengths[1]; i++)
            pixels[i] = (float)uniform();
        layers[k] = (Layer){pixels, lengths[0], lengths[1], 0.25f, index[0], index[1], fraction[0], fraction[1]};
        for (size_t y = 0; y < height; y++) {
            for (size_t x = 0; x < width; x++) {
                double fy = fraction[0][y], fx = fraction[1][x];
                size_t down = lengths[0] > 1 ? lengths[1] : 0, right = lengths[1] > 1;
                const float *p = pixels + index[0][y] * lengths[1] + index[1][x];
                double value = 0.25 * ((1 - fy) * ((1 - fx) * p[0] + fx * p[right]) +
                                       fy * ((1 - fx) * p[down] + fx * p[down + right]));
                expected[y * width + x] += value;
                largest[y * width + x] = fmax(largest[y * width + x], value);
            }
        }
    }
    kernels->combine_rows(layers, LAYERS, width, first, height, scratch, out);
    /* Its values are judged elsewhere: here the sanitizers watch where it reads and writes. */
    kernels->lovi_rows(layers, LAYERS, width, first, height, scratch, picture);
    double error = 0;
    for (size_t i = 0; i < (height - first) * width; i++)
        error = worse(error, out[i] - expected[first * width + i]);
    kernels->largest_rows(layers, LAYERS, width, first, height, scratch, out);
    for (size_t i = 0; i < (height - first) * width; i++)
        error = worse(error, out[i] - largest[first * width + i]);
    /* Of all rows, with a usual number of maps, or so many that they take more than one pass. */
    size_t maps = below(2) ? LAYERS : 3 + below(2);
    double low = INFINITY, high = -INFINITY;
    float *map = floats(height * width), *scaled = floats(height * width);
    Range range = {INFINITY, -INFINITY, 0};
    for (size_t k = 0; k < LAYERS; k++)
        layers[k].weight = 1;
    kernels->largest_rows(layers, maps, width, 0, height, scratch, map);
    for (size_t i = 0; i < height * width; i++)
        low = fmin(low, map[i]), high = fmax(high, map[i]);
    kernels->largest_range(layers, maps, width, 0, height, scratch, &range);
    error = worse(error, range.least - low), error = worse(error, range.most - high);
    range.scale = high > low + 0.01 ? 1 / (range.most - range.least) : 0;
    kernels->score_map_rows(layers, maps, width, 0, height, scratch, range, scaled);
    for (size_t i = 0; i < height * width; i++)
        error = worse(error, range.scale > 0 ? 0.01 * (scaled[i] - (map[i] - low) / (high - low)) : scaled[i]);
    free(map), free(scaled);
    for (size_t k = 0; k < LAYERS; k++) {
        free((void *)layers[k].pixels);
        free((void *)layers[k].row), free((void *)layers[k].column);
        free((void *)layers[k].row_fraction), free((void *)layers[k].column_fraction);
    }
    free(expected), free(largest), free(out), free(scratch), free(picture);
    return error;
}

static double check_class_maps(const Kernels *kernels)
{
    size_t count = 1 + below(300);
    float *map = floats(count), *cam = floats(count), *fast = floats(count), *rest = floats(count);
    int constant = below(8) == 0;
    double low = INFINITY, high = 0, error = 0, level = pow(10, -30 + 50 * uniform());
    for (size_t p = 0; p < count; p++) {
        map[p] = (float)(constant ? level : below(3) ? level * uniform() : 0);
        low = fmin(low, map[p]), high = fmax(high, map[p]);
    }
    kernels->minmax(map, count, cam);
    kernels->fast_cam(map, cam, count, fast);
    kernels->non_class(map, cam, count, rest);
    for (size_t p = 0; p < count; p++) {
        double expected = high > low ? (map[p] - low) / (high - low) : 0, scale = high > 0 ? high : 1;
        error = worse(error, cam[p] - expected);
        error = worse(error, (fast[p] - map[p] * expected) / scale);
        error = worse(error, (rest[p] - map[p] * (1 - expected)) / scale);
    }
    free(map), free(cam), free(fast), free(rest);
    return error;
}

/* The scores of a run of cells, read from tables of exactly the needed size. */
static double check_class_scores(const Kernels *kernels)
{
    size_t count = 1 + below(CELLS), width = 1 + below(30), first = below((unsigned)width);
    size_t classes = 1 + below((unsigned)(width - first)), apart = below(2), by_rows = below(2);
    float *table = floats(count * width), *objects = floats(count), *out = floats(count);
    for (size_t i = 0; i < count * width; i++)
        table[i] = (float)uniform();
    for (size_t i = 0; i < count; i++)
        objects[i] = (float)uniform();
    Cells x = {.classes = {table, by_rows ? width : 1, by_rows ? 1 : count},
               .objectness = {apart ? objects : NULL, 1, 1},
               .sigmoid = (int)below(2),
               .objectness_sigmoid = (int)below(2),
               .class_power = below(2) ? 1 : 0.5f,
               .objectness_power = below(2) ? 1 : 0.7f};
    kernels->class_scores(&x, first, classes, count, out);
    double error = 0;
    for (size_t i = 0; i < count; i++) {
        double best = 0, there = x.objectness_sigmoid ? 1 / (1 + exp(-objects[i])) : objects[i];
        for (size_t c = first; c < first + classes; c++)
            best = fmax(best, table[by_rows ? i * width + c : c * count + i]);
        best = pow(x.sigmoid ? 1 / (1 + exp(-best)) : best, x.class_power);
        error = worse(error, out[i] - best * (apart ? pow(there, x.objectness_power) : 1));
    }
    free(table), free(objects), free(out);
    return error;
}

/* How far the blend is from its formula; frame and picture are parts of larger ones, left as they are. */
static int check_blend(void)
{
    size_t height = below(7), width = below(80), gap = below(7), stride = 3 * width + gap, share = 1 + below(3);
    size_t bytes = height ? (height - 1) * stride + 3 * width : 0, rows = (height + share - 1) / share;
    uint8_t *frame = block(bytes), *picture = block(bytes), *levels = block(rows * width);
    uint8_t table[4 * 256];
    int worst = 0;
    for (size_t i = 0; i < 256; i++) {
        table[4 * i + 3] = (uint8_t)(i == 255 ? 255 : below(256)); /* level 255 keeps the frame */
        for (size_t c = 0; c < 3; c++)
            table[4 * i + c] = (uint8_t)below(256u - table[4 * i + 3]);
    }
    for (size_t i = 0; i < bytes; i++)
        frame[i] = (uint8_t)(below(4) ? below(256) : 255), picture[i] = 77;
    for (size_t i = 0; i < rows * width; i++)
        levels[i] = (uint8_t)(i / 40 % 2 ? 255 : below(256));
    fastcam_blend_table(frame, (ptrdiff_t)stride, levels, share, table, picture, (ptrdiff_t)stride, height, width);
    for (size_t i = 0; i < bytes; i++) {
        size_t y = i / stride, x = i % stride;
        int expected = 77;
        if (x < 3 * width) {
            const uint8_t *entry = table + 4 * levels[y / share * width + x / 3];
            expected = (int)floor(frame[i] * entry[3] / 255.0 + 0.5) + entry[x % 3];
        }
        worst = abs(picture[i] - expected) > worst ? abs(picture[i] - expected) : worst;
    }
    free(frame), free(picture), free(levels);
    return worst;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    state = (unsigned)strtoul(arguments[1], NULL, 10); /* where the random numbers start */
    const int rounds = atoi(arguments[2]);
    const Kernels *tables[] = {&fastcam_kernels_generic, fastcam_kernels()};
    for (size_t t = 0; t < 2; t++) {
        double smoe = 0, gauss = 0, combine = 0, classes = 0;
        for (int round = 0; round < rounds; round++) {
            smoe = fmax(smoe, check_smoe(tables[t]));
            smoe = fmax(smoe, check_quantized(tables[t]));
            gauss = fmax(gauss, check_gauss(tables[t]));
            combine = fmax(combine, check_combine(tables[t]));
            classes = fmax(classes, check_class_maps(tables[t]));
            classes = fmax(classes, check_class_scores(tables[t]));
        }
        printf("%s %g %g %g %g\n", tables[t]->instructions, smoe, gauss, combine, classes);
    }
    for (int round = 0; round < rounds; round++)
        if (check_blend() != 0)
            return 3;
    return 0;
}
