import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeldBody } from "../src/passthrough/held-body.ts";
import { boundaryOf, MultipartField } from "../src/passthrough/multipart-field.ts";

const boundary = "----x";
const part = (head: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
const body = (...parts: string[]): Buffer => Buffer.from(`${parts.join("")}--${boundary}--\r\n`);

function found(bytes: Buffer, cuts: number[] = []): MultipartField["found"] {
  const field = new MultipartField(boundary, "model");
  for (const piece of cut(bytes, cuts)) field.push(piece);
  return field.found;
}

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [
    0,
    ...cuts.map((at) => at % bytes.length).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to));
}

describe("the model of a multipart body", () => {
  test("is found wherever it stands, at its offsets", () => {
    for (const bytes of [
      body(part('name="model"', "whisper"), part('name="file"; filename="a.wav"', "RIFF")),
      body(
        part('name="file"; filename="a.wav"', "RIFF\r\n--almost"),
        part("name=model", "whisper"),
      ),
    ]) {
      const { value, start, end } = found(bytes) ?? { value: "", start: 0, end: 0 };
      expect(value).toBe("whisper");
      expect(bytes.subarray(start, end).toString()).toBe("whisper");
    }
  });

  test("is not a file of that name, nor a word in another field", () => {
    expect(found(body(part('name="model"; filename="model"', "x")))).toBeUndefined();
    expect(found(body(part('name="prompt"', 'name="model"\r\n\r\nx')))).toBeUndefined();
  });

  test("does not depend on where the network cut the bytes", () => {
    const bytes = body(
      part('name="file"; filename="a.wav"', "RIFF\r\n----x\r\n\r\n--"),
      part('name="model"', "whisper-1"),
      part('name="language"', "en"),
    );
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        expect(found(bytes, cuts)).toEqual(found(bytes));
      }),
    );
  });

  test("is replaced in the body, and nothing else changes, also when it comes after megabytes", async () => {
    for (const size of [10, 3_000_000]) {
      const file = part('name="file"; filename="a.wav"', "a".repeat(size));
      const bytes = body(file, part('name="model"', "speech"), part('name="language"', "en"));
      const held = new HeldBody(pieces(bytes, 65_536), boundary);
      expect((await held.findModel())?.value).toBe("speech");
      const sent: Buffer[] = [];
      for await (const piece of held.withModel("whisper-large-v3")) sent.push(piece);
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

test("the boundary is read with and without quotes", () => {
  expect(boundaryOf('multipart/form-data; boundary="a b"')).toBe("a b");
  expect(boundaryOf("multipart/form-data; charset=utf-8; boundary=ab")).toBe("ab");
  expect(boundaryOf("application/json")).toBeUndefined();
});

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
