/* The scores of a detector's cells: of their best class, or of one class. */
#include "extremes.h"
#include "kernels.h"

#include <math.h>

/* The largest of `classes` values that follow each other. Eight maxima at a time, so that compilers vectorise. */
static inline float largest_value(const float *values, size_t classes)
{
    enum { LANES_OF_MAXIMA = 8 };
    float most[LANES_OF_MAXIMA], result = values[0];
    for (size_t i = 0; i < LANES_OF_MAXIMA; i++)
        most[i] = values[0];
    size_t whole = classes - classes % LANES_OF_MAXIMA;
    for (size_t c = 0; c < whole; c += LANES_OF_MAXIMA)
        for (size_t i = 0; i < LANES_OF_MAXIMA; i++)
            most[i] = larger(values[c + i], most[i]);
    for (size_t c = whole; c < classes; c++)
        result = larger(values[c], result);
    for (size_t i = 0; i < LANES_OF_MAXIMA; i++)
        result = larger(most[i], result);
    return result;
}

static inline void largest_planes(const float *values, size_t classes, size_t plane, size_t count, float *restrict out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = values[i];
    for (size_t c = 1; c < classes; c++)
        for (size_t i = 0; i < count; i++)
            out[i] = larger(values[c * plane + i], out[i]);
}

static inline void to_the_power(float *values, size_t count, float exponent)
{
    if (exponent == 0.5f)
        for (size_t i = 0; i < count; i++)
            values[i] = sqrtf(values[i]);
    else if (exponent != 1)
        for (size_t i = 0; i < count; i++)
            values[i] = powf(values[i], exponent);
}

static inline void to_probabilities(float *values, size_t count, int sigmoid, float exponent)
{
    for (size_t i = 0; sigmoid && i < count; i++)
        values[i] = 1 / (1 + expf(-values[i]));
    to_the_power(values, count, exponent);
}

static void class_scores(const Cells *x, size_t first, size_t classes, size_t count, float *restrict out)
{
    const float *values = x->classes.data + first * x->classes.value_step;
    const size_t step = x->classes.cell_step, plane = x->classes.value_step;
    if (step == 1)
        largest_planes(values, classes, plane, count, out);
    else if (plane == 1 && classes > 1)
        for (size_t i = 0; i < count; i++)
            out[i] = largest_value(values + i * step, classes);
    else
        for (size_t i = 0; i < count; i++) {
            out[i] = values[i * step];
            for (size_t c = 1; c < classes; c++)
                out[i] = larger(values[i * step + c * plane], out[i]);
        }
    to_probabilities(out, count, x->sigmoid, x->class_power);
    if (x->objectness.data == NULL)
        return;
    float there[CELLS];
    for (size_t i = 0; i < count; i++)
        there[i] = x->objectness.data[i * x->objectness.cell_step];
    to_probabilities(there, count, x->objectness_sigmoid, x->objectness_power);
    for (size_t i = 0; i < count; i++)
        out[i] *= there[i];
}
