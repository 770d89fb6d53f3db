import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { extractPdfText, extractPdfTextCached } from "../../src/chats/pdf-text.ts";
import { createDeflatedPdf, createPdf } from "./small-pdf.ts";

const twoPages = createPdf([["Hello PDF", "second line"], ["page two"]]);

test("the text of a PDF is extracted page by page and line by line", async () => {
  expect(await extractPdfText(twoPages)).toEqual({
    type: "text",
    text: "Hello PDF\nsecond line\n\npage two",
  });
});

test("extracting the text does not change the bytes", async () => {
  const before = Buffer.from(twoPages).toString("hex");
  await extractPdfText(twoPages);
  expect(twoPages.toString("hex")).toBe(before);
});

test("a long PDF is truncated at a page or character, with a note", async () => {
  const pages = createPdf([["one"], ["two"], ["three"]]);
  expect(await extractPdfText(pages, { maxPages: 2 })).toEqual({
    type: "text",
    text: "one\n\ntwo",
    truncation: "only the first 2 of 3 pages",
  });
  expect(await extractPdfText(pages, { maxCharacters: 6 })).toEqual({
    type: "text",
    text: "one\n\nt",
    truncation: "only the first 6 characters",
  });
});

test.each([
  [
    "pages with images only",
    createPdf([[], []]),
    "it contains no text (its pages may be scanned images)",
  ],
  ["another format", Buffer.from("hello"), "it is not a valid PDF"],
  ["a truncated PDF", twoPages.subarray(0, 200), "it is not a valid PDF"],
  ["an empty file", Buffer.alloc(0), "it is not a valid PDF"],
])("for %s, the reason why there is no text is returned", async (_what, bytes, reason) => {
  expect(await extractPdfText(bytes)).toEqual({ type: "none", reason });
});

test("a PDF that is too large is not read, and one that takes too long is aborted", async () => {
  expect(await extractPdfText(twoPages, { maxBytes: 100 })).toMatchObject({ type: "none" });
  expect(await extractPdfText(twoPages, { timeoutMs: 1 })).toEqual({
    type: "none",
    reason: "reading it takes too long",
  });
});

test("an endless extraction is terminated and does not block the process", async () => {
  const many = createPdf([Array.from({ length: 100_000 }, (_, index) => `line ${index}`)]);
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 5);
  try {
    await extractPdfText(many, { timeoutMs: 300, maxCharacters: 10 });
  } finally {
    clearInterval(timer);
  }
  expect(ticks).toBeGreaterThan(5);
});

test("a PDF that decompresses to too much data is aborted", async () => {
  const bomb = createDeflatedPdf(deflateSync(Buffer.alloc(200_000_000, " ")));
  expect(bomb.length).toBeLessThan(1_000_000);
  expect(await extractPdfText(bomb, { maxExternalMemory: 50_000_000 })).toEqual({
    type: "none",
    reason: "reading it takes too much memory",
  });
});

test("the text of a blob is extracted once and then read from a cache", async () => {
  const first = await extractPdfTextCached("hash_1", twoPages);
  expect(await extractPdfTextCached("hash_1", Buffer.alloc(0))).toBe(first);
  expect(await extractPdfTextCached("hash_2", Buffer.alloc(0))).toMatchObject({ type: "none" });
});
