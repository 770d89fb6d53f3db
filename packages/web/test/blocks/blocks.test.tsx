import { expect, test } from "vitest";
import type { Block } from "@deltawire/tasks";
import { Blocks } from "../../src/blocks/blocks.tsx";
import { draw, wordsIn } from "../answer/draw.tsx";

const drawn = (...blocks: Block[]) => draw(<Blocks blocks={blocks} />);

test("a picture of the gateway is shown, and can be enlarged", () => {
  const markup = drawn({ type: "image", image_url: { url: "/api/blobs/abc" } });
  expect(markup).toContain('<img src="/api/blobs/abc" alt="Picture 1"');
  expect(markup).toContain('aria-label="Picture 1, enlarge"');
});

test("a picture elsewhere is a link, and one at a strange address is nothing to press", () => {
  const elsewhere = drawn({ type: "image", image_url: { url: "https://example.com/a.png" } });
  expect(elsewhere).not.toContain("<img");
  expect(elsewhere).toContain('href="https://example.com/a.png"');
  expect(elsewhere).toContain("noreferrer");
  const strange = drawn({ type: "image", image_url: { url: "javascript:alert(1)" } });
  expect(strange).not.toMatch(/<(?:img|a|button)/);
});

test("a sound has a player, and what is said in it", () => {
  const markup = drawn({
    type: "audio",
    audio_url: { url: "/api/blobs/abc" },
    transcript: "Good morning",
  });
  expect(markup).toContain("<audio controls");
  expect(wordsIn(markup)).toBe("What is said in it Good morning");
});

test("a file can be downloaded under its name", () => {
  const markup = drawn({
    type: "file",
    file_url: { url: "/api/blobs/abc" },
    filename: "out.csv",
    media_type: "text/csv",
  });
  expect(markup).toContain('download="out.csv"');
  expect(markup).toContain('aria-label="Download out.csv"');
  expect(wordsIn(markup)).toBe("out.csv text/csv");
});

test("JSON is laid out, as data and as text", () => {
  const laidOut = '{ "a": [ 1 ] }';
  expect(wordsIn(drawn({ type: "data", data: { a: [1] } }))).toBe(laidOut);
  expect(wordsIn(drawn({ type: "text", text: '{"a":[1]}' }))).toBe(laidOut);
});

test("a long text is folded, and says how long it is", () => {
  const text = Array.from({ length: 100 }, (_, at) => `line ${at}`).join("\n");
  const words = wordsIn(drawn({ type: "text", text }));
  expect(words).toContain("line 15…");
  expect(words).not.toContain("line 16");
  expect(words).toContain("Show all (789 B)");
});

test("markup in a text is only text", () => {
  const text = '<img src=x onerror="alert(1)"><script>alert(1)</script>';
  const markup = drawn({ type: "text", text });
  expect(markup).not.toMatch(/<(?:img|script)/);
  expect(wordsIn(markup)).toBe(text);
});
