import { deflateSync } from "node:zlib";
import { MemoryBlobs } from "@deltawire/agent";
import { expect, test } from "vitest";
import { pdfText, pdfTextOf } from "../../src/chats/pdf-text.ts";
import { packedPdf, smallPdf } from "./small-pdf.ts";

const twoPages = smallPdf([["Hello PDF", "second line"], ["page two"]]);

test("the text of a PDF is that of its pages, line by line", async () => {
  expect(await pdfText(twoPages)).toEqual({
    is: "text",
    text: "Hello PDF\nsecond line\n\npage two",
  });
});

test("the bytes that were handed in are still there", async () => {
  const before = Buffer.from(twoPages).toString("hex");
  await pdfText(twoPages);
  expect(twoPages.toString("hex")).toBe(before);
});

test("a long PDF is cut at a page or at a character, and says so", async () => {
  const pages = smallPdf([["one"], ["two"], ["three"]]);
  expect(await pdfText(pages, { maxPages: 2 })).toEqual({
    is: "text",
    text: "one\n\ntwo",
    cut: "only the first 2 of 3 pages",
  });
  expect(await pdfText(pages, { maxCharacters: 6 })).toEqual({
    is: "text",
    text: "one\n\nt",
    cut: "only the first 6 characters",
  });
});

test.each([
  ["pages without words", smallPdf([[], []]), "it has no text; perhaps its pages are pictures"],
  ["something else", Buffer.from("hello"), "it is no PDF, or broken"],
  ["a half one", twoPages.subarray(0, 200), "it is no PDF, or broken"],
  ["nothing", Buffer.alloc(0), "it is no PDF, or broken"],
])("of %s it is said why there is no text", async (_what, bytes, why) => {
  expect(await pdfText(bytes)).toEqual({ is: "none", why });
});

test("a PDF that is too large is not read, one that takes too long is given up", async () => {
  expect(await pdfText(twoPages, { maxBytes: 100 })).toMatchObject({ is: "none" });
  expect(await pdfText(twoPages, { timeoutMs: 1 })).toEqual({
    is: "none",
    why: "it takes too long to read",
  });
});

test("what needs endless time is ended, and the process goes on meanwhile", async () => {
  const many = smallPdf([Array.from({ length: 100_000 }, (_, at) => `line ${at}`)]);
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 5);
  try {
    await pdfText(many, { timeoutMs: 300, maxCharacters: 10 });
  } finally {
    clearInterval(timer);
  }
  expect(ticks).toBeGreaterThan(5);
});

test("a PDF that unpacks to more than there is memory for is given up", async () => {
  const bomb = packedPdf(deflateSync(Buffer.alloc(200_000_000, " ")));
  expect(bomb.length).toBeLessThan(1_000_000);
  expect(await pdfText(bomb, { maxMemory: 50_000_000 })).toEqual({
    is: "none",
    why: "it takes too much memory to read",
  });
});

test("the same blob is read once", async () => {
  const blobs = new MemoryBlobs();
  const first = await pdfTextOf("hash_1", twoPages, blobs);
  expect(await pdfTextOf("hash_1", Buffer.alloc(0), blobs)).toBe(first);
  expect(await pdfTextOf("hash_1", Buffer.alloc(0), new MemoryBlobs())).toMatchObject({
    is: "none",
  });
});
