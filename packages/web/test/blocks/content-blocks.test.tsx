import { expect, test } from "vitest";
import type { Block } from "@deltawire/tasks";
import { ContentBlocks } from "../../src/blocks/content-blocks.tsx";
import { renderMarkup, toVisibleText } from "../answer/render.tsx";

const renderBlocks = (...blocks: Block[]) => renderMarkup(<ContentBlocks blocks={blocks} />);

test("an image of the gateway is shown and can be enlarged", () => {
  const markup = renderBlocks({ type: "image", image_url: { url: "/api/blobs/abc" } });
  expect(markup).toContain('<img src="/api/blobs/abc" alt="Image 1"');
  expect(markup).toContain('aria-label="Enlarge Image 1"');
});

test("an external image is shown as a link, unless its URL is unsafe", () => {
  const external = renderBlocks({
    type: "image",
    image_url: { url: "https://example.com/a.png" },
  });
  expect(external).not.toContain("<img");
  expect(external).toContain('href="https://example.com/a.png"');
  expect(external).toContain("noreferrer");
  const unsafe = renderBlocks({ type: "image", image_url: { url: "javascript:alert(1)" } });
  expect(unsafe).not.toMatch(/<(?:img|a|button)/);
});

test("audio has a player and a transcript", () => {
  const markup = renderBlocks({
    type: "audio",
    audio_url: { url: "/api/blobs/abc" },
    transcript: "Good morning",
  });
  expect(markup).toContain("<audio controls");
  expect(toVisibleText(markup)).toBe("Transcript Good morning");
});

test("a file can be downloaded with its name", () => {
  const markup = renderBlocks({
    type: "file",
    file_url: { url: "/api/blobs/abc" },
    filename: "out.csv",
    media_type: "text/csv",
  });
  expect(markup).toContain('download="out.csv"');
  expect(markup).toContain('aria-label="Download out.csv"');
  expect(toVisibleText(markup)).toBe("out.csv text/csv");
});

test("JSON is pretty-printed, both data and text", () => {
  const json = '{ "a": [ 1 ] }';
  expect(toVisibleText(renderBlocks({ type: "data", data: { a: [1] } }))).toBe(json);
  expect(toVisibleText(renderBlocks({ type: "text", text: '{"a":[1]}' }))).toBe(json);
});

test("long text is collapsed and shows its size", () => {
  const text = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
  const rendered = toVisibleText(renderBlocks({ type: "text", text }));
  expect(rendered).toContain("line 15…");
  expect(rendered).not.toContain("line 16");
  expect(rendered).toContain("Show all (789 B)");
});

test("HTML in text is not rendered", () => {
  const text = '<img src=x onerror="alert(1)"><script>alert(1)</script>';
  const markup = renderBlocks({ type: "text", text });
  expect(markup).not.toMatch(/<(?:img|script)/);
  expect(toVisibleText(markup)).toBe(text);
});
