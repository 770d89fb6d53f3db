import { crc32, deflateSync } from "node:zlib";

/** Creates a WAV file with a soft tone, longer for longer text. The text is stored as a comment. */
export function createSampleAudio(text: string): Buffer {
  const sampleRate = 8000;
  const sampleCount = Math.min(Math.round(sampleRate * (0.2 + text.length * 0.01)), sampleRate * 3);
  const samples = Buffer.alloc(sampleCount * 2);
  for (let index = 0; index < sampleCount; index++) {
    const fade = Math.min(1, index / 400, (sampleCount - index) / 400);
    samples.writeInt16LE(
      Math.round(6000 * fade * Math.sin((index / sampleRate) * 2 * Math.PI * 440)),
      index * 2,
    );
  }
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0); // PCM
  format.writeUInt16LE(1, 2); // one channel
  format.writeUInt32LE(sampleRate, 4);
  format.writeUInt32LE(sampleRate * 2, 8);
  format.writeUInt16LE(2, 12);
  format.writeUInt16LE(16, 14);
  const comment = buildRiffChunk("ICMT", Buffer.from(`${text}\0`));
  const chunks = [
    buildRiffChunk("fmt ", format),
    // The comment precedes the samples, so that it is in the first bytes of the file.
    buildRiffChunk("LIST", Buffer.concat([Buffer.from("INFO"), comment])),
    buildRiffChunk("data", samples),
  ];
  return buildRiffChunk("RIFF", Buffer.concat([Buffer.from("WAVE"), ...chunks]));
}

function buildRiffChunk(name: string, data: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.write(name, "latin1");
  header.writeUInt32LE(data.length, 4);
  return Buffer.concat([header, data, Buffer.alloc(data.length % 2)]);
}

/** Returns the comment at the start of a WAV file, if there is one. */
export function readAudioComment(wav: Buffer): string | undefined {
  if (wav.toString("latin1", 0, 4) !== "RIFF" || wav.toString("latin1", 8, 12) !== "WAVE")
    return undefined;
  const infoChunk = parseRiffChunks(wav.subarray(12)).find(
    ({ name, data }) => name === "LIST" && data.toString("latin1", 0, 4) === "INFO",
  );
  const comment = parseRiffChunks(infoChunk?.data.subarray(4) ?? Buffer.alloc(0)).find(
    ({ name }) => name === "ICMT",
  );
  return comment?.data.toString("utf8").replace(/\0+$/, "");
}

function parseRiffChunks(bytes: Buffer): { name: string; data: Buffer }[] {
  const chunks = [];
  for (let offset = 0; offset + 8 <= bytes.length;) {
    const size = bytes.readUInt32LE(offset + 4);
    const data = bytes.subarray(offset + 8, offset + 8 + size);
    chunks.push({ name: bytes.toString("latin1", offset, offset + 4), data });
    offset += 8 + size + (size % 2);
  }
  return chunks;
}

/**
 * Creates a small PNG whose colors depend on the prompt and the seed. Only `fraction` of it is painted; the rest is
 * gray.
 */
export function createSampleImage(prompt: string, { seed = 0, fraction = 1 } = {}): Buffer {
  const side = 64;
  const hash = crc32(prompt) ^ seed;
  const rows = Buffer.alloc(side * (1 + side * 3), 128);
  for (let y = 0; y < side; y++) {
    rows[y * (1 + side * 3)] = 0; // no filter
    if (y >= side * fraction) continue;
    for (let x = 0; x < side; x++) {
      const offset = y * (1 + side * 3) + 1 + x * 3;
      rows[offset] = ((hash & 255) + x * 2) & 255;
      rows[offset + 1] = (((hash >> 8) & 255) + y * 2) & 255;
      rows[offset + 2] = (((hash >> 16) & 255) + x + y) & 255;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2, 0, 0, 0], 8); // eight bits per channel, RGB
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    buildPngChunk("IHDR", header),
    buildPngChunk("IDAT", deflateSync(rows)),
    buildPngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function buildPngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

/** Creates a unit vector from the hashes of the words: inputs that share words are similar. */
export function createSampleEmbedding(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const hash = crc32(word);
    const index = hash % dimensions;
    vector[index] = (vector[index] ?? 0) + (hash & 0x1_0000 ? 1 : -1);
    const secondIndex = (hash >>> 8) % dimensions;
    vector[secondIndex] = (vector[secondIndex] ?? 0) + 0.5;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
