/** Small pictures. */
import zlib from "node:zlib";

/** Pixels. */
export const PICTURE_SIDE = 96;

/**
 * A disc on a plain ground, as PNG.
 *
 * @param {[number, number, number]} disc
 * @param {[number, number, number]} ground
 * @returns {Buffer}
 */
export function picture(disc, ground) {
  const rows = Array.from({ length: PICTURE_SIDE }, (_, y) => {
    const pixels = Array.from({ length: PICTURE_SIDE }, (_, x) =>
      Math.hypot(x - PICTURE_SIDE / 2, y - PICTURE_SIDE / 2) < 36 ? disc : ground,
    );
    return [0, ...pixels.flat()];
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(PICTURE_SIDE, 0);
  header.writeUInt32BE(PICTURE_SIDE, 4);
  header.set([8, 2], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", zlib.deflateSync(Buffer.from(rows.flat()))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * @param {string} type
 * @param {Buffer} data
 */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(zlib.crc32(body));
  return Buffer.concat([length, body, checksum]);
}
