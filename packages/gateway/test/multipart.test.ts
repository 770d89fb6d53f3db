import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BufferedBody } from "../src/passthrough/buffered-body.ts";
import { parseBoundary, MultipartFieldFinder } from "../src/passthrough/multipart-field-finder.ts";

const boundary = "----x";
const part = (head: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
const body = (...parts: string[]): Buffer => Buffer.from(`${parts.join("")}--${boundary}--\r\n`);

function findModel(bytes: Buffer, cuts: number[] = []): MultipartFieldFinder["match"] {
  const field = new MultipartFieldFinder(boundary, "model");
  for (const piece of cut(bytes, cuts)) field.push(piece);
  return field.match;
}

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [
    0,
    ...cuts.map((index) => index % bytes.length).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to));
}

describe("the model of a multipart body", () => {
  test("is found at any position, with its offsets", () => {
    for (const bytes of [
      body(part('name="model"', "whisper"), part('name="file"; filename="a.wav"', "RIFF")),
      body(
        part('name="file"; filename="a.wav"', "RIFF\r\n--almost"),
        part("name=model", "whisper"),
      ),
    ]) {
      const { value, start, end } = findModel(bytes) ?? { value: "", start: 0, end: 0 };
      expect(value).toBe("whisper");
      expect(bytes.subarray(start, end).toString()).toBe("whisper");
    }
  });

  test("is not confused with a file of that name, or text in another field", () => {
    expect(findModel(body(part('name="model"; filename="model"', "x")))).toBeUndefined();
    expect(findModel(body(part('name="prompt"', 'name="model"\r\n\r\nx')))).toBeUndefined();
  });

  test("does not depend on how the network splits the bytes", () => {
    const bytes = body(
      part('name="file"; filename="a.wav"', "RIFF\r\n----x\r\n\r\n--"),
      part('name="model"', "whisper-1"),
      part('name="language"', "en"),
    );
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        expect(findModel(bytes, cuts)).toEqual(findModel(bytes));
      }),
    );
  });

  test("is replaced in the body without other changes, even after megabytes", async () => {
    for (const size of [10, 3_000_000]) {
      const file = part('name="file"; filename="a.wav"', "a".repeat(size));
      const bytes = body(file, part('name="model"', "speech"), part('name="language"', "en"));
      const held = new BufferedBody(pieces(bytes, 65_536), boundary);
      expect((await held.findModel())?.value).toBe("speech");
      const sent: Buffer[] = [];
      for await (const piece of held.replaceModel("whisper-large-v3")) sent.push(piece);
      await held.release();
      const expected = body(
        file,
        part('name="model"', "whisper-large-v3"),
        part('name="language"', "en"),
      );
      expect(Buffer.concat(sent).equals(expected)).toBe(true);
    }
  });
});

test("the boundary is parsed with and without quotes", () => {
  expect(parseBoundary('multipart/form-data; boundary="a b"')).toBe("a b");
  expect(parseBoundary("multipart/form-data; charset=utf-8; boundary=ab")).toBe("ab");
  expect(parseBoundary("application/json")).toBeUndefined();
});

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let index = 0; index < bytes.length; index += size)
    yield bytes.subarray(index, index + size);
}
