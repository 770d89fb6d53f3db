import { expect, test } from "vitest";
import { fateOf, noticesFor } from "../../src/chat/composer-notices.tsx";
import { model } from "./choices-for-tests.ts";

const picture = {
  kind: "image",
  url: "/api/blobs/1",
  filename: "a.png",
  media_type: "image/png",
} as const;
const sound = {
  kind: "audio",
  url: "/api/blobs/2",
  filename: "b.mp3",
  media_type: "audio/mpeg",
} as const;
const pdf = {
  kind: "file",
  url: "/api/blobs/3",
  filename: "c.pdf",
  media_type: "application/pdf",
} as const;
const text = {
  kind: "file",
  url: "/api/blobs/4",
  filename: "d.md",
  media_type: "text/markdown",
} as const;

test("a picture goes to who sees, in a format that models read, and not beyond 25 MB", () => {
  const sees = model("m", { images: true });
  expect(fateOf(picture, sees)).toBe("taken");
  expect(fateOf(picture, model("m"))).toBe("left out");
  expect(fateOf({ ...picture, media_type: "image/tiff" }, sees)).toBe("left out");
  expect(fateOf({ ...picture, size: 26 * 1024 * 1024 }, sees)).toBe("left out");
});

test("a drawing in SVG is a text for a model", () => {
  expect(fateOf({ ...picture, media_type: "image/svg+xml" }, model("m"))).toBe("as text");
});

test("of a PDF that a model does not take it gets the text", () => {
  expect(fateOf(pdf, model("m"))).toBe("as text");
  expect(fateOf(pdf, model("m", { files: true }))).toBe("taken");
});

test("of a file whose type is not known its bytes decide, unless they were looked at and are no text", () => {
  expect(fateOf({ ...text, media_type: "application/x-script" }, model("m"))).toBe("unknown");
  expect(fateOf({ ...text, media_type: "application/octet-stream" }, model("m"))).toBe("left out");
  expect(fateOf({ ...text, media_type: "application/zip" }, model("m"))).toBe("left out");
});

test("models that make pictures and sound take only what they work on", () => {
  expect(fateOf(picture, model("m", { type: "image-gen" }))).toBe("left out");
  expect(fateOf(picture, model("m", { type: "image-edit" }))).toBe("taken");
  expect(fateOf(picture, model("m", { type: "audio-stt" }))).toBe("left out");
  expect(fateOf(sound, model("m", { type: "audio-stt" }))).toBe("taken");
});

const message = { contexts: [], mayHavePictures: false, unnamed: "file" };

test("everything that will be left out is named in one notice, what goes as usual in none", () => {
  const attachments = [picture, sound, pdf, text];
  expect(noticesFor({ ...message, attachments, model: model("m") })).toEqual([
    { is: "left out", names: ["a.png", "b.mp3"] },
    { is: "as text", names: ["c.pdf"] },
  ]);
});

test("of a text that is longer than a model gets it is said that it may be cut", () => {
  const long = { ...text, size: 300_000 };
  const attachments = [long, { ...text, size: 100_000 }, { ...pdf, size: 300_000 }];
  expect(noticesFor({ ...message, attachments, model: model("m") })).toEqual([
    { is: "as text", names: ["c.pdf"] },
    { is: "cut", names: ["d.md"] },
  ]);
});

test("a text beside the words is left out by a model that knows no conversation", () => {
  const contexts = [{ kind: "text", title: "Report", text: "…" }] as const;
  const painter = model("m", { type: "image-gen" });
  expect(noticesFor({ ...message, contexts, attachments: [], model: painter })).toEqual([
    { is: "left out", names: ["Report"] },
  ]);
});

test("what a model cannot do without is asked for, unless it may be in the chat already", () => {
  const retoucher = model("m", { type: "image-edit" });
  expect(noticesFor({ ...message, attachments: [], model: retoucher })).toEqual([
    { is: "needs picture" },
  ]);
  expect(
    noticesFor({ ...message, attachments: [], model: retoucher, mayHavePictures: true }),
  ).toEqual([]);
  expect(noticesFor({ ...message, attachments: [picture], model: retoucher })).toEqual([]);
  const listener = model("m", { type: "audio-stt" });
  expect(
    noticesFor({ ...message, attachments: [], model: listener, mayHavePictures: true }),
  ).toEqual([{ is: "needs sound" }]);
});

test("nothing is said of a model that nothing is known of", () => {
  expect(noticesFor({ ...message, attachments: [picture], model: undefined })).toEqual([]);
});
