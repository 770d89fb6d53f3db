import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normalizeToolOutput } from "@deltawire/tasks";

describe("normalizeToolOutput of a plain value", () => {
  test("turns a string into a part and a block", () => {
    expect(normalizeToolOutput("hello")).toEqual({
      message_content: [{ type: "text", text: "hello" }],
      block_list: [{ type: "text", text: "hello" }],
    });
  });

  test.each([
    [12, "12"],
    [false, "false"],
  ])("turns %j into text", (value, text) => {
    expect(normalizeToolOutput(value)).toEqual(normalizeToolOutput(text));
  });

  test.each([[undefined], [null], [""]])("turns %j into a placeholder", (value) => {
    expect(normalizeToolOutput(value).message_content).toEqual([
      { type: "text", text: "(no output)" },
    ]);
  });

  test("turns any JSON object or array into JSON text for the model and data for users", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
        (value) => {
          const { message_content, block_list } = normalizeToolOutput(value);
          const text = JSON.stringify(value);
          expect(message_content).toEqual([{ type: "text", text }]);
          expect(block_list).toEqual([{ type: "data", data: JSON.parse(text) }]);
        },
      ),
    );
  });

  test("rejects values that cannot be converted to JSON", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const value of [cyclic, () => 1, 12n, Symbol("x")])
      expect(() => normalizeToolOutput(value)).toThrow(
        expect.objectContaining({ code: "invalid_tool_output" }),
      );
  });
});

describe("normalizeToolOutput of parts and blocks", () => {
  test("accepts both type names of an image, and returns image_url parts and image blocks", () => {
    const image_url = { url: "/api/blobs/1" };
    const output = normalizeToolOutput({
      message_content: [
        { type: "image", image_url },
        { type: "image_url", image_url: "/api/blobs/1" },
      ],
      block_list: [
        { type: "image", image_url },
        { type: "image_url", image_url },
      ],
    });
    expect(output.message_content).toEqual([
      { type: "image_url", image_url },
      { type: "image_url", image_url },
    ]);
    expect(output.block_list).toEqual([
      { type: "image", image_url },
      { type: "image", image_url },
    ]);
  });

  test("derives missing parts from blocks, and missing blocks from parts", () => {
    const blocks = [
      { type: "text", text: "a", id: 1 },
      { type: "data", data: { x: 1 }, id: "t", title: "T" },
      { type: "file", file_url: { url: "/f" }, filename: "f.pdf", media_type: "application/pdf" },
      { type: "audio", audio_url: { url: "/s" }, transcript: "hm" },
    ];
    const parts = [
      { type: "text", text: "a", id: 1 },
      { type: "text", text: '{"x":1}', id: "t", title: "T" },
      {
        type: "file_url",
        file_url: { url: "/f" },
        filename: "f.pdf",
        media_type: "application/pdf",
      },
      { type: "audio_url", audio_url: { url: "/s" } },
    ];
    expect(normalizeToolOutput({ block_list: blocks })).toEqual({
      message_content: parts,
      block_list: blocks,
    });
    expect(normalizeToolOutput({ message_content: parts.slice(2) }).block_list).toEqual([
      blocks[2],
      { type: "audio", audio_url: { url: "/s" } },
    ]);
    expect(normalizeToolOutput({ message_content: "short" })).toEqual(normalizeToolOutput("short"));
  });

  test("turns bytes into data URLs, alone or in blocks", () => {
    const bytes = new Uint8Array([137, 80, 78, 71]);
    const image = { type: "image", bytes, media_type: "image/webp" };
    expect(normalizeToolOutput(image).message_content).toEqual([
      { type: "image_url", image_url: { url: "data:image/webp;base64,iVBORw==" } },
    ]);
    expect(normalizeToolOutput({ block_list: [{ ...image, id: 1 }] }).block_list).toEqual([
      { type: "image", image_url: { url: "data:image/webp;base64,iVBORw==" }, id: 1 },
    ]);
  });

  test("encodes any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const [block] = normalizeToolOutput(bytes).block_list;
        const url = block?.type === "file" ? block.file_url.url : "";
        expect(url).toBe(
          `data:application/octet-stream;base64,${Buffer.from(bytes).toString("base64")}`,
        );
      }),
    );
  });

  test.each([
    [{ message_content: 5 }, "message_content must be an array, got a value of type number"],
    [{ block_list: [5] }, "block_list[0] must be an object"],
    [
      { block_list: [{ type: "video" }] },
      'block_list[0].type must be text, image, audio, file or data, got "video"',
    ],
    [{ message_content: [{ type: "text" }] }, "message_content[0].text must be a string"],
    [{ message_content: [{ type: "image" }] }, "message_content[0] must have image_url"],
    [{ block_list: [{ type: "text", text: "", id: {} }] }, "block_list[0].id must be"],
  ])("rejects %j with the message: %s", (value, message) => {
    expect(() => normalizeToolOutput(value)).toThrow(message);
  });
});
