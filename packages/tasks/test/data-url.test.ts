import { parseDataUrl } from "@deltawire/tasks";
import { expect, test } from "vitest";

test("parseDataUrl splits a data: URL at its first comma", () => {
  expect(parseDataUrl("data:Text/Plain;charset=utf-8;base64,SGk=")).toEqual({
    prefix: "data:Text/Plain;charset=utf-8;base64,",
    mediaType: "text/plain",
    isBase64: true,
    body: "SGk=",
  });
  expect(parseDataUrl("DATA:,a,b")).toEqual({
    prefix: "DATA:,",
    mediaType: "",
    isBase64: false,
    body: "a,b",
  });
});

test("parseDataUrl recognizes base64 only as the last parameter", () => {
  expect(parseDataUrl("data:text/plain; Base64 ,SGk=")?.isBase64).toBe(true);
  expect(parseDataUrl("data:text/plain;base64;charset=utf-8,Hi")?.isBase64).toBe(false);
  expect(parseDataUrl("data:base64,Hi")?.isBase64).toBe(false);
});

test("parseDataUrl rejects other URLs, and headers above the maximum length", () => {
  for (const url of ["", "data", "data:text/plain", "https://data.example/a,b", " data:,a"])
    expect(parseDataUrl(url)).toBeUndefined();
  const longHeader = `data:text/plain${";".repeat(5_000_000)}base64,SGk=`;
  expect(parseDataUrl(longHeader)).toBeUndefined();
  expect(parseDataUrl(longHeader, Infinity)).toMatchObject({ isBase64: true, body: "SGk=" });
});
