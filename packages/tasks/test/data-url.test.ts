import { readDataUrl } from "@deltawire/tasks";
import { expect, test } from "vitest";

test("a data: URL is read as far as its comma", () => {
  expect(readDataUrl("data:Text/Plain;charset=utf-8;base64,SGk=")).toEqual({
    head: "data:Text/Plain;charset=utf-8;base64,",
    mediaType: "text/plain",
    isBase64: true,
    body: "SGk=",
  });
  expect(readDataUrl("DATA:,a,b")).toEqual({
    head: "DATA:,",
    mediaType: "",
    isBase64: false,
    body: "a,b",
  });
});

test("base64 is told by the last parameter, and by no media type", () => {
  expect(readDataUrl("data:text/plain; Base64 ,SGk=")?.isBase64).toBe(true);
  expect(readDataUrl("data:text/plain;base64;charset=utf-8,Hi")?.isBase64).toBe(false);
  expect(readDataUrl("data:base64,Hi")?.isBase64).toBe(false);
});

test("any other address is none, and neither is one with an endless head unless that is wanted", () => {
  for (const url of ["", "data", "data:text/plain", "https://data.example/a,b", " data:,a"])
    expect(readDataUrl(url)).toBeUndefined();
  const endless = `data:text/plain${";".repeat(5_000_000)}base64,SGk=`;
  expect(readDataUrl(endless)).toBeUndefined();
  expect(readDataUrl(endless, Infinity)).toMatchObject({ isBase64: true, body: "SGk=" });
});
