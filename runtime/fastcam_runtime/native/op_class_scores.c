/* ClassScores: the scores of the selected classes in every cell of a detector's head. */
#include "operators.h"
#include "tensors.h"

#include <math.h>

/* The fields of the input `spec`, int64, before three for each grid: height, width, anchors per cell. */
enum {
    TABLES, FIRST_CLASS, CLASSES, SCORE_WIDTH, OBJECTNESS, OBJECTNESS_WIDTH, LAYOUT, BY_ANCHOR, ONE_PICTURE,
    SIGMOID, OBJECTNESS_SIGMOID, CLASS_POWER, OBJECTNESS_POWER, /* powers in thousandths */
    FIELDS, PER_GRID = 3
};

/* LAYOUT: [N,A,V], [N,V,A], or [N,k·V,h,w] per grid. */
enum { ROWS, COLUMNS, PLANES };

typedef struct {
    const Setting *setting;
    const int64_t *spec;
    size_t grids, tables, cells, pictures;
    int apart; /* whether the objectness has tables of its own */
    const OrtKernelContext *context;
} Head;

static const int64_t *grid_of(const Head *head, size_t g) { return head->spec + FIELDS + PER_GRID * g; }
static size_t cells_of(const Head *head, size_t g) { return (size_t)(grid_of(head, g)[0] * grid_of(head, g)[1]); }
static size_t anchors_of(const Head *head, size_t g) { return (size_t)grid_of(head, g)[2]; }

/* The rows of grids first … last − 1. */
static size_t rows_of(const Head *head, size_t first, size_t last)
{
    size_t rows = 0;
    for (size_t g = first; g < last; g++)
        rows += cells_of(head, g) * anchors_of(head, g);
    return rows;
}

/* The values of one anchor in the cells of a grid. `data` is the table's picture, of `width` values a row. */
static Values values_of(const Head *head, const float *data, size_t width, size_t g, size_t anchor)
{
    int64_t layout = head->spec[LAYOUT];
    size_t cells = cells_of(head, g), anchors = anchors_of(head, g), only = head->tables > 1;
    if (layout == PLANES)
        return (Values){data + anchor * width * cells, 1, cells};
    size_t rows = only ? rows_of(head, g, g + 1) : rows_of(head, 0, head->grids);
    size_t start = only ? 0 : rows_of(head, 0, g);
    size_t row_step = layout == ROWS ? width : 1, value_step = layout == ROWS ? 1 : rows;
    size_t row = start + (head->spec[BY_ANCHOR] ? anchor * cells : anchor);
    return (Values){data + row * row_step, (head->spec[BY_ANCHOR] ? 1 : anchors) * row_step, value_step};
}

/* Table `index` of the inputs, of `width` values a row, for one picture. */
static OrtStatus *read_table(const Head *head, size_t index, size_t width, size_t g, size_t picture, const float **out)
{
    const OrtApi *api = head->setting->api;
    Tensor table;
    TRY(read_input(api, head->context, index, ORT_FLOAT, &table));
    size_t rows = head->tables > 1 ? rows_of(head, g, g + 1) : rows_of(head, 0, head->grids), elements = 1;
    for (size_t d = 0; d < table.rank; d++)
        elements *= (size_t)table.dims[d];
    if (elements != head->pictures * rows * width)
        FAIL("ClassScores: the head has other sizes than its description");
    *out = (const float *)table.data + picture * rows * width;
    return NULL;
}

/* One anchor of the cells of a grid. */
static OrtStatus *read_cells(const Head *head, size_t g, size_t anchor, size_t picture, Cells *out)
{
    const int64_t *spec = head->spec;
    const float *data = NULL;
    size_t table = head->tables > 1 ? g : 0, width = (size_t)spec[SCORE_WIDTH];
    *out = (Cells){.sigmoid = spec[SIGMOID] != 0,
                   .objectness_sigmoid = spec[OBJECTNESS_SIGMOID] != 0,
                   .class_power = (float)spec[CLASS_POWER] / 1000,
                   .objectness_power = (float)spec[OBJECTNESS_POWER] / 1000};
    TRY(read_table(head, 1 + table, width, g, picture, &data));
    out->classes = values_of(head, data, width, g, anchor);
    if (spec[OBJECTNESS] < 0)
        return NULL;
    width = (size_t)spec[OBJECTNESS_WIDTH];
    TRY(read_table(head, 1 + (head->apart ? head->tables : 0) + table, width, g, picture, &data));
    out->objectness = values_of(head, data, width, g, anchor);
    out->objectness.data += (size_t)spec[OBJECTNESS] * out->objectness.value_step;
    return NULL;
}

static Cells from_cell(Cells x, size_t cell)
{
    x.classes.data += cell * x.classes.cell_step;
    if (x.objectness.data != NULL)
        x.objectness.data += cell * x.objectness.cell_step;
    return x;
}

