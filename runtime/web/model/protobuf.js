/**
 * The wire format of Protocol Buffers, as far as an ONNX file needs it.
 * https://protobuf.dev/programming-guides/encoding/
 */

export const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

/** Fields of one message, as in `fastcam_runtime.limits`: an empty field takes two bytes of the file, hundreds here. */
export const MAX_FIELDS = 400_000;

const decoder = new TextDecoder();

/**
 * One field of a message. `value` is the content of a length-delimited field, else its bytes;
 * `whole` is the field with its key.
 * @typedef {{number: number, wire: number, value: Uint8Array, whole: Uint8Array}} Field
 */

/**
 * The fields of a message, in order.
 * @param {Uint8Array} message
 * @returns {Field[]}
 * @throws {Error} The bytes are not a message, end too early, or hold too many fields.
 */
export function fields(message) {
  const found = [];
  const size = message.length;
  let at = 0;
  while (at < size) {
    if (found.length === MAX_FIELDS) throw new Error(`a part of the model has more than ${MAX_FIELDS} fields`);
    const start = at;
    let [key, next] = readVarint(message, at);
    const number = Math.floor(key / 8), wire = key % 8;
    let value = next;
    if (wire === VARINT) {
      [, next] = readVarint(message, next);
    } else if (wire === BYTES) {
      const [length, content] = readVarint(message, next);
      value = content;
      next = content + length;
    } else if (wire === FIXED64 || wire === FIXED32) {
      next += wire === FIXED64 ? 8 : 4;
    } else {
      throw new Error("not an ONNX model, or damaged");
    }
    if (next > size || number === 0) throw new Error("not an ONNX model, or cut short");
    found.push({ number, wire, value: message.subarray(value, next), whole: message.subarray(start, next) });
    at = next;
  }
  return found;
}

/**
 * The text in field `number` of a message; empty if it has none.
 * @param {Uint8Array} message
 * @param {number} number
 */
export function textOf(message, number) {
  const field = fields(message).find((part) => part.number === number);
  return field ? decoder.decode(field.value) : "";
}

/** @param {Uint8Array} bytes */
export function text(bytes) {
  return decoder.decode(bytes);
}

/**
 * The number in a varint field's bytes.
 * @param {Uint8Array} bytes
 */
export function varintOf(bytes) {
  return readVarint(bytes, 0)[0];
}

/**
 * The key and length before a length-delimited field of `size` bytes.
 * @param {number} number
 * @param {number} size
 */
export function header(number, size) {
  return Uint8Array.from([...varint(number * 8 + BYTES), ...varint(size)]);
}

/**
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function concat(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * A base-128 number and the position after it. Numbers above 2^53 lose precision, but no size is that large.
 * @param {Uint8Array} data
 * @param {number} at
 * @returns {[number, number]}
 */
function readVarint(data, at) {
  let value = 0;
  for (let scale = 1; at < data.length && scale < 2 ** 70; scale *= 128) {
    const byte = data[at++];
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return [value, at];
  }
  throw new Error("not an ONNX model, or cut short");
}

/** @param {number} value */
function varint(value) {
  const out = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) out.push((value % 128) | 0x80);
  out.push(value);
  return out;
}
