import { expect, test } from "vitest";
import { resolveDisposition, collectComposerNotices } from "../../src/chat/composer-notices.tsx";
import { createModelChoice } from "./choices-fixture.ts";

const imageAttachment = {
  kind: "image",
  url: "/api/blobs/1",
  filename: "a.png",
  media_type: "image/png",
} as const;
const audioAttachment = {
  kind: "audio",
  url: "/api/blobs/2",
  filename: "b.mp3",
  media_type: "audio/mpeg",
} as const;
const pdfAttachment = {
  kind: "file",
  url: "/api/blobs/3",
  filename: "c.pdf",
  media_type: "application/pdf",
} as const;
const textAttachment = {
  kind: "file",
  url: "/api/blobs/4",
  filename: "d.md",
  media_type: "text/markdown",
} as const;

test("an image is sent to models with vision, in a supported format and up to 25 MB", () => {
  const model = createModelChoice("m", { images: true });
  expect(resolveDisposition(imageAttachment, model)).toBe("sent");
  expect(resolveDisposition(imageAttachment, createModelChoice("m"))).toBe("omitted");
  expect(resolveDisposition({ ...imageAttachment, media_type: "image/tiff" }, model)).toBe(
    "omitted",
  );
  expect(resolveDisposition({ ...imageAttachment, size: 26 * 1024 * 1024 }, model)).toBe("omitted");
});

test("an SVG image is sent as text", () => {
  expect(
    resolveDisposition({ ...imageAttachment, media_type: "image/svg+xml" }, createModelChoice("m")),
  ).toBe("as_text");
});

test("a PDF is sent as text to models without file input", () => {
  expect(resolveDisposition(pdfAttachment, createModelChoice("m"))).toBe("as_text");
  expect(resolveDisposition(pdfAttachment, createModelChoice("m", { files: true }))).toBe("sent");
});

test("a file of an unknown media type is judged by its content, and a binary one is omitted", () => {
  expect(
    resolveDisposition(
      { ...textAttachment, media_type: "application/x-script" },
      createModelChoice("m"),
    ),
  ).toBe("unknown");
  expect(
    resolveDisposition(
      { ...textAttachment, media_type: "application/octet-stream" },
      createModelChoice("m"),
    ),
  ).toBe("omitted");
  expect(
    resolveDisposition(
      { ...textAttachment, media_type: "application/zip" },
      createModelChoice("m"),
    ),
  ).toBe("omitted");
});

test("image and audio models receive only the media that they process", () => {
  expect(resolveDisposition(imageAttachment, createModelChoice("m", { type: "image-gen" }))).toBe(
    "omitted",
  );
  expect(resolveDisposition(imageAttachment, createModelChoice("m", { type: "image-edit" }))).toBe(
    "sent",
  );
  expect(resolveDisposition(imageAttachment, createModelChoice("m", { type: "audio-stt" }))).toBe(
    "omitted",
  );
  expect(resolveDisposition(audioAttachment, createModelChoice("m", { type: "audio-stt" }))).toBe(
    "sent",
  );
});

const message = { contexts: [], mayHaveImages: false, defaultName: "file" };

test("one notice names all omitted attachments", () => {
  const attachments = [imageAttachment, audioAttachment, pdfAttachment, textAttachment];
  expect(
    collectComposerNotices({ ...message, attachments, model: createModelChoice("m") }),
  ).toEqual([
    { type: "omitted", names: ["a.png", "b.mp3"] },
    { type: "as_text", names: ["c.pdf"] },
  ]);
});

test("a notice says that long text may be truncated", () => {
  const long = { ...textAttachment, size: 300_000 };
  const attachments = [
    long,
    { ...textAttachment, size: 100_000 },
    { ...pdfAttachment, size: 300_000 },
  ];
  expect(
    collectComposerNotices({ ...message, attachments, model: createModelChoice("m") }),
  ).toEqual([
    { type: "as_text", names: ["c.pdf"] },
    { type: "truncated", names: ["d.md"] },
  ]);
});

test("text snippets are omitted for image and audio models", () => {
  const contexts = [{ kind: "text", title: "Report", text: "…" }] as const;
  const model = createModelChoice("m", { type: "image-gen" });
  expect(collectComposerNotices({ ...message, contexts, attachments: [], model })).toEqual([
    { type: "omitted", names: ["Report"] },
  ]);
});

test("a notice asks for media that the model requires, unless an earlier image may be used", () => {
  const imageEditor = createModelChoice("m", { type: "image-edit" });
  expect(collectComposerNotices({ ...message, attachments: [], model: imageEditor })).toEqual([
    { type: "needs_image" },
  ]);
  expect(
    collectComposerNotices({
      ...message,
      attachments: [],
      model: imageEditor,
      mayHaveImages: true,
    }),
  ).toEqual([]);
  expect(
    collectComposerNotices({ ...message, attachments: [imageAttachment], model: imageEditor }),
  ).toEqual([]);
  const transcriber = createModelChoice("m", { type: "audio-stt" });
  expect(
    collectComposerNotices({
      ...message,
      attachments: [],
      model: transcriber,
      mayHaveImages: true,
    }),
  ).toEqual([{ type: "needs_audio" }]);
});

test("there are no notices for a model that the gateway does not list", () => {
  expect(
    collectComposerNotices({ ...message, attachments: [imageAttachment], model: undefined }),
  ).toEqual([]);
});