/* The class of the first row with the highest score. */
static OrtStatus *best_class(const Head *head, size_t picture, int64_t *out)
{
    const size_t first = (size_t)head->spec[FIRST_CLASS], classes = (size_t)head->spec[CLASSES];
    float most = -INFINITY, scores[CELLS];
    size_t best_row = 0;
    for (size_t g = 0; g < head->grids; g++)
        for (size_t a = 0; a < anchors_of(head, g); a++) {
            Cells x;
            TRY(read_cells(head, g, a, picture, &x));
            size_t cells = cells_of(head, g), start = rows_of(head, 0, g);
            for (size_t from = 0; from < cells; from += CELLS) {
                size_t count = cells - from < CELLS ? cells - from : CELLS;
                Cells part = from_cell(x, from);
                head->setting->kernels->class_scores(&part, first, classes, count, scores);
                for (size_t i = 0; i < count; i++) {
                    if (!(scores[i] >= most))
                        continue;
                    size_t cell = from + i;
                    size_t row = start + (head->spec[BY_ANCHOR] ? a * cells + cell : cell * anchors_of(head, g) + a);
                    if (scores[i] == most && row > best_row && most > -INFINITY)
                        continue;
                    most = scores[i], best_row = row;
                    const float *values = part.classes.data + i * part.classes.cell_step;
                    size_t best = first;
                    for (size_t c = first; c < first + classes; c++)
                        if (values[c * part.classes.value_step] > values[best * part.classes.value_step])
                            best = c;
                    *out = (int64_t)(best - first);
                }
            }
        }
    return NULL;
}

/* The scores of one class in all cells: the largest of the anchors. */
static OrtStatus *score_cells(const Head *head, size_t picture, size_t class, float *out)
{
    for (size_t g = 0; g < head->grids; out += cells_of(head, g), g++)
        for (size_t a = 0; a < anchors_of(head, g); a++) {
            Cells x;
            float scores[CELLS];
            TRY(read_cells(head, g, a, picture, &x));
            for (size_t from = 0, cells = cells_of(head, g); from < cells; from += CELLS) {
                size_t count = cells - from < CELLS ? cells - from : CELLS;
                Cells part = from_cell(x, from);
                head->setting->kernels->class_scores(&part, (size_t)head->spec[FIRST_CLASS] + class, 1, count, scores);
                for (size_t i = 0; i < count; i++)
                    out[from + i] = a == 0 || scores[i] > out[from + i] ? scores[i] : out[from + i];
            }
        }
    return NULL;
}

/* Read and check the description, the last input. */
static OrtStatus *read_head(Head *head, const OrtKernelContext *context)
{
    const OrtApi *api = head->setting->api;
    size_t inputs = 0;
    Tensor spec, scores;
    TRY(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 3)
        FAIL("ClassScores: inputs are missing");
    TRY(read_input(api, context, inputs - 1, ORT_INT64, &spec));
    if (spec.rank != 1 || spec.dims[0] < FIELDS + PER_GRID || (spec.dims[0] - FIELDS) % PER_GRID != 0)
        FAIL("ClassScores: the description of the head is not complete");
    head->spec = spec.data;
    head->grids = (size_t)(spec.dims[0] - FIELDS) / PER_GRID;
    for (int64_t i = 0; i < spec.dims[0]; i++)
        if ((head->spec[i] < 0 && i != OBJECTNESS) || head->spec[i] > 1 << 24 || (i >= FIELDS && head->spec[i] == 0))
            FAIL("ClassScores: a number in the description of the head is out of range");
    size_t has_objectness = head->spec[OBJECTNESS] >= 0;
    head->tables = (size_t)head->spec[TABLES];
    head->apart = has_objectness && inputs - 2 == 2 * head->tables;
    if ((!head->apart && inputs - 2 != head->tables) || (head->tables != 1 && head->tables != head->grids) ||
        (head->spec[LAYOUT] == PLANES && head->tables != head->grids) || head->spec[CLASSES] == 0 ||
        head->spec[FIRST_CLASS] + head->spec[CLASSES] > head->spec[SCORE_WIDTH] ||
        head->spec[OBJECTNESS] >= head->spec[OBJECTNESS_WIDTH] + !has_objectness)
        FAIL("ClassScores: the description does not fit the head");
    for (size_t g = 0; g < head->grids; g++)
        head->cells += cells_of(head, g);
    TRY(read_input(api, context, 1, ORT_FLOAT, &scores));
    size_t row = rows_of(head, 0, head->tables > 1 ? 1 : head->grids) * (size_t)head->spec[SCORE_WIDTH];
    size_t elements = 1;
    for (size_t d = 0; d < scores.rank; d++)
        elements *= (size_t)scores.dims[d];
    head->pictures = elements / row;
    return NULL;
}

/* Inputs: wanted classes int64 [K], scores of all rows or of each grid, objectness alike unless it is in the same
 * tables, spec. */
OrtStatus *class_scores_map(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    Head head = {.setting = setting, .context = context};
    Tensor wanted;
    void *out = NULL;
    TRY(read_input(api, context, 0, ORT_INT64, &wanted));
    TRY(read_head(&head, context));
    if (wanted.rank != 1)
        FAIL("ClassScores: the wanted classes are not [K]");
    size_t asked = (size_t)wanted.dims[0], several = head.spec[ONE_PICTURE] && head.pictures == 1;
    if (!several && asked != 1 && asked != head.pictures)
        FAIL("ClassScores takes one class, or one for each picture");
    size_t maps = several ? asked : head.pictures;
    const int64_t dims[2] = {(int64_t)maps, (int64_t)head.cells};
    TRY(make_any_output(api, context, dims, 2, &out));
    for (size_t n = 0; n < maps; n++) {
        size_t picture = several ? 0 : n;
        int64_t class = ((const int64_t *)wanted.data)[asked == 1 ? 0 : n], last = head.spec[CLASSES] - 1;
        if (class < 0) {
            class = 0;
            if (last > 0)
                TRY(best_class(&head, picture, &class));
        }
        TRY(score_cells(&head, picture, (size_t)(class < last ? class : last), (float *)out + n * head.cells));
    }
    return NULL;
}
